"""Forms of the admin that write through a service, as every other door does: its checks, its audit trail, its ring."""

from typing import Any

from django import forms
from django.db import models, transaction
from django.http import HttpRequest

from berth.common.errors import BerthError, InvalidError
from berth.common.units import from_ppm, to_ppm
from tenants.access.admin_pages import RoleAdmin


class ServiceForm(forms.ModelForm):
    """The whole change is tried and rolled back before it is saved, so that what a service refuses is told beside its field."""

    by: Any = None
    ratios: dict[str, str] = {}
    """Form field -> column kept in parts per million."""
    write: Any
    """A method of each form: calls its service with what was entered (by form field) and returns the row as it is then."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, column in self.ratios.items():
            stored = getattr(self.instance, column)
            if name in self.fields:
                self.initial[name] = None if stored is None else from_ppm(stored)

    def values(self, found: dict[str, Any], *, changed_only: bool) -> dict[str, Any]:
        """What was entered, by column."""
        names = [name for name in found if name in self.fields and (not changed_only or name in self.changed_data)]
        return {self.ratios.get(name, name): _stored(name in self.ratios, found[name]) for name in names}

    def _post_clean(self) -> None:
        """The instance is not built from the form: the service writes the row."""

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        if self.errors:
            return found
        try:
            with transaction.atomic():
                self.write(dict(found))
                transaction.set_rollback(True)
        except InvalidError as error:
            for problem in error.problems:
                self.add_error(self._field_of(problem.field), str(problem.message))
        except BerthError as error:
            self.add_error(None, str(error))
        return found

    def _field_of(self, column: str) -> str | None:
        names = {stored: name for name, stored in self.ratios.items()}
        name = names.get(column, column)
        return name if name in self.fields else None


def _stored(is_ratio: bool, value: Any) -> Any:
    return to_ppm(value) if is_ratio and value is not None else value


class ServiceAdmin(RoleAdmin):
    """A page whose form is a `ServiceForm`. `fixed` are columns that nobody changes once the row is there."""

    fixed: tuple[str, ...] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        always = tuple(super().get_readonly_fields(request, obj))
        return (*always, *self.fixed) if obj is not None else always

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        return type(form.__name__, (form,), {"by": request.user})

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:
        row = form.write(dict(form.cleaned_data))
        obj.__dict__.update({key: value for key, value in row.__dict__.items() if key != "_state"})
        obj._state.adding = False
