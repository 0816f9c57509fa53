"""Price books and rates. A rate that has started may only be end-dated; the services and the database both say so (BIL-03)."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import pgettext_lazy

from berth.common.errors import BerthError
from billing.models import PriceBook, Rate
from billing.services.prices import NewRate, create_price_book, create_rate, end_rate
from tenants.access.admin_cells import cell
from tenants.access.admin_pages import RoleAdmin, RoleInline
from tenants.permissions import Action


class _ServiceForm(forms.ModelForm):
    """Tries the whole change and rolls it back, so that what a service refuses is told in the form."""

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if not self.errors:
            try:
                with transaction.atomic():
                    self.write(found)
                    transaction.set_rollback(True)
            except BerthError as error:
                raise ValidationError(str(error)) from error
        return found

    def write(self, found: dict[str, Any]) -> Any:
        """The change itself, by service. Must be overridden."""
        raise TypeError(f"{type(self).__name__} has no change to make")

    def _post_clean(self) -> None:
        """The instance is not built from the form: the service writes the row."""


class PriceBookForm(_ServiceForm):
    class Meta:
        model = PriceBook
        fields = ("name", "currency", "note")

    def write(self, found: dict[str, Any]) -> PriceBook:
        return create_price_book(name=found["name"], currency=found["currency"], note=found["note"])


class RateForm(_ServiceForm):
    class Meta:
        model = Rate
        fields = ("price_book", "meter", "flavor", "tenant", "price", "valid_from", "valid_to")

    def write(self, found: dict[str, Any]) -> Rate:
        if self.instance.pk is not None:
            return end_rate(Rate.objects.get(pk=self.instance.pk), valid_to=found["valid_to"])
        return create_rate(NewRate(**found))


_written_price = cell("rate", pgettext_lazy("column", "price"), price="price")


class RateInline(RoleInline):
    model = Rate
    view = Action.PRICE_READ
    fields = readonly_fields = ("meter", "flavor", "tenant", "written_price", "valid_from", "valid_to")

    written_price = _written_price


class _WrittenByService(RoleAdmin):
    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.pk = form.write(form.cleaned_data).pk


@admin.register(PriceBook)
class PriceBookAdmin(_WrittenByService):
    view, change = Action.PRICE_CHANGE, Action.PRICE_CHANGE
    form = PriceBookForm
    list_display = ("name", "currency", "note", "created_at")
    inlines = (RateInline,)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A book is what its rates are; it is made, not changed."""
        return obj is None and super().has_change_permission(request, obj)


@admin.register(Rate)
class RateAdmin(_WrittenByService):
    view, change = Action.PRICE_CHANGE, Action.PRICE_CHANGE
    form = RateForm
    list_display = ("meter", "flavor", "tenant", "written_price", "currency", "valid_from", "valid_to", "price_book")
    list_filter = ("meter", "price_book", "flavor", ("valid_to", admin.EmptyFieldListFilter))
    list_select_related = ("flavor", "tenant", "price_book")
    written = {"price": "written_price"}

    written_price = _written_price

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        fixed = () if obj is None else ("price_book", "meter", "flavor", "tenant", "price", "valid_from")
        return (*fixed, *super().get_readonly_fields(request, obj))
