"""Tenants, cohorts, members and queues."""

from django.contrib import admin

from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.models import Cohort, Membership, Project, Queue, Tenant
from tenants.permissions import Action


@admin.register(Cohort)
class CohortAdmin(RoleAdmin):
    view, change = Action.TENANT_READ, Action.TENANT_CHANGE
    list_display = ("name", "parent", "weight_ppm")
    search_fields = ("name",)
    list_select_related = ("parent",)


class QueueInline(RoleInline):
    model = Queue
    view = Action.QUEUE_READ
    fields = readonly_fields = ("name", "environment", "default_tier", "pool", "state")


class MembershipInline(RoleInline):
    model = Membership
    view, change = Action.MEMBER_READ, Action.TENANT_CHANGE
    fields = ("user", "role", "valid_from", "valid_to")
    autocomplete_fields = ("user",)


@admin.register(Tenant)
class TenantAdmin(RoleAdmin):
    """The billing zone takes effect where the next period starts (periods tile); the currency is fixed once billed."""

    view, change = Action.TENANT_CREATE, Action.TENANT_CREATE
    list_display = ("slug", "name", "cohort", "isolation", "service_tier", "cost_centre", "currency", "state")
    list_filter = ("state", "isolation", "service_tier", "cohort")
    search_fields = ("slug", "name", "cost_centre")
    list_select_related = ("cohort",)
    inlines = (QueueInline, MembershipInline)


@admin.register(Queue)
class QueueAdmin(RoleAdmin):
    view, change = Action.QUEUE_CREATE, Action.QUEUE_CHANGE
    list_display = ("name", "tenant", "environment", "default_tier", "pool", "weight_ppm", "loan_period_s", "state")
    list_filter = ("state", "environment", "default_tier", "pool")
    search_fields = ("name", "tenant__slug")
    list_select_related = ("tenant", "pool")
    readonly_fields = ("effective_weight_ppm",)


@admin.register(Project)
class ProjectAdmin(RoleAdmin):
    view, change = Action.TENANT_READ, Action.TENANT_CHANGE
    list_display = ("slug", "tenant", "name")
    search_fields = ("slug", "tenant__slug")
    list_select_related = ("tenant",)
