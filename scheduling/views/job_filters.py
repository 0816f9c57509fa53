"""Filters of the job list in the page's address: read from it, and written back as chips that set or drop one each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from scheduling.models.job import STATES, TIERS
from scheduling.selectors.job_list import SORTS, JobFilters
from tenants.access.page_request import PageRequest
from tenants.models import Queue, Tenant

FIELDS: Final = {
    "state": gettext_lazy("state"),
    "tier": gettext_lazy("tier"),
    "queue": gettext_lazy("queue"),
    "user": gettext_lazy("user"),
    "label": gettext_lazy("label"),
    "q": gettext_lazy("search"),
}
MANY: Final = frozenset({"state", "tier"})


@dataclass(frozen=True, slots=True)
class Option:
    """A value that may be chosen; `address` is the page with it toggled."""

    word: Any
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter: its name, what is set now in words, the address without it, and what it may be set to."""

    field: str
    word: Any
    value: str
    without: str
    options: tuple[Option, ...]


def read_filters(request: HttpRequest, tenant: Tenant | None) -> JobFilters:
    """Unknown states and tiers are dropped; everything else is passed on and simply finds nothing."""
    query = request.GET
    return JobFilters(
        tenant=tenant.slug if tenant else "",
        queue=query.get("queue", "").strip(),
        states=_known(query.get("state", ""), STATES),
        tiers=_known(query.get("tier", ""), TIERS),
        user=query.get("user", "").strip(),
        label=query.get("label", "").strip(),
        q=query.get("q", "").strip(),
    )


def read_sort(request: HttpRequest) -> str:
    sort = request.GET.get("sort", "")
    return sort if sort in SORTS else SORTS[0]


def chips(request: PageRequest, filters: JobFilters, tenant: Tenant | None) -> list[Chip]:
    """In a fixed order; the free-text ones appear only when set (they are typed in the search box or a link)."""
    me = request.user.get_username()
    queues = Queue.objects.visible_to(request.user)
    if tenant is not None:
        queues = queues.filter(tenant=tenant)
    names = sorted(set(queues.values_list("name", flat=True)[:30]))
    offered: dict[str, list[tuple[str, Any]]] = {
        "state": list(STATES),
        "tier": list(TIERS),
        "queue": [(name, name) for name in names],
        "user": [(me, _("my own jobs"))],
    }
    found = [_chip(request.GET, field, _set(filters, field), offered.get(field, [])) for field in FIELDS]
    return [chip for chip in found if chip.value or chip.options]


def _chip(query: QueryDict, field: str, chosen: Sequence[str], offered: Sequence[tuple[str, Any]]) -> Chip:
    words = dict(offered)
    options = []
    for value, word in offered:
        if value in chosen:
            rest = [one for one in chosen if one != value]
        else:
            rest = [*chosen, value] if field in MANY else [value]
        options.append(Option(word, _address(query, field, ",".join(rest)), value in chosen))
    text = _(", ").join(str(words.get(value, value)) for value in chosen)
    return Chip(field, FIELDS[field], text, _address(query, field, ""), tuple(options))


def _set(filters: JobFilters, field: str) -> tuple[str, ...]:
    if field == "state":
        return filters.states
    if field == "tier":
        return filters.tiers
    value = getattr(filters, field)
    return (value,) if value else ()


def _address(query: QueryDict, field: str, value: str) -> str:
    changed = query.copy()
    changed.pop("cursor", None)
    changed.pop(field, None)
    if value:
        changed[field] = value
    return f"?{changed.urlencode()}"


def _known(text: str, choices: Sequence[tuple[str, Any]]) -> tuple[str, ...]:
    known = [value for value, _word in choices]
    return tuple(value for value in known if value in text.split(","))
