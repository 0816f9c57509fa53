"""The audit trail: what people did, and every earlier state of quota, queues, tenants and prices. Read-only."""

import pghistory.models
from django.contrib import admin
from django.http import HttpRequest
from pghistory.admin import EventsAdmin

from tenants.access.admin_pages import RoleAdmin
from tenants.models import AuditEvent
from tenants.permissions import Action


@admin.register(AuditEvent)
class AuditEventAdmin(RoleAdmin):
    view = Action.AUDIT_READ
    list_display = ("at", "actor_name", "action", "object_type", "object_id", "tenant")
    list_filter = ("action", "object_type")
    search_fields = ("object_id", "actor_name")
    list_select_related = ("tenant",)
    date_hierarchy = "at"


class TrailAdmin(RoleAdmin, EventsAdmin):
    """Every insert and update of tracked rows, with who did it, whichever door it came through."""

    view = Action.AUDIT_READ

    def get_queryset(self, request: HttpRequest):  # type: ignore[no-untyped-def]
        return EventsAdmin.get_queryset(self, request)


admin.site.register(pghistory.models.Events, TrailAdmin)
