"""Columns of reasons kept as codes, in words: the words of the pages, named by kind (`loan`, `preempt`)."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from django.contrib.admin import AllValuesFieldListFilter
from django.contrib.admin.views.main import ChangeList
from django.template.loader import render_to_string
from django.utils.html import format_html

from tenants.access.admin_cells import cell

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


def word_cell(kind: str, label: "_StrPromise", column: str) -> Callable[[Any, Any], str]:
    """For lists: the word alone."""
    return cell("word", label, code=column, kind=lambda _row: kind)


def word_and_code_cell(kind: str, label: "_StrPromise", column: str) -> Callable[[Any, Any], str]:
    """For the page of a row: the code beside it, which logs and REST say."""
    return cell("word_and_code", label, code=column, kind=lambda _row: kind)


class WordFilter(AllValuesFieldListFilter):
    """Offers the codes that there are, in words."""

    kind: str

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        every, *single = super().choices(changelist)
        yield every
        for choice in single:
            code, gap, count = str(choice["display"]).partition(" ")
            word = render_to_string("admin/cells/word.html", {"code": code, "kind": self.kind})
            yield {**choice, "display": format_html("{}{}{}", word, gap, count)}


class LoanEndFilter(WordFilter):
    kind = "loan"


class PreemptFilter(WordFilter):
    kind = "preempt"
