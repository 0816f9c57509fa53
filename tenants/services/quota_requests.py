"""A tenant asks for more quota; a platform admin decides; both stay on record."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.errors import ConflictError, NotFoundError, Problems
from tenants.models import Flavor, Queue, QuotaRequest, Resource, User
from tenants.permissions import Action, require
from tenants.scoping import ScopedQuerySet
from tenants.services.audit import record_event
from tenants.services.capacity import check_sums, check_tenant_lines, granted_from, lock_pools
from tenants.services.notifications import notify
from tenants.services.quota_lines import QuotaLine, add_for_a_while, inside


def create_quota_request(
    *,
    by: User,
    tenant: str,
    queue: str,
    resource: str,
    amount: Any,
    flavor: str | None = None,
    until: datetime | None = None,
    reason: str = "",
) -> QuotaRequest:
    """Ask for `amount` more (people's units) for a queue, until a time or for good. NotFoundError for a queue one cannot see."""
    row = visible_queue(by, tenant, queue)
    require(by, Action.QUOTA_REQUEST_CREATE, row.tenant)
    problems = Problems()
    kind = flavor_of(row, resource, flavor, problems)
    if until is not None and until <= clock.now():
        problems.add("until", _("Give a time in the future, or null for no end."), code="out-of-range")
    problems.raise_if_any()
    with transaction.atomic():
        made = QuotaRequest.objects.create(
            queue=row,
            resource=resource,
            flavor=kind,
            amount=inside(resource, amount),
            until=until,
            reason=reason,
            asked_by=by,
            asked_at=clock.now(),
        )
        detail = {"queue": f"{tenant}/{queue}", "resource": resource, "amount": str(amount)}
        record_event(by=by, action="quota-request.create", on=made, tenant=row.tenant, detail=detail)
    return made


def approve_quota_request(*, by: User, request: QuotaRequest, answer: str = "") -> QuotaRequest:
    """Grant what was asked from now on. ConflictError once it was decided; InvalidError when the pool cannot back it (SCH-15)."""
    require(by, Action.QUOTA_REQUEST_DECIDE, request.queue.tenant)
    with transaction.atomic():
        lock_pools([request.queue.pool])
        row = _decide(by, request, QuotaRequest.State.APPROVED, answer)
        at = clock.now()
        if row.until is not None and row.until <= at:
            raise ConflictError(_("The time it was asked for has passed."))
        before = granted_from(row.queue.pool, at)
        line = QuotaLine(row.resource, row.flavor, nominal=row.amount)
        add_for_a_while(row.queue, line, at=at, until=row.until)
        problems = Problems()
        check_sums(row.queue.pool, before=before, at=at, problems=problems)
        check_tenant_lines(row.queue, at=at, problems=problems)
        problems.raise_if_any()
    return row


def reject_quota_request(*, by: User, request: QuotaRequest, answer: str = "") -> QuotaRequest:
    """Say no, with an answer. ConflictError once it was decided."""
    require(by, Action.QUOTA_REQUEST_DECIDE, request.queue.tenant)
    with transaction.atomic():
        return _decide(by, request, QuotaRequest.State.REJECTED, answer)


def visible_queue(user: User, tenant: str, queue: str) -> Queue:
    """The queue by its tenant's slug and its name; NotFoundError for one that is not there or not visible."""
    rows: ScopedQuerySet = Queue.objects.select_related("tenant", "pool")
    found: Queue | None = rows.visible_to(user).filter(tenant__slug=tenant, name=queue).first()
    if found is None:
        raise NotFoundError
    return found


def flavor_of(queue: Queue, resource: str, name: str | None, problems: Problems) -> Flavor | None:
    """The flavor of the queue's pool that is meant; cards need one, nothing else has one."""
    if resource != Resource.GPU:
        if name is not None:
            problems.add("flavor", _("Only cards have a flavor."))
        return None
    flavors = list(queue.pool.flavors.order_by("name"))
    found = next((flavor for flavor in flavors if name in {flavor.name, flavor.short_name}), None)
    if found is None:
        known = ", ".join(flavor.name for flavor in flavors)
        problems.add("flavor", _("Choose a flavor of the queue's pool: %(known)s.") % {"known": known}, code="unknown")
    return found


def _decide(by: User, request: QuotaRequest, state: str, answer: str) -> QuotaRequest:
    """Move a waiting request on, once."""
    at = clock.now()
    moved = QuotaRequest.objects.filter(pk=request.pk, state=QuotaRequest.State.WAITING).update(
        state=state, decided_by=by, decided_at=at, answer=answer
    )
    if not moved:
        raise ConflictError(_("This request was decided already."))
    row = QuotaRequest.objects.select_related("queue__tenant", "queue__pool", "flavor", "asked_by", "decided_by").get(
        pk=request.pk
    )
    record_event(by=by, action=f"quota-request.{state}", on=row, tenant=row.queue.tenant, detail={"answer": answer})
    notify(
        code=f"quota-request-{state}",
        user=row.asked_by,
        tenant=row.queue.tenant,
        params={"queue": f"{row.queue.tenant.slug}/{row.queue.name}", "answer": answer},
    )
    return row
