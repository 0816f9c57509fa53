"""Who belongs to a tenant now."""

from django.db.models import QuerySet

from tenants.models import Membership, Tenant
from tenants.scoping import active_now


def members_of(tenant: Tenant) -> QuerySet[Membership]:
    """Memberships in force, with their users."""
    return Membership.objects.filter(active_now(), tenant=tenant).select_related("user", "tenant")
