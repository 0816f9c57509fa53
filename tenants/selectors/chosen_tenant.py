"""Which tenants a person may look at, and which one their pages are about now."""

from tenants.models import Membership, Tenant, User
from tenants.scoping import active_now, sees_everything

MENU_LENGTH = 40
"""A switcher is for choosing by eye; platform roles of a large platform search instead."""


def tenants_of(user: User, *, limit: int = MENU_LENGTH) -> list[Tenant]:
    """Tenants the user may see, by slug, at most `limit`."""
    return list(Tenant.objects.visible_to(user).select_related("cohort").order_by("slug")[:limit])


def chosen_tenant(user: User, *, asked: str | None, remembered: str | None) -> Tenant | None:
    """The tenant asked for in the address, else the remembered one, else the first membership; None = all one may see.

    `asked` as an empty string means "all": platform roles only, anyone else falls back to their first tenant. A slug that
    is not visible is as good as unknown and falls back too, so that it gives no hint.
    """
    visible = Tenant.objects.visible_to(user).select_related("cohort")
    if asked == "" and sees_everything(user):
        return None
    for slug in (asked, remembered):
        found = visible.filter(slug=slug).first() if slug else None
        if found is not None:
            return found
    if sees_everything(user):
        return None
    return visible.order_by("slug").first()


def is_tenant_admin(user: User, tenant: Tenant) -> bool:
    """Whether the user's membership in force makes them the tenant's admin."""
    return Membership.objects.filter(active_now(), user=user, tenant=tenant, role=Membership.Role.ADMIN).exists()
