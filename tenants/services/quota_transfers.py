"""Tenants lend each other quota by agreement, for a period: it reverts by itself and nobody's sum changes (SCH-25)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, Sum
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.alarm import ring
from berth.common.errors import NotFoundError, Problems
from tenants.models import Cohort, Flavor, Queue, Quota, QuotaTransfer, User
from tenants.permissions import Action, require
from tenants.services.audit import record_event
from tenants.services.capacity import lock_pools, shown
from tenants.services.notifications import notify
from tenants.services.quota_lines import inside
from tenants.services.quota_requests import flavor_of, visible_queue


def create_quota_transfer(
    *,
    by: User,
    giver: str,
    receiver: str,
    resource: str,
    amount: Any,
    valid_to: datetime,
    flavor: str | None = None,
    valid_from: datetime | None = None,
    reason: str = "",
) -> QuotaTransfer:
    """Give `amount` (people's units) of one queue's nominal to another for a period; queues are `tenant/queue`.

    The giver's admin decides. The receiver may be another tenant's queue of the same pool within the same cohort tree; any other
    is not found. InvalidError when the giver has less than that at any time of the period.
    """
    gives = visible_queue(by, *_names(giver))
    require(by, Action.QUOTA_TRANSFER_CREATE, gives.tenant)
    takes = _receiver(by, gives, *_names(receiver))
    problems = Problems()
    kind = flavor_of(gives, resource, flavor, problems)
    start = valid_from or clock.now()
    if takes == gives:
        problems.add("receiver", _("Give another queue than the giver."))
    if takes.pool_id != gives.pool_id:
        problems.add("receiver", _("Both queues must use the same pool."))
    if valid_to <= max(start, clock.now()):
        problems.add("valid_to", _("Give a time after the start, in the future."), code="out-of-range")
    problems.raise_if_any()
    with transaction.atomic():
        lock_pools([gives.pool])
        quantity = inside(resource, amount)
        least = _least(gives, resource, kind, start, valid_to)
        if quantity > least:
            text = _("The giver has only %(left)s of it in that time.") % {"left": shown(resource, max(least, 0))}
            problems.add("amount", text, code="out-of-range")
        problems.raise_if_any()
        made = QuotaTransfer.objects.create(
            giver=gives,
            receiver=takes,
            resource=resource,
            flavor=kind,
            amount=quantity,
            valid_from=start,
            valid_to=valid_to,
            agreed_by=by,
            reason=reason,
        )
        detail = {"from": giver, "to": receiver, "resource": resource, "amount": str(amount)}
        record_event(by=by, action="quota-transfer.create", on=made, tenant=gives.tenant, detail=detail)
        notify(code="quota-transfer", tenant=takes.tenant, params={"from": giver, "to": receiver})
        ring("scheduling.cycle")
    return made


def _names(queue: str) -> tuple[str, str]:
    tenant, _slash, name = queue.partition("/")
    return tenant, name


def _receiver(by: User, gives: Queue, tenant: str, name: str) -> Queue:
    """A queue one can see, or one of the giver's cohort tree: those who lend to each other know each other's names (SCH-21)."""
    try:
        return visible_queue(by, tenant, name)
    except NotFoundError:
        found = (
            Queue.objects.filter(tenant__slug=tenant, name=name, tenant__cohort__isnull=False)
            .select_related("tenant", "pool")
            .first()
        )
        if found is None or gives.tenant.cohort_id is None:
            raise
        parents = dict(Cohort.objects.values_list("pk", "parent_id"))
        if _root(parents, found.tenant.cohort_id) != _root(parents, gives.tenant.cohort_id):
            raise
        return found


def _root(parents: Mapping[int, int | None], cohort_id: int | None) -> int | None:
    """The top of the tree; at most as many steps as there are cohorts, so that a ring would not hold us."""
    for _step in parents:
        above = parents.get(cohort_id) if cohort_id is not None else None
        if above is None:
            return cohort_id
        cohort_id = above
    return cohort_id


def _least(queue: Queue, resource: str, flavor: Flavor | None, start: datetime, end: datetime) -> int:
    """The queue's smallest effective nominal within [start, end): own line plus transfers in and out, at every edge."""
    during = Q(valid_from__lt=end) & (Q(valid_to__isnull=True) | Q(valid_to__gt=start))
    lines = Quota.objects.filter(during, queue=queue, resource=resource, flavor=flavor)
    transfers = QuotaTransfer.objects.filter(
        Q(giver=queue) | Q(receiver=queue), during, resource=resource, flavor=flavor
    )
    edges = {start}
    for first, last in [*lines.values_list("valid_from", "valid_to"), *transfers.values_list("valid_from", "valid_to")]:
        edges |= {edge for edge in (first, last) if edge is not None and start <= edge < end}
    amounts = []
    for at in sorted(edges):
        valid = Q(valid_from__lte=at) & (Q(valid_to__isnull=True) | Q(valid_to__gt=at))
        own = lines.filter(valid).aggregate(sum=Sum("nominal"))["sum"] or 0
        out = transfers.filter(valid, giver=queue).aggregate(sum=Sum("amount"))["sum"] or 0
        into = transfers.filter(valid, receiver=queue).aggregate(sum=Sum("amount"))["sum"] or 0
        amounts.append(own - out + into)
    return min(amounts)
