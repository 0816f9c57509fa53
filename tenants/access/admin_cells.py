"""Columns of admin pages drawn by small templates, with the filters that write money, prices and codes on all other pages."""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.template.loader import render_to_string

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def cell(template: str, label: "_StrPromise", **columns: str) -> Callable[[Any, Any], str]:
    """A method of an admin page. The template gets `columns` of the row by name; the list is sorted by the first of them."""
    read = {name: attrgetter(column) for name, column in columns.items()}

    @admin.display(description=label, ordering=next(iter(columns.values())))
    def drawn(_page: Any, row: Any) -> str:
        return render_to_string(f"admin/cells/{template}.html", {name: of(row) for name, of in read.items()})

    return drawn
