"""Base of all Django admin pages: the theme behind one name, and permissions from the one role → action table.

Django's own permission tables are not used: what a person may see and edit here is what their role may do elsewhere.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action as list_page

from tenants.models import Queue
from tenants.permissions import Action, can

__all__ = ["UNKNOWN", "RoleAdmin", "RoleInline", "list_page"]
UNKNOWN: Final = "–"
"""What is not there, as on all other pages."""


class _ByRole:
    """`view` and `change` are actions; without `change` a page is read-only. Nothing is deleted here: rows are ended or closed."""

    view: ClassVar[Action]
    change: ClassVar[Action | None] = None
    addable: ClassVar[bool] = True
    empty_value_display = UNKNOWN

    def has_module_permission(self, request: HttpRequest) -> bool:
        return can(request.user, self.view)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return can(request.user, self.view)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.change is not None and can(request.user, self.change)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.addable and self.change is not None and can(request.user, self.change)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class _WrittenForPeople:
    """A page of a row shows some columns by a method that writes them as people read them; `written` names it, by column.

    Only for columns that the page does not let anybody edit; the page that makes a row has its form's own fields.
    """

    written: ClassVar[Mapping[str, str]] = {}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        names = super().get_readonly_fields(request, obj)  # type: ignore[misc]
        return names if obj is None else (*names, *self.written.values())

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        names = super().get_fields(request, obj)  # type: ignore[misc]
        return names if obj is None else list(dict.fromkeys(self.written.get(name, name) for name in names))


class _NamedQueues:
    """Queues are named with their tenant, several tenants have a `prod`; read together, not one by one."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Queue:
            kwargs.setdefault("queryset", Queue.objects.select_related("tenant").order_by("tenant__slug", "name"))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]


class RoleAdmin(_ByRole, _WrittenForPeople, _NamedQueues, ModelAdmin):
    """An admin page of one model."""

    list_filter_submit = True
    list_per_page = 50
    show_full_result_count = False


class RoleInline(_ByRole, TabularInline):
    """Rows of a model on another's page."""

    extra = 0
    show_change_link = True
