"""How old the numbers on a page are: the last cycle, by business time and by wall time, and whether the cluster answers."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from berth.common import clock
from scheduling.models import Cycle
from tenants.models import Cluster

DELAYED_AFTER = timedelta(seconds=30)
STALE_AFTER = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Freshness:
    """`as_of` is business time, `checked_at` wall time of the same cycle; state is live, delayed, stale or unreachable."""

    as_of: datetime
    checked_at: datetime
    cycle: int | None
    time_scale: int
    state: str


def current_freshness() -> Freshness:
    """Of the last cycle that did not fail; before the first one, of now."""
    cycle = Cycle.objects.filter(failed=False).order_by("-id").only("id", "at", "wall_at").first()
    unreachable = Cluster.objects.filter(reachable=False).exists()
    scale = clock.scale()
    if cycle is None:
        return Freshness(clock.now(), clock.wall_now(), None, scale, "unreachable" if unreachable else "live")
    age = clock.wall_now() - cycle.wall_at
    state = "stale" if age > STALE_AFTER else "delayed" if age > DELAYED_AFTER else "live"
    return Freshness(cycle.at, cycle.wall_at, cycle.pk, scale, "unreachable" if unreachable else state)


def reaching(freshness: Freshness, at: datetime) -> Freshness:
    """Of a page that shows something newer than the last cycle, a job just submitted: as of that, and of no cycle yet."""
    return replace(freshness, as_of=at, cycle=None) if at > freshness.as_of else freshness
