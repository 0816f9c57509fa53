"""The trail of who did what; rows are only ever added (the database refuses anything else)."""

from collections.abc import Mapping
from typing import Any

import structlog
from django.db import models

from berth.common import clock
from tenants.models import AuditEvent, Tenant, User


def record_event(
    *,
    by: User | None,
    action: str,
    on: models.Model,
    tenant: Tenant | None = None,
    detail: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """One event in the caller's transaction. `detail` holds plain JSON values; never a secret. `by` None = the platform itself."""
    return AuditEvent.objects.create(
        at=clock.now(),
        actor=by,
        actor_name=by.username if by else "",
        tenant=tenant,
        action=action,
        object_type=on._meta.model_name or "",
        object_id=str(on.pk),
        detail=dict(detail or {}),
        request_id=str(structlog.contextvars.get_contextvars().get("request_id", ""))[:64],
    )


def changes(row: models.Model, new: Mapping[str, Any]) -> dict[str, Any]:
    """Field → [old, new] of what really changes, as text; for `detail`."""
    return {
        name: [None if old is None else str(old), None if value is None else str(value)]
        for name, value in new.items()
        if (old := getattr(row, name)) != value
    }
