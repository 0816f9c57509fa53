"""Sums of the ledger, grouped so that one price applies to each: the one step where millions of entries become few."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection

from billing.metering import Span, cut
from billing.models import BillingPeriod, LedgerEntry
from billing.selectors.held import Held

# width_bucket needs a threshold; nothing was held before it.
_DAWN = datetime(1900, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Quantity:
    """What one job (None: whole nodes) held in one way between two price changes inside one period.

    Quantities are rates times seconds: 1/7000 card, millicores, MiB. `first` and `last` bound the time it was held in.
    What is not `posted` goes on and may turn out otherwise.
    """

    job_id: int | None
    flavor_id: int | None
    borrowed: bool
    held_as: str
    first: datetime
    last: datetime
    cards: int
    cpu: int
    memory: int
    posted: bool = True


_GROUPED: Final = """
    SELECT job_id, flavor_id, borrowed, held_as, min(starts_at), max(ends_at),
           sum(cards_u7000 * seconds), sum(cpu_m * seconds), sum(memory_mib * seconds)
      FROM billing_ledgerentry
     WHERE {where}
       AND width_bucket(starts_at, %(changes)s::timestamptz[])
         = width_bucket(ends_at - interval '1 second', %(changes)s::timestamptz[])
     GROUP BY job_id, flavor_id, borrowed, held_as,
              width_bucket(starts_at, %(changes)s::timestamptz[]), width_bucket(starts_at, %(bounds)s::timestamptz[])
     ORDER BY job_id, flavor_id, borrowed, held_as, min(starts_at)
"""
_STRADDLING: Final = """
    SELECT job_id, flavor_id, borrowed, held_as, starts_at, ends_at, cards_u7000, cpu_m, memory_mib
      FROM billing_ledgerentry
     WHERE {where}
       AND width_bucket(starts_at, %(changes)s::timestamptz[])
        <> width_bucket(ends_at - interval '1 second', %(changes)s::timestamptz[])
     ORDER BY id
"""


def of_period(period: BillingPeriod, *, changes: Sequence[datetime], bounds: Sequence[datetime]) -> Iterator[Quantity]:
    """Everything the period's bill carries. `changes` are price changes, `bounds` the bounds of the tenant's periods."""
    yield from _sums("period_id = %(period)s", {"period": period.pk, "bounds": [_DAWN, *bounds]}, changes)


def of_jobs(job_ids: Sequence[int], *, changes: Sequence[datetime]) -> Iterator[Quantity]:
    """All that the jobs held and that is charged, whichever period carries it."""
    charged = {"jobs": list(job_ids), "held_as": LedgerEntry.HeldAs.BILLABLE.value, "bounds": [_DAWN]}
    yield from _sums("job_id = ANY(%(jobs)s) AND held_as = %(held_as)s", charged, changes)


def of_held(held: Held, span: Span, *, changes: Sequence[datetime]) -> Iterator[Quantity]:
    """What is held during the span, cut at price changes: for what goes on and is not in the ledger yet."""
    for piece in cut(span, changes):
        yield Quantity(
            held.job_id,
            held.flavor_id,
            held.borrowed,
            held.held_as,
            piece.start,
            piece.end,
            held.cards_u7000 * piece.seconds,
            held.cpu_m * piece.seconds,
            held.memory_mib * piece.seconds,
            posted=False,
        )


def _sums(where: str, values: dict[str, Any], changes: Sequence[datetime]) -> Iterator[Quantity]:
    values = {**values, "changes": [_DAWN, *changes]}
    with connection.cursor() as cursor:
        cursor.execute(_GROUPED.format(where=where), values)
        grouped = cursor.fetchall()
        cursor.execute(_STRADDLING.format(where=where), values)
        straddling = cursor.fetchall()
    for job_id, flavor_id, borrowed, held_as, first, last, cards, cpu, memory in grouped:
        yield Quantity(job_id, flavor_id, borrowed, held_as, first, last, int(cards), int(cpu), int(memory))
    for job_id, flavor_id, borrowed, held_as, first, last, cards, cpu, memory in straddling:
        for piece in cut(Span(first.astimezone(UTC), last.astimezone(UTC)), changes):
            amounts = (cards * piece.seconds, cpu * piece.seconds, memory * piece.seconds)
            yield Quantity(job_id, flavor_id, borrowed, held_as, piece.start, piece.end, *amounts)
