"""Jobs and runs as they stand, for support; changing one goes through its owner's doors."""

from django.contrib import admin
from django.db import models
from django.utils.translation import pgettext_lazy

from scheduling.models import Job, Run
from tenants.access.admin_cells import cell
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
    list_display = ("id", "name", "tenant", "queue", "tier", "priority", "state", "submitted_at", "cost")
    written = {"cost_amount": "cost", "refused_estimate": "refused"}
    list_filter = ("state", "tier", "tenant")
    search_fields = ("=id", "name")
    list_select_related = ("tenant", "queue__tenant")
    inlines = (RunInline,)
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}

    cost = cell("money", pgettext_lazy("column", "cost"), amount="cost_amount", currency="cost_currency")
    refused = cell(
        "money", pgettext_lazy("column", "estimate refused"), amount="refused_estimate", currency="tenant.currency"
    )
