"""Tenants, cohorts, members and queues."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from berth.common.units import from_ppm, plain
from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.admin.service_form import ServiceAdmin, ServiceForm
from tenants.models import Cohort, Membership, Project, Queue, Tenant
from tenants.permissions import Action
from tenants.services.queues import change_queue, create_queue
from tenants.services.tenants import change_tenant, create_tenant

HOUR_S = 3600


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


def _ratio_field(label: Any, **more: Any) -> forms.DecimalField:
    widget = UnfoldAdminDecimalFieldWidget
    return forms.DecimalField(
        label=capfirst(label), max_digits=10, decimal_places=6, min_value=0, widget=widget, **more
    )


def _hours(seconds: int) -> Decimal:
    return plain(round(Decimal(seconds) / HOUR_S, 4))


class TenantForm(ServiceForm):
    ratios = {"weight": "weight_ppm"}
    weight = _ratio_field(
        _("weight"), max_value=1000, initial=1, help_text=_("How its share counts among siblings: 1 is normal.")
    )

    class Meta:
        model = Tenant
        fields = (
            "slug", "name", "cohort", "isolation", "service_tier", "cost_centre", "billing_timezone", "currency", "state",
        )  # fmt: skip

    def write(self, found: dict[str, Any]) -> Tenant:
        adding = self.instance.pk is None
        new = self.values(found, changed_only=not adding)
        if "cohort" in new:
            new["cohort"] = None if new["cohort"] is None else new["cohort"].name
        if adding:
            new.pop("state", None)
            return create_tenant(by=self.by, **new)
        return change_tenant(by=self.by, tenant=self.instance, **new)


@admin.register(Tenant)
class TenantAdmin(ServiceAdmin):
    """The billing zone takes effect where the next period starts (periods tile); the currency is fixed once billed."""

    view, change = Action.TENANT_CREATE, Action.TENANT_CREATE
    form = TenantForm
    fixed = ("slug", "created_at")
    list_display = ("slug", "name", "cohort", "isolation", "service_tier", "cost_centre", "currency", "state")
    list_filter = ("state", "isolation", "service_tier", "cohort")
    search_fields = ("slug", "name", "cost_centre")
    list_select_related = ("cohort",)
    inlines = (QueueInline, MembershipInline)

    def get_fields(self, _request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """A new tenant is active from now on."""
        common = (
            "name",
            "cohort",
            "weight",
            "isolation",
            "service_tier",
            "cost_centre",
            "billing_timezone",
            "currency",
        )
        return ("slug", *common) if obj is None else ("slug", *common, "state", "created_at")


class QueueForm(ServiceForm):
    ratios = {"weight": "weight_ppm", "max_pool_share": "max_pool_share_ppm"}
    weight = _ratio_field(
        _("weight"), max_value=1000, initial=1, help_text=_("How its share counts among siblings: 1 is normal.")
    )
    max_pool_share = _ratio_field(
        _("largest share of the pool"),
        max_value=1,
        required=False,
        help_text=_("0.25 is a quarter of the pool's cards. Empty = no limit."),
    )
    loan_period_h = forms.DecimalField(
        label=capfirst(_("loan period (hours)")),
        min_value=Decimal("0.02"),
        max_value=24 * 30,
        max_digits=8,
        decimal_places=4,
        initial=4,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("After it, what is borrowed may be taken back or renewed."),
    )

    class Meta:
        model = Queue
        fields = ("tenant", "name", "environment", "pool", "default_tier", "strict_expiry", "state")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["loan_period_h"] = _hours(self.instance.loan_period_s)

    def write(self, found: dict[str, Any]) -> Queue:
        adding = self.instance.pk is None
        new = self.values(found, changed_only=not adding)
        if "loan_period_h" in new:
            new["loan_period_s"] = round(new.pop("loan_period_h") * HOUR_S)
        if adding:
            tenant, pool = new.pop("tenant"), new.pop("pool")
            new.pop("state", None)
            return create_queue(by=self.by, tenant=tenant.slug, pool=pool.name, **new)
        return change_queue(by=self.by, queue=self.instance, **new)


@admin.register(Queue)
class QueueAdmin(ServiceAdmin):
    view, change = Action.QUEUE_CREATE, Action.QUEUE_CHANGE
    form = QueueForm
    fixed = ("tenant", "name", "environment", "pool")
    list_display = ("name", "tenant", "environment", "default_tier", "pool", "weight_out", "loan_period_out", "state")
    list_filter = ("state", "environment", "default_tier", "pool")
    search_fields = ("name", "tenant__slug")
    list_select_related = ("tenant", "pool")

    def get_fields(self, _request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        common = (
            "tenant", "name", "environment", "pool", "default_tier", "weight", "loan_period_h", "strict_expiry",
            "max_pool_share",
        )  # fmt: skip
        return common if obj is None else (*common, "state")

    @admin.display(description=_("weight"), ordering="weight_ppm")
    def weight_out(self, row: Queue) -> Decimal:
        return from_ppm(row.weight_ppm)

    @admin.display(description=_("loan period (hours)"), ordering="loan_period_s")
    def loan_period_out(self, row: Queue) -> Decimal:
        return _hours(row.loan_period_s)


@admin.register(Project)
class ProjectAdmin(RoleAdmin):
    view, change = Action.TENANT_READ, Action.TENANT_CHANGE
    list_display = ("slug", "tenant", "name")
    search_fields = ("slug", "tenant__slug")
    list_select_related = ("tenant",)
