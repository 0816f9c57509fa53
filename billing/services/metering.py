"""From what was held to ledger entries: each second once, incrementally, and corrected by opposites where a fact changed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from berth.common import clock
from billing import ledger
from billing.ledger import Fact
from billing.metering import BadClockError, Span, cut, local_day, midnights
from billing.models import BillingPeriod, LedgerEntry
from billing.selectors.held import LEASE, NODE, Held, going_on_of, nodes_of, segments_of, with_unmetered_segments
from billing.selectors.periods import Calendar, zone_of
from billing.services.periods import carrier_of, reach
from scheduling.models import Job
from tenants.models import Tenant

_JOBS_AT_ONCE = 500


def meter_jobs(tenant_id: int, job_ids: Sequence[int], *, until: datetime | None = None) -> int:
    """Post what the jobs' segments hold and the ledger lacks; returns the number of new entries.

    Segments are posted whole. With `until`, what goes on is posted up to it (a period's end).
    """
    posted = 0
    for first in range(0, len(job_ids), _JOBS_AT_ONCE):
        with transaction.atomic():
            ledger.hold_tenant(tenant_id)
            some = job_ids[first : first + _JOBS_AT_ONCE]
            posted += _meter(tenant_id, [*segments_of(some), *going_on_of(job_ids=some)], until)
    return posted


def meter_new(tenant_id: int, jobs: QuerySet[Job]) -> int:
    """Post what has ended of the jobs and is not in the ledger."""
    return meter_jobs(tenant_id, list(with_unmetered_segments(jobs).values_list("pk", flat=True)))


def meter_nodes(tenant_id: int, *, until: datetime | None = None) -> int:
    """Post the node intervals of pools that are set aside for the tenant (BIL-01)."""
    with transaction.atomic():
        ledger.hold_tenant(tenant_id)
        return _meter(tenant_id, nodes_of(tenant_id), until)


def _meter(tenant_id: int, held: Sequence[Held], until: datetime | None) -> int:
    spans = [(each, found) for each in held if (found := _whole_seconds(each, until)) is not None]
    if not spans:
        # All of it may have vanished: a segment that was metered up to a period's end can turn out to be empty.
        return _settle(tenant_id, None, held, [], until)
    tenant = Tenant.objects.get(pk=tenant_id)
    calendar = reach(tenant, min(found.start for _, found in spans), max(found.end for _, found in spans))
    facts: list[Fact] = []
    for each, found in spans:
        for piece, home in pieces(found, calendar):
            calendar, carrier = carrier_of(tenant, calendar, home)
            facts.append(Fact(each, piece, local_day(piece.start, zone_of(home)), carrier.pk))
    return _settle(tenant_id, calendar, held, facts, until)


def pieces(whole: Span, calendar: Calendar) -> Iterator[tuple[Span, BillingPeriod]]:
    """The span cut at period bounds and at midnights of each period's zone, with the period each piece lies in."""
    for of_period in cut(whole, calendar.bounds()):
        home = calendar.home(of_period.start)
        for of_day in cut(of_period, midnights(of_period, zone_of(home))):
            yield of_day, home


def _whole_seconds(held: Held, until: datetime | None) -> Span | None:
    try:
        return held.until(until)
    except BadClockError:
        return None


def _settle(
    tenant_id: int, calendar: Calendar | None, held: Sequence[Held], facts: list[Fact], until: datetime | None
) -> int:
    """Post new facts, and take back entries that no longer say what was held."""
    standing, revisions = _recorded(held)
    horizon = _horizon(held, until)
    standing = {
        content: entry
        for content, entry in standing.items()
        if content[:2] not in horizon or entry.starts_at < horizon[content[:2]]
    }
    now = clock.now()
    fresh = []
    for fact in facts:
        content = _content(fact.held, fact.span)
        if standing.pop(content, None) is None:
            fresh.append(
                Fact(fact.held, fact.span, fact.day, fact.period_id, revisions[_slot(fact.held, fact.span.start)])
            )
    if standing:
        _take_back(tenant_id, calendar, standing.values(), now)
    return ledger.post(tenant_id, fresh, at=now) if fresh else 0


def _horizon(held: Sequence[Held], until: datetime | None) -> dict[tuple[str, int], datetime]:
    """For each source that goes on, the instant up to which this look knows it; later entries are not judged."""
    found: dict[tuple[str, int], datetime] = {}
    for each in held:
        if each.going_on:
            known = each.start if until is None else max(each.start, until)
            source = (each.source, each.source_id)
            found[source] = min(found.get(source, known), known)
    return found


def _take_back(tenant_id: int, calendar: Calendar | None, entries: Iterable[LedgerEntry], now: datetime) -> None:
    tenant = Tenant.objects.get(pk=tenant_id)
    found = list(entries)
    calendar = calendar or reach(tenant, min(entry.starts_at for entry in found), max(entry.ends_at for entry in found))
    back = []
    for entry in found:
        calendar, carrier = carrier_of(tenant, calendar, calendar.home(entry.starts_at))
        back.append((entry, carrier))
    ledger.take_back(back, at=now)


def _recorded(held: Sequence[Held]) -> tuple[dict[Any, LedgerEntry], Counter[Any]]:
    """Entries that stand for these sources, by content; and how many were posted before for each source and start."""
    by_source: dict[str, list[int]] = defaultdict(list)
    for each in held:
        by_source[each.source].append(each.source_id)
    entries: list[LedgerEntry] = []
    if by_source[LEASE]:
        entries += LedgerEntry.objects.filter(lease_id__in=by_source[LEASE]).select_related("taken_back_by")
    if by_source[NODE]:
        entries += LedgerEntry.objects.filter(node_interval_id__in=by_source[NODE]).select_related("taken_back_by")
    standing, revisions = {}, Counter[Any]()
    for entry in entries:
        if entry.refers_to_id is not None:
            continue
        source, source_id = (LEASE, entry.lease_id) if entry.lease_id else (NODE, entry.node_interval_id)
        revisions[source, source_id, entry.held_as, entry.starts_at] += 1
        if not hasattr(entry, "taken_back_by"):
            standing[_entry_content(source, source_id, entry)] = entry
    return standing, revisions


def _slot(held: Held, start: datetime) -> Any:
    return held.source, held.source_id, held.held_as, start


def _content(held: Held, of: Span) -> Any:
    quantities = (held.cards_u7000, held.cpu_m, held.memory_mib, held.borrowed, held.flavor_id)
    return held.source, held.source_id, held.held_as, of.start, of.end, *quantities


def _entry_content(source: str, source_id: int | None, entry: LedgerEntry) -> Any:
    quantities = (entry.cards_u7000, entry.cpu_m, entry.memory_mib, entry.borrowed, entry.flavor_id)
    return source, source_id, entry.held_as, entry.starts_at, entry.ends_at, *quantities
