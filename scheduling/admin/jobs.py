"""Jobs and runs as they stand, for support; changing one goes through its owner's doors."""

from django.contrib import admin

from scheduling.models import Job, Run
from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.permissions import Action


class RunInline(RoleInline):
    model = Run
    view = Action.JOB_READ
    fk_name = "job"
    fields = readonly_fields = ("number", "state", "admitted_at", "started_at", "ended_at", "end_reason", "exit_code")


@admin.register(Job)
class JobAdmin(RoleAdmin):
    view = Action.JOB_OPERATE_ANY
    list_display = ("id", "name", "tenant", "queue", "tier", "priority", "state", "submitted_at", "cost_amount")
    list_filter = ("state", "tier", "tenant")
    search_fields = ("=id", "name")
    list_select_related = ("tenant", "queue__tenant")
    inlines = (RunInline,)
