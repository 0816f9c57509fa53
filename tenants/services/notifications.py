"""Messages to tenants and people: a code with its numbers, so that every reader gets it in their own language."""

from collections.abc import Mapping, Sequence
from typing import Any

from berth.common import clock
from tenants.models import Notification, Tenant, User
from tenants.selectors.notifications import notifications_for


def notify(
    *,
    code: str,
    tenant: Tenant | None = None,
    user: User | None = None,
    params: Mapping[str, Any] | None = None,
    job_id: int | None = None,
) -> Notification:
    """One message: to `user`, else to everybody of `tenant`."""
    return Notification.objects.create(
        code=code, tenant=tenant, user=user, params=dict(params or {}), job_id=job_id, created_at=clock.now()
    )


def mark_read(*, by: User, ids: Sequence[int]) -> int:
    """Mark those of `ids` that the user may see; how many became read. Others are passed over without a word."""
    visible = notifications_for(by).filter(pk__in=ids, read_at__isnull=True).values("pk")
    return Notification.objects.filter(pk__in=visible).update(read_at=clock.now())
