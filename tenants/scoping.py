"""The one place of row access: which rows a user may see. A queryset without a declared path to its tenant shows nothing."""

from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Exists, OuterRef, Q

PLATFORM_ROLES = frozenset({"platform-admin", "finance"})


def active_now(prefix: str = "") -> Q:
    """Memberships in force: started, and not ended. Sessions and roles follow wall time."""
    from berth.common import clock

    at = clock.wall_now()
    return Q(**{f"{prefix}valid_from__lte": at}) & (
        Q(**{f"{prefix}valid_to__isnull": True}) | Q(**{f"{prefix}valid_to__gt": at})
    )


def sees_everything(user: Any) -> bool:
    """Platform admins and finance read across tenants; what they may do is permissions.py's to say."""
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return False
    return bool(PLATFORM_ROLES & user.platform_role_names)


class ScopedQuerySet(models.QuerySet[Any]):
    """Rows that belong to a tenant through `tenant_path` (a lookup from the model to its Tenant, "" = the model is Tenant)."""

    tenant_path: ClassVar[str | None] = None

    def visible_to(self, user: Any) -> Self:
        """Rows of tenants in which `user` has a membership in force; all rows for platform roles; else none."""
        if not getattr(user, "is_authenticated", False) or not user.is_active:
            return self.none()
        if sees_everything(user):
            return self
        if self.tenant_path is None:
            return self.none()
        from django.apps import apps

        target = f"{self.tenant_path}_id" if self.tenant_path else "pk"
        memberships = apps.get_model("tenants", "Membership").objects.filter(
            active_now(), user_id=user.pk, tenant_id=OuterRef(target)
        )
        return self.filter(Exists(memberships))


def scoped(path: str | None) -> type[ScopedQuerySet]:
    """A ScopedQuerySet class whose rows reach their tenant by `path` (`tenant`, `job__tenant`, "" for Tenant itself)."""
    return type("ScopedQuerySet", (ScopedQuerySet,), {"tenant_path": path})
