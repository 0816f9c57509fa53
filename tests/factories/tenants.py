"""Cohorts, tenants and people who belong to them."""

from typing import Any

from tenants.models import Cohort, Tenant, User
from tests.factories.names import unique
from tests.factories.people import LONG_AGO, a_membership, a_user


def a_cohort(name: str | None = None, *, parent: Cohort | None = None) -> Cohort:
    return Cohort.objects.create(name=name or unique("cohort"), parent=parent)


def a_tenant(slug: str | None = None, *, cohort: Cohort | None = None, **fields: Any) -> Tenant:
    """An active tenant; without `cohort` one that lends to nobody."""
    slug = slug or unique("tenant")
    values = {"name": slug, "created_at": LONG_AGO} | fields
    return Tenant.objects.create(slug=slug, cohort=cohort, **values)


def a_member_of(tenant: Tenant) -> User:
    user = a_user(unique(f"{tenant.slug}-member"))
    a_membership(user, tenant, "member")
    return user


def an_admin_of(tenant: Tenant) -> User:
    user = a_user(unique(f"{tenant.slug}-admin"))
    a_membership(user, tenant, "admin")
    return user


def an_outsider_member() -> User:
    """A member of a tenant of their own, which has nothing to do with any other."""
    return a_member_of(a_tenant(unique("outsiders")))
