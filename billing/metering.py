"""Time and quantity of what was held: whole seconds, half-open, UTC, cut where the bill needs a cut (BIL-01, BIL-02).

Pure: it reads no clock and no table, and it knows no price.

Whole seconds. A cluster reports micro- and nanoseconds; a bill counts whole seconds (DESIGN section 4). Both ends of a
span are floored to their second. Two spans that touch still touch afterwards, so no second is counted twice and none
between them is lost, whatever the fractions were; a run whose length is a whole number of seconds keeps it exactly.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import NamedTuple

from berth.common.instants import EARLIEST, LATEST
from berth.common.shown import shown
from berth.common.units import MILLI, UNITS_PER_CARD

_MONTH = re.compile(r"^(?P<year>[1-9][0-9]{3})-(?P<month>0[1-9]|1[0-2])$")
_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class BadClockError(ValueError):
    """A span ends before it starts, so its clock was wrong and nothing may be billed from it (B23)."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open [start, end) of whole seconds in UTC, never empty."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> int:
        """Elapsed seconds; both ends are UTC, where subtraction is elapsed time (B33)."""
        return (self.end - self.start) // _SECOND


def span(start: datetime, end: datetime) -> Span | None:
    """The whole seconds between two aware instants of any zone; None when no second lies between; raises BadClockError."""
    if end.astimezone(UTC) < start.astimezone(UTC):
        raise BadClockError(f"ends {end.isoformat()} before it starts {start.isoformat()}")
    first, last = whole_second(start), whole_second(end)
    return Span(first, last) if first < last else None


def parse_card(text: str) -> tuple[int, int]:
    """`3`, `3:250` (milli-cards) or `3:1/7` as (card index, 1/7000 shares, 1 to 7000); raises ValueError."""
    index, colon, share = text.partition(":")
    if not _is_number(index):
        raise ValueError(f"{shown(text)} is not a card like 3, 3:250 or 3:1/7")
    return int(index), _parse_share(share) if colon else UNITS_PER_CARD


def _parse_share(text: str) -> int:
    above, slash, below = text.partition("/")
    if not _is_number(above) or (slash and not (_is_number(below) and int(below))):
        raise ValueError(f"{shown(text)} is not a share like 250 or 1/7")
    units, rest = divmod(int(above) * UNITS_PER_CARD, int(below) if slash else MILLI)
    if rest or not 1 <= units <= UNITS_PER_CARD:
        raise ValueError(f"{shown(text)} is not a whole number of 1/{UNITS_PER_CARD} between nothing and one card")
    return units


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def whole_second(instant: datetime) -> datetime:
    """The second an instant lies in, in UTC."""
    return instant.astimezone(UTC).replace(microsecond=0)


def epoch_second(instant: datetime) -> int:
    """Seconds since 1970 UTC, rounded down."""
    return (instant - _EPOCH) // _SECOND


def cut(whole: Span, at: Iterable[datetime]) -> list[Span]:
    """The span in consecutive pieces, divided at every given instant inside it, in time order.

    An instant on a boundary belongs to the later piece only (B24). The pieces add up to the whole, whatever is given.
    """
    inside = sorted({whole_second(instant) for instant in at if whole.start < whole_second(instant) < whole.end})
    return [Span(start, end) for start, end in pairwise([whole.start, *inside, whole.end])]


def within(whole: Span, start: datetime, end: datetime) -> Span | None:
    """The part of the span inside [start, end); None when they do not meet."""
    first, last = max(whole.start, whole_second(start)), min(whole.end, whole_second(end))
    return Span(first, last) if first < last else None


def midnights(whole: Span, zone: tzinfo) -> list[datetime]:
    """UTC instants inside the span at which a local day of the zone begins, in order; days may last 23 to 25 hours."""
    found = []
    day = local_day(whole.start, zone) + timedelta(days=1)
    while (midnight := day_start(day, zone)) < whole.end:
        if midnight > whole.start:
            found.append(midnight)
        day += timedelta(days=1)
    return found


def local_day(instant: datetime, zone: tzinfo) -> date:
    """The calendar day of the zone that the instant lies in."""
    return instant.astimezone(zone).date()


def day_start(day: date, zone: tzinfo) -> datetime:
    """The UTC instant a local day begins at; where midnight is skipped, the instant the clock jumps."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


class Month(NamedTuple):
    """A calendar month. It becomes a span of time only together with a zone."""

    year: int
    month: int

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.month:02d}"

    @property
    def next(self) -> "Month":
        """The month after this one."""
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    def start(self, zone: tzinfo) -> datetime:
        """The UTC instant the month begins at in the zone (B30); its end is the next month's start."""
        return day_start(date(self.year, self.month, 1), zone)

    @classmethod
    def parse(cls, text: str) -> "Month":
        """From `YYYY-MM`, within the years of instants; raises ValueError."""
        found = _MONTH.match(text)
        if not found:
            raise ValueError(f"{text[:20]!r} is not a month like 2026-04")
        if not EARLIEST.year <= int(found["year"]) < LATEST.year:
            raise ValueError(f"{text} is not a month from {EARLIEST.year}-01 to {LATEST.year - 1}-12")
        return cls(int(found["year"]), int(found["month"]))

    @classmethod
    def of(cls, instant: datetime, zone: tzinfo) -> "Month":
        """The month an instant lies in, as the zone's calendar has it."""
        local = instant.astimezone(zone)
        return cls(local.year, local.month)


@dataclass(frozen=True, slots=True)
class CardTime:
    """Where the time of a set of cards went, in 1/7000 card x seconds; the three parts partition the total (B11)."""

    allocated: int
    down: int
    idle: int

    @property
    def total(self) -> int:
        """All card-time there was."""
        return self.allocated + self.down + self.idle

    def __add__(self, other: "CardTime") -> "CardTime":
        return CardTime(self.allocated + other.allocated, self.down + other.down, self.idle + other.idle)


def account(exists: Iterable[Span], held: Iterable[tuple[Span, int]], down: Iterable[Span]) -> CardTime:
    """Account for every second of one card: held shares first, then out of service, and the rest idle.

    `held` pairs a span with its 1/7000 shares. Raises ValueError where more of the card was held than there is.
    """
    changes = sorted(_changes(exists, held, down))
    allocated = out = idle = 0
    present = shares = stopped = 0
    for (instant, change), (following, _) in pairwise(changes):
        present, shares, stopped = present + change[0], shares + change[1], stopped + change[2]
        seconds = (following - instant) // _SECOND
        if not seconds:
            continue
        capacity = UNITS_PER_CARD if present else 0
        if shares > capacity:
            raise ValueError(f"{shares}/{UNITS_PER_CARD} of a card held at {instant.isoformat()}, of {capacity}")
        allocated += shares * seconds
        if stopped:
            out += (capacity - shares) * seconds
        else:
            idle += (capacity - shares) * seconds
    return CardTime(allocated, out, idle)


def _changes(
    exists: Iterable[Span], held: Iterable[tuple[Span, int]], down: Iterable[Span]
) -> Iterator[tuple[datetime, tuple[int, int, int]]]:
    """(instant, change of (present, shares, stopped)) of every edge."""
    edges = [(piece, (1, 0, 0)) for piece in exists]
    edges += [(piece, (0, share, 0)) for piece, share in held]
    edges += [(piece, (0, 0, 1)) for piece in down]
    for piece, (present, share, stopped) in edges:
        yield piece.start, (present, share, stopped)
        yield piece.end, (-present, -share, -stopped)
