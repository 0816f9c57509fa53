"""Periods, statements, adjustments and the ledger, as they stand. Nothing here is edited: closing and correcting have doors of their own."""

from django.contrib import admin
from django.utils.translation import pgettext_lazy

from billing.models import Adjustment, BillingPeriod, LedgerEntry, Statement
from tenants.access.admin_cells import cell
from tenants.access.admin_pages import RoleAdmin
from tenants.permissions import Action


@admin.register(BillingPeriod)
class BillingPeriodAdmin(RoleAdmin):
    view = Action.PERIOD_CLOSE
    list_display = ("label", "tenant", "starts_at", "ends_at", "state")
    list_filter = ("state", "label")
    list_select_related = ("tenant",)


@admin.register(Statement)
class StatementAdmin(RoleAdmin):
    view = Action.PERIOD_CLOSE
    list_display = ("number", "tenant", "period", "version", "state", "money", "currency", "issued_at")
    written = {"total": "money"}
    list_filter = ("state", "tenant")
    search_fields = ("number",)
    list_select_related = ("tenant", "period")

    money = cell("amount", pgettext_lazy("column", "total"), amount="total", currency="currency")


@admin.register(Adjustment)
class AdjustmentAdmin(RoleAdmin):
    view = Action.ADJUSTMENT_CREATE
    written = {"amount": "money"}
    list_display = (
        "id",
        "tenant",
        "period",
        "refers_to",
        "kind",
        "money",
        "currency",
        "reason",
        "created_by",
        "created_at",
    )
    list_select_related = True

    money = cell("amount", pgettext_lazy("column", "amount"), amount="amount", currency="currency")


@admin.register(LedgerEntry)
class LedgerEntryAdmin(RoleAdmin):
    view = Action.PERIOD_CLOSE
    list_display = ("key", "tenant", "held_as", "starts_at", "ends_at", "seconds", "cards_u7000", "borrowed", "flavor")
    list_filter = ("held_as", "borrowed", "flavor")
    list_select_related = ("tenant", "flavor")
    search_fields = ("=key",)
