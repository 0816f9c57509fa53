"""Quota lines, requests and transfers. A line is never edited in place: the old one ends, a new one begins, the sums are checked."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from berth.common.errors import BerthError
from berth.common.units import UnitError, from_milli, mib_to_gib, plain
from tenants.access.admin_pages import RoleAdmin
from tenants.models import Cohort, Queue, Quota, QuotaRequest, QuotaTransfer, Resource, Tenant
from tenants.permissions import Action
from tenants.services.quota_lines import QuotaLine, inside
from tenants.services.tree_lines import set_line

AMOUNTS = ("nominal", "borrowing_limit", "lending_limit")
MOST = Decimal(10_000_000)


def _outside(resource: str, amount: int | None) -> Decimal | None:
    """Units used inside to people's: cards and cores, GiB."""
    if amount is None:
        return None
    if resource in {Resource.GPU, Resource.CPU}:
        return from_milli(amount)
    return mib_to_gib(amount) if resource in {Resource.MEMORY, Resource.VRAM} else plain(Decimal(amount))


def _limit(resource: str, amount: int | None) -> Any:
    return _("no limit") if amount is None else _outside(resource, amount)


class QuotaForm(forms.ModelForm):
    """Amounts as people write them; the whole change is tried and rolled back before it is saved, so that sums that break are told here."""

    class Meta:
        model = Quota
        fields = ("cohort", "tenant", "queue", "resource", "flavor", "mode")

    nominal = forms.DecimalField(
        label=capfirst(_("nominal")), min_value=0, max_value=MOST, widget=UnfoldAdminDecimalFieldWidget
    )
    borrowing_limit = forms.DecimalField(
        label=capfirst(_("borrowing limit")),
        min_value=0,
        max_value=MOST,
        required=False,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("Empty = no limit."),
    )
    lending_limit = forms.DecimalField(
        label=capfirst(_("lending limit")),
        min_value=0,
        max_value=MOST,
        required=False,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("Empty = no limit."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by: Any = None
        if self.instance.pk is not None:
            for name in AMOUNTS:
                self.initial[name] = _outside(self.instance.resource, getattr(self.instance, name))

    def _post_clean(self) -> None:
        """The instance is not built from the form: the service writes the row."""

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if self.errors:
            return found
        nodes = [node for name in ("cohort", "tenant", "queue") if (node := found.get(name)) is not None]
        if len(nodes) != 1:
            raise ValidationError(_("Choose exactly one of cohort, tenant and queue."))
        if (found["resource"] == Resource.GPU) != (found.get("flavor") is not None):
            raise ValidationError({"flavor": _("Cards need a flavor; other resources have none.")})
        try:
            set_line(by=self.by, node=nodes[0], line=self.line(found), dry_run=True)
        except UnitError as error:
            raise ValidationError(_("Too fine: at most thousandths of a card or core, or a MiB.")) from error
        except BerthError as error:
            raise ValidationError(str(error)) from error
        return found

    def node(self) -> Cohort | Tenant | Queue:
        found = self.cleaned_data
        node: Cohort | Tenant | Queue = found.get("queue") or found.get("tenant") or found["cohort"]
        return node

    def line(self, found: dict[str, Any]) -> QuotaLine:
        resource = found["resource"]
        amounts = {name: None if found.get(name) is None else inside(resource, found[name]) for name in AMOUNTS}
        return QuotaLine(
            resource=resource,
            flavor=found.get("flavor"),
            nominal=amounts["nominal"] or 0,
            borrowing_limit=amounts["borrowing_limit"],
            lending_limit=amounts["lending_limit"],
            mode=found["mode"],
        )


@admin.register(Quota)
class QuotaAdmin(RoleAdmin):
    """Lines in force and their past. Saving ends the line in force and begins a new one now."""

    view, change = Action.QUEUE_CHANGE, Action.QUOTA_CHANGE
    form = QuotaForm
    list_display = (
        "node",
        "resource",
        "flavor",
        "nominal_out",
        "borrowing_out",
        "lending_out",
        "mode",
        "valid_from",
        "valid_to",
    )
    list_filter = ("resource", "flavor", ("valid_to", admin.EmptyFieldListFilter), "mode")
    search_fields = ("queue__name", "tenant__slug", "queue__tenant__slug", "cohort__name")
    list_select_related = ("cohort", "tenant", "queue__tenant", "flavor")
    fields = ("cohort", "tenant", "queue", "resource", "flavor", *AMOUNTS, "mode")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **{**kwargs, "fields": None})
        return type(form.__name__, (form,), {"__init__": _with_editor(form, request.user)})

    def save_model(self, request: HttpRequest, obj: Quota, form: Any, change: bool) -> None:
        set_line(by=form.by, node=form.node(), line=form.line(form.cleaned_data))
        row = Quota.objects.filter(**{type(form.node())._meta.model_name: form.node()}).order_by("-pk").first()
        if row is not None:
            obj.pk = row.pk
        messages.info(request, _("The line in force has ended; the new one begins now."))

    @admin.display(description=_("of"))
    def node(self, row: Quota) -> str:
        if row.queue is not None:
            return f"{row.queue.tenant.slug}/{row.queue.name}"
        return str(row.tenant or row.cohort)

    @admin.display(description=_("nominal"))
    def nominal_out(self, row: Quota) -> Any:
        return _outside(row.resource, row.nominal)

    @admin.display(description=_("borrowing limit"))
    def borrowing_out(self, row: Quota) -> Any:
        return _limit(row.resource, row.borrowing_limit)

    @admin.display(description=_("lending limit"))
    def lending_out(self, row: Quota) -> Any:
        return _limit(row.resource, row.lending_limit)


def _with_editor(form: Any, user: Any) -> Any:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        form.__init__(self, *args, **kwargs)
        self.by = user

    return init


class _WithAmount(RoleAdmin):
    @admin.display(description=_("amount"))
    def amount_out(self, row: QuotaRequest | QuotaTransfer) -> Any:
        return _outside(row.resource, row.amount)


@admin.register(QuotaRequest)
class QuotaRequestAdmin(_WithAmount):
    """Requests are decided by API or page, which also write the line; here they are read."""

    view = Action.QUOTA_REQUEST_READ
    list_display = ("queue", "resource", "flavor", "amount_out", "state", "asked_by", "asked_at", "decided_by")
    list_filter = ("state", "resource")
    list_select_related = ("queue__tenant", "flavor", "asked_by", "decided_by")


@admin.register(QuotaTransfer)
class QuotaTransferAdmin(_WithAmount):
    view = Action.QUOTA_TRANSFER_READ
    list_display = ("giver", "receiver", "resource", "flavor", "amount_out", "valid_from", "valid_to", "agreed_by")
    list_select_related = ("giver", "receiver", "flavor", "agreed_by")
