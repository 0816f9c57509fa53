"""Quota lines of any node of the tree, one at a time, with the sums checked: what the admin edits."""

from typing import Any

from django.db import transaction

from berth.common import clock
from berth.common.alarm import ring
from berth.common.errors import Problems
from tenants.models import Cohort, Pool, Queue, Tenant, User
from tenants.permissions import Action, require
from tenants.services.audit import record_event
from tenants.services.capacity import check_sums, check_tenant_lines, granted_from, lock_pools
from tenants.services.quota_lines import QuotaLine, write_lines


def set_line(*, by: User, node: Cohort | Tenant | Queue, line: QuotaLine, dry_run: bool = False) -> None:
    """From now on the node has this line; the one in force ends. Cards count against physical × factor of their flavor's pool.

    Raises ForbiddenError, and InvalidError with every sum that would not hold (SCH-15). `dry_run` checks and changes nothing.
    """
    tenant = node if isinstance(node, Tenant) else getattr(node, "tenant", None)
    require(by, Action.QUOTA_CHANGE, tenant)
    with transaction.atomic():
        _write(node, line, _pool_of(node, line))
        record_event(by=by, action="quota.change", on=node, tenant=tenant, detail=_told(line))
        ring("scheduling.cycle")
        if dry_run:
            transaction.set_rollback(True)


def _told(line: QuotaLine) -> dict[str, Any]:
    """The line as the audit event keeps it."""
    return {
        "resource": line.resource,
        "flavor": line.flavor.name if line.flavor else None,
        "nominal": None if line.ends else line.nominal,
        "borrowing_limit": line.borrowing_limit,
        "lending_limit": line.lending_limit,
        "mode": line.mode,
    }


def _pool_of(node: Cohort | Tenant | Queue, line: QuotaLine) -> Pool | None:
    """The pool whose sum the line counts in; None where it counts in none (CPU of a tenant, say)."""
    if line.flavor is not None:
        return line.flavor.pool
    return node.pool if isinstance(node, Queue) else None


def _write(node: Cohort | Tenant | Queue, line: QuotaLine, pool: Pool | None) -> None:
    at, problems = clock.now(), Problems()
    if pool is None:
        write_lines(node, [line], at=at)
        return
    lock_pools([pool])
    before = granted_from(pool, at)
    write_lines(node, [line], at=at)
    check_sums(pool, before=before, at=at, problems=problems)
    if isinstance(node, Queue):
        check_tenant_lines(node, at=at, problems=problems)
    problems.raise_if_any()
