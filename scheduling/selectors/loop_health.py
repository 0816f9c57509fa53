"""Whether the control loop lives: who leads, when a cycle last finished, when each cluster last answered. For probes and metrics."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models.functions import Now

from berth.common import clock
from scheduling.models import SchedulerEpoch
from tenants.models import Cluster


@dataclass(frozen=True, slots=True)
class LoopHealth:
    """Ages are wall seconds; None means never. `leader` is None while nobody's lease runs, by the database's clock."""

    leader: str | None
    epoch: int
    cycle_age_s: float | None
    clusters: dict[str, float | None]


def loop_health() -> LoopHealth:
    """Two queries, and a third where the clock's anchor is not known yet."""
    row = SchedulerEpoch.objects.annotate(at=Now()).order_by("name").first()
    # A list is dated in business time, which may run faster than the wall clock.
    listed = Cluster.objects.order_by("name").values_list("name", "last_listed_at")
    ages = {name: _age(at, clock.now(), clock.scale()) for name, at in listed}
    if row is None:
        return LoopHealth(None, 0, None, ages)
    leads = row.lease_until is not None and row.lease_until > row.at
    return LoopHealth(row.holder if leads else None, row.epoch, _age(row.last_cycle_at, row.at), ages)


def _age(since: datetime | None, at: datetime, scale: int = 1) -> float | None:
    return None if since is None else round(max(0.0, (at - since).total_seconds() / scale), 1)
