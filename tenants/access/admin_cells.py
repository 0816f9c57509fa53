"""Columns of admin pages drawn by small templates, with the filters that write money, prices and codes on all other pages."""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.template.loader import render_to_string

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def cell(
    template: str, label: "_StrPromise", *, ordering: Any = None, **columns: str | Callable[[Any], Any]
) -> Callable[[Any, Any], str]:
    """A method of an admin page. The template gets by name columns of the row, or what a function says of it.

    The list is sorted by `ordering`; None = by the first of the columns.
    """
    read = {name: attrgetter(column) if isinstance(column, str) else column for name, column in columns.items()}

    by: Any = ordering or next(iter(columns.values()))

    @admin.display(description=label, ordering=by)
    def drawn(_page: Any, row: Any) -> str:
        return render_to_string(f"admin/cells/{template}.html", {name: of(row) for name, of in read.items()})

    return drawn
