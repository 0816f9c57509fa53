"""Opening and changing queues with their quota."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from berth.common import clock
from berth.common.alarm import ring
from berth.common.errors import ConflictError, NotFoundError, Problems
from tenants.models import Pool, Queue, Tenant, User
from tenants.models.tenant import SLUG, SLUG_PATTERN
from tenants.permissions import Action, require
from tenants.services.audit import changes, record_event
from tenants.services.capacity import check_sums, check_tenant_lines, granted_from, lock_pools
from tenants.services.quota_lines import QuotaLine, read_quota, write_lines

CHANGEABLE: Final = frozenset(
    {"default_tier", "weight_ppm", "loan_period_s", "strict_expiry", "max_pool_share_ppm", "state"}
)
"""Pool and environment stay: jobs of the queue are running in them."""


def create_queue(
    *, by: User, tenant: str, name: str, pool: str, quota: Mapping[str, Any] | None = None, **fields: Any
) -> Queue:
    """A new open queue of a tenant (by slug) in a pool (by name) that the tenant may use. `fields`: environment and CHANGEABLE.

    `quota` is the body's document (see `read_quota`). NotFoundError for a tenant that `by` cannot see; InvalidError lists every
    wrong field, sums above the pool's capacity included.
    """
    owner = Tenant.objects.visible_to(by).filter(slug=tenant).first()
    if owner is None:
        raise NotFoundError
    require(by, Action.QUEUE_CREATE, owner)
    problems = Problems()
    if not re.fullmatch(SLUG_PATTERN, name):
        problems.add("name", SLUG.message)
    elif owner.queues.filter(name=name).exists():
        problems.add("name", _("The tenant has a queue of this name already."), code="taken")
    home = Pool.objects.filter(name=pool).first()
    if home is None or home.tenant_id not in {None, owner.pk}:
        problems.add("pool", _("There is no such pool that this tenant may use."), code="unknown")
        home = None
    lines = read_quota(quota or {}, pool=home, problems=problems) if home else []
    problems.raise_if_any()
    assert home is not None  # noqa: S101 - a missing pool is among the problems
    if "weight_ppm" in fields:
        fields["effective_weight_ppm"] = fields["weight_ppm"]
    try:
        with transaction.atomic():
            lock_pools([home])
            queue = Queue.objects.create(tenant=owner, name=name, pool=home, **fields)
            _grant(queue, lines)
            detail = {"name": name, "pool": pool, "quota": _told(lines)}
            record_event(by=by, action="queue.create", on=queue, tenant=owner, detail=detail)
            ring("scheduling.cycle")
    except IntegrityError as error:
        raise ConflictError(_("The tenant has a queue of this name already.")) from error
    return queue


def change_queue(*, by: User, queue: Queue, quota: Mapping[str, Any] | None = None, **new: Any) -> Queue:
    """Change the given fields of CHANGEABLE, and the lines that `quota` names (`null` ends a line); other lines stay."""
    require(by, Action.QUEUE_CHANGE, queue.tenant)
    problems = Problems()
    for name in sorted(set(new) - CHANGEABLE):
        problems.add(name, _("This cannot be changed."), code="read-only")
    lines = read_quota(quota or {}, pool=queue.pool, problems=problems)
    problems.raise_if_any()
    if lines:
        require(by, Action.QUOTA_CHANGE, queue.tenant)
    if "weight_ppm" in new:
        new["effective_weight_ppm"] = new["weight_ppm"]
    with transaction.atomic():
        lock_pools([queue.pool])
        row = Queue.objects.select_for_update(of=("self",)).select_related("tenant", "pool").get(pk=queue.pk)
        detail = changes(row, new)
        for field, value in new.items():
            setattr(row, field, value)
        if detail:
            row.save(update_fields=sorted(new))
        _grant(row, lines)
        if detail or lines:
            detail |= {"quota": _told(lines)} if lines else {}
            record_event(by=by, action="queue.change", on=row, tenant=row.tenant, detail=detail)
            ring("scheduling.cycle")
    return row


def _grant(queue: Queue, lines: list[QuotaLine]) -> None:
    """Write the lines and check what they add up to; the caller holds the pool and rolls back on InvalidError."""
    if not lines:
        return
    at = clock.now()
    before = granted_from(queue.pool, at)
    write_lines(queue, lines, at=at)
    problems = Problems()
    check_sums(queue.pool, before=before, at=at, problems=problems)
    check_tenant_lines(queue, at=at, problems=problems)
    problems.raise_if_any()


def _told(lines: list[QuotaLine]) -> list[dict[str, Any]]:
    """Lines for the audit trail, in the units used inside."""
    return [
        {
            "resource": line.resource,
            "flavor": line.flavor.name if line.flavor else None,
            "nominal": None if line.ends else line.nominal,
            "borrowing_limit": line.borrowing_limit,
            "lending_limit": line.lending_limit,
            "mode": line.mode,
        }
        for line in lines
    ]
