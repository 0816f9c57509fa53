"""The only reader of the clock (STYLE rule 10). Business time may run faster than wall time in simulated mode (DESIGN section 6).

`now()` is for submit, grace, loans, leases, periods and statements. `wall_now()` is for sessions, tokens, rate limits, epochs.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

ANCHOR_CACHE_S = 2.0
"""How long a process trusts its copy of the anchor; the anchor moves only when a stopped platform starts again."""


@dataclass(frozen=True, slots=True)
class Anchor:
    business_at: datetime
    wall_at: datetime
    scale: int

    def at(self, wall: datetime) -> datetime:
        return self.business_at + (wall - self.wall_at) * self.scale


_frozen: ContextVar[datetime | None] = ContextVar("berth_frozen_clock", default=None)
_cached: tuple[float, Anchor] | None = None


def wall_now() -> datetime:
    """Wall time, aware UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds of this process's monotonic clock: for time-outs and signs of life, never for bills."""
    return time.monotonic()


def now() -> datetime:
    """Business time, aware UTC: the stored anchor plus wall time elapsed × scale. Wall time where no anchor is stored."""
    frozen = _frozen.get()
    if frozen is not None:
        return frozen
    return _anchor().at(wall_now())


def scale() -> int:
    """Business seconds per wall second; 1 against a real cluster."""
    return _anchor().scale


def is_simulated() -> bool:
    """Whether pages must say "simulated ×N"."""
    return bool(settings.BERTH_CLUSTER == "simulated")


@contextmanager
def frozen_at(at: datetime) -> Iterator[None]:
    """Hold business time still inside the block: how the demo's past and tests run at an instant of their choice."""
    token = _frozen.set(at.astimezone(UTC))
    try:
        yield
    finally:
        _frozen.reset(token)


def resume(*, scale: int) -> Anchor:
    """Start business time where it stopped (the last heartbeat), at `scale`: stopped time does not pass."""
    from berth.common.models import ClockAnchor

    wall = wall_now()
    with transaction.atomic():
        row = ClockAnchor.objects.select_for_update().filter(id=1).first()
        business = wall
        if row is not None:
            business = Anchor(row.business_at, row.wall_at, row.scale).at(min(row.seen_wall_at, wall))
        if scale == 1 and not is_simulated():
            business = wall
        ClockAnchor.objects.update_or_create(
            id=1, defaults={"business_at": business, "wall_at": wall, "seen_wall_at": wall, "scale": scale}
        )
    forget()
    return _anchor()


def set_business_time(at: datetime, *, scale: int) -> None:
    """Anchor business time at an instant of choice (loading a demo); refuses nothing, callers own the consequence."""
    from berth.common.models import ClockAnchor

    wall = wall_now()
    ClockAnchor.objects.update_or_create(
        id=1, defaults={"business_at": at, "wall_at": wall, "seen_wall_at": wall, "scale": scale}
    )
    forget()


def heartbeat() -> None:
    """Record that business time has run until now; after a crash it resumes here."""
    from berth.common.models import ClockAnchor

    ClockAnchor.objects.filter(id=1, seen_wall_at__lt=wall_now()).update(seen_wall_at=wall_now())


def forget() -> None:
    """Drop this process's copy of the anchor."""
    global _cached  # noqa: PLW0603 - one cache a process
    _cached = None


def wall_delay(business: timedelta) -> timedelta:
    """How much wall time passes while `business` time does."""
    return business / scale()


def _anchor() -> Anchor:
    global _cached  # noqa: PLW0603 - one cache a process
    at = monotonic()
    if _cached is not None and at - _cached[0] < ANCHOR_CACHE_S:
        return _cached[1]
    from berth.common.models import ClockAnchor

    row = ClockAnchor.objects.filter(id=1).first()
    wall = wall_now()
    anchor = Anchor(wall, wall, 1) if row is None else Anchor(row.business_at, row.wall_at, row.scale)
    _cached = (at, anchor)
    return anchor
