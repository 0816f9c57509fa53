"""Messages to tenants and people: a code with its numbers, so that every reader gets it in their own language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from berth.common import clock
from tenants.models import Notification, Tenant, User
from tenants.selectors.notifications import notifications_for


@dataclass(frozen=True, slots=True)
class Message:
    """One message to everybody of `tenant`; `params` are the code's numbers and names."""

    code: str
    tenant: Tenant
    params: Mapping[str, Any] = field(default_factory=dict)
    job_id: int | None = None


def notify_all(messages: Sequence[Message]) -> None:
    """Any number of messages to tenants, in one statement."""
    at = clock.now()
    Notification.objects.bulk_create(
        [
            Notification(
                code=message.code,
                tenant=message.tenant,
                params=dict(message.params),
                job_id=message.job_id,
                created_at=at,
            )
            for message in messages
        ],
        batch_size=2000,
    )


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
