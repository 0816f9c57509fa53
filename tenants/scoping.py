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
    """Rows that belong to a tenant through any of `tenant_paths` (lookups from the model to its Tenant, "" = the model is Tenant).

    With `shared`, rows whose path ends in no tenant are everybody's: the shared pool and what is in it.
    """

    tenant_paths: ClassVar[tuple[str, ...]] = ()
    shared: ClassVar[bool] = False

    def visible_to(self, user: Any) -> Self:
        """Rows of tenants in which `user` has a membership in force; all rows for platform roles; else none."""
        if not getattr(user, "is_authenticated", False) or not user.is_active:
            return self.none()
        if sees_everything(user):
            return self
        if not self.tenant_paths:
            return self.none()
        seen = Q()
        for path in self.tenant_paths:
            seen |= Q(Exists(_memberships(user, f"{path}_id" if path else "pk")))
            if self.shared:
                seen |= Q(**{f"{path}__isnull": True})
        return self.filter(seen)


def _memberships(user: Any, target: str) -> models.QuerySet[Any]:
    from django.apps import apps

    return apps.get_model("tenants", "Membership").objects.filter(
        active_now(), user_id=user.pk, tenant_id=OuterRef(target)
    )


def scoped(*paths: str, shared: bool = False) -> type[ScopedQuerySet]:
    """A ScopedQuerySet class whose rows reach their tenant by `paths` (`tenant`, `job__tenant`, "" for Tenant itself)."""
    return type("ScopedQuerySet", (ScopedQuerySet,), {"tenant_paths": paths, "shared": shared})


def tenants_of_row(row: models.Model) -> list[Any]:
    """The tenants in which a role on `row` may be judged, in the order of its paths; [None] for rows of the platform."""
    queryset = type(row)._default_manager.all()
    paths = queryset.tenant_paths if isinstance(queryset, ScopedQuerySet) else ()
    reached = (_follow(row, path) for path in paths)
    return [tenant for tenant in reached if tenant is not None] or [None]


def _follow(row: models.Model, path: str) -> Any:
    found: Any = row
    for step in filter(None, path.split("__")):
        if found is None:
            return None
        found = getattr(found, step)
    return found
