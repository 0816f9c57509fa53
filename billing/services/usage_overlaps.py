"""Finds rows of a usage file that would hold more of a card than there is, in the file or beside what is stored (BIL-02)."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.translation import gettext as _

from berth.common.units import UNITS_PER_CARD
from billing.services.usage_file import Problem, UsageRow
from scheduling.models import LeaseSegment

CardKey = tuple[int, str, int]
"""Cluster, node name, card index."""

_FOREVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class _Holding:
    start: datetime
    end: datetime
    line: int
    share: int


def overlaps(rows: Iterable[tuple[CardKey, UsageRow]]) -> list[Problem]:
    """One problem for each row that does not fit on its card beside the rows before it and what is stored."""
    by_card: dict[CardKey, list[_Holding]] = defaultdict(list)
    for key, row in rows:
        by_card[key].append(_Holding(row.start, row.end, row.line, row.share))
    for key, stored in _stored(by_card):
        by_card[key].append(stored)
    problems: list[Problem] = []
    for key in sorted(by_card):
        problems += _too_much(key, sorted(by_card[key]))
    return problems


def _too_much(key: CardKey, holdings: list[_Holding]) -> Iterator[Problem]:
    """Sweep over one card by start. What is stored stays; a row that meets it is the one to blame."""
    going_on: list[tuple[datetime, int, int]] = []
    held = 0
    for holding in holdings:
        while going_on and going_on[0][0] <= holding.start:
            held -= heapq.heappop(going_on)[2]
        if held + holding.share > UNITS_PER_CARD:
            others = [line for _end, line, _share in going_on]
            blamed = holding.line or max(others)
            if blamed:
                yield Problem(
                    blamed, "card", _sentence(key, min(line for line in [*others, holding.line] if line != blamed))
                )
            if holding.line:
                continue
        held += holding.share
        heapq.heappush(going_on, (holding.end, holding.line, holding.share))


def _sentence(key: CardKey, other: int) -> str:
    _cluster, node, index = key
    where = _("line %(line)d") % {"line": other} if other else _("usage that is stored")
    return _("card %(index)d of %(node)s is held by more than one card, see %(where)s") % {
        "index": index,
        "node": node,
        "where": where,
    }


def _stored(by_card: dict[CardKey, list[_Holding]]) -> Iterator[tuple[CardKey, _Holding]]:
    """Segments in the database on the same cards, during the time the file speaks of; line 0."""
    if not by_card:
        return
    first = min(holding.start for holdings in by_card.values() for holding in holdings)
    last = max(holding.end for holdings in by_card.values() for holding in holdings)
    found = LeaseSegment.objects.filter(
        card__node__name__in={node for _cluster, node, _index in by_card}, during__overlap=(first, last)
    )
    fields = ("card__node__cluster_id", "card__node__name", "card__index", "during", "quantity")
    for cluster_id, node, index, during, quantity in found.order_by("id").values_list(*fields).iterator(10_000):
        key = (cluster_id, node, index)
        if key in by_card:
            yield key, _Holding(during.lower.astimezone(UTC), during.upper or _FOREVER, 0, quantity)
