"""Takes what exporters say of cards, one reading a card and minute, and hands it on as samples of whoever held the card (SCH-06).

A reading of a card that nobody held is no sample. It must not guess: what is not read stays unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from berth.common import clock
from berth.common.errors import Problems
from scheduling.models import Card, Lease, UtilisationSample
from scheduling.services.utilisation import CardSample, lock_samples, record_samples
from tenants.models import User
from tenants.permissions import Action, require

OLDEST: Final = timedelta(hours=24)
"""Older readings are refused: the hours they belong to are told to people by then."""
AHEAD: Final = timedelta(minutes=1)
"""How far an exporter's clock may run ahead."""
Place = tuple[str, str, int]
"""Cluster, node, index of the card."""


@dataclass(frozen=True, slots=True)
class CardReading:
    """One card at an instant; utilisation in ppm, VRAM in use in MiB (None: not told)."""

    cluster: str
    node: str
    card: int
    at: datetime
    busy_ppm: int
    vram_mib: int | None = None

    @property
    def place(self) -> Place:
        return self.cluster, self.node, self.card


@dataclass(frozen=True, slots=True)
class Taken:
    """How many readings became samples, were there already (same card and minute), or were of cards that nobody held."""

    stored: int
    repeated: int
    not_held: int


def submit_readings(*, by: User, readings: Sequence[CardReading]) -> Taken:
    """Readings that a script sends. Raises InvalidError with every wrong one by its place: none is stored then."""
    require(by, Action.SAMPLE_WRITE)
    now, problems = clock.now(), Problems()
    cards = cards_of(readings)
    for number, reading in enumerate(readings):
        where = f"samples[{number}]"
        if reading.place not in cards:
            problems.add(f"{where}.card", _("No such card of such a node and cluster."), code="unknown")
        if not now - OLDEST <= reading.at <= now + AHEAD:
            problems.add(f"{where}.at", _("Give an instant of the last 24 hours."), code="out-of-range")
    problems.raise_if_any()
    return take_readings(readings, now=now)


def take_readings(readings: Sequence[CardReading], *, now: datetime) -> Taken:
    """Store what is new of them; unknown cards count as not held. Safe to repeat."""
    with transaction.atomic():
        lock_samples()
        held = list(_held(readings))
        fresh = list(_fresh(held))
        record_samples(fresh, now=now)
    known, new = ({(one.card_id, one.at) for one in some} for some in (held, fresh))
    return Taken(len(new), len(known - new), len(readings) - len(known))


def cards_of(readings: Iterable[CardReading]) -> Mapping[Place, int]:
    """Ids of the cards that are known."""
    nodes = {reading.node for reading in readings}
    rows = Card.objects.filter(node__name__in=nodes).values_list("node__cluster__name", "node__name", "index", "pk")
    return {(cluster, node, index): pk for cluster, node, index, pk in rows}


def _held(readings: Sequence[CardReading]) -> Iterable[CardSample]:
    """A sample for each run that held the card then; shares of one card are all told the card's own reading."""
    cards = cards_of(readings)
    holders: dict[int, list[tuple[int, int, datetime, datetime | None]]] = defaultdict(list)
    if not readings:
        return
    first, last = min(reading.at for reading in readings), max(reading.at for reading in readings)
    rows = Lease.objects.filter(card__in=set(cards.values()), pod__started_at__lte=last).exclude(closed_at__lte=first)
    for card, run, rank, started, finished, closed in rows.order_by("pk").values_list(
        "card_id", "run_id", "pod__rank", "pod__started_at", "pod__finished_at", "closed_at"
    ):
        if card is not None and started is not None:
            holders[card].append((run, rank, started, finished or closed))
    for reading in readings:
        held = cards.get(reading.place, 0)
        for run, rank, started, until in holders.get(held, ()):
            if started <= reading.at and (until is None or reading.at <= until):
                yield CardSample(held, run, rank, reading.at, reading.busy_ppm, reading.vram_mib)


def _fresh(samples: Sequence[CardSample]) -> Iterable[CardSample]:
    """Those of a card, run and minute that has none yet: the first of each."""
    if not samples:
        return
    since, until = min(one.at for one in samples), max(one.at for one in samples)
    stored = UtilisationSample.objects.filter(
        run_id__in={one.run_id for one in samples}, at__gte=_minute(since), at__lt=_minute(until) + timedelta(minutes=1)
    )
    seen = {(card, run, _minute(at)) for card, run, at in stored.values_list("card_id", "run_id", "at")}
    for one in samples:
        key = (one.card_id, one.run_id, _minute(one.at))
        if key not in seen:
            seen.add(key)
            yield one


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
