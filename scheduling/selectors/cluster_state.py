"""The whole platform at a glance: pools and how full they are, what waits and why, how fast jobs get in, whether it is degraded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from django.db.models import Count, Min, Sum

from berth.common import clock
from scheduling.models import Cycle, Job, Node, WaitReason
from scheduling.selectors.freshness import Freshness, current_freshness
from scheduling.selectors.pool_load import PoolLoad, pool_loads
from scheduling.states import JobState
from tenants.models import Pool, User

RATE_WINDOW = timedelta(hours=1)
HELD_AFTER_WALL = timedelta(seconds=27)
"""A node without a sign of life for longer would be lost by now, if only as many as usual were."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """`admission_per_hour` over the last hour of business time that cycles are kept of; None before the first cycle.

    `degraded` holds codes: `cluster-unreachable`, `decisions-late`, `nodes-lost`, `losses-held` (more nodes show no life than may be
    taken for lost at once, so that the network between us and them is the likelier fault).
    """

    as_of: datetime
    freshness: Freshness
    pools: tuple[PoolLoad, ...]
    jobs: Mapping[str, int]
    waiting: Mapping[str, int]
    admission_per_hour: Fraction | None
    degraded: tuple[str, ...]


def cluster_state(reader: User) -> ClusterState:
    """As `reader` may see it: shared pools and those of their own tenants. Twelve queries."""
    pools = pool_loads(list(Pool.objects.visible_to(reader).select_related("cluster").order_by("name", "id")))
    freshness = current_freshness()
    live = [state.value for state in JobState if state.value not in {"succeeded", "failed", "cancelled"}]
    jobs = dict(Job.objects.filter(state__in=live).values_list("state").annotate(n=Count("pk")).order_by("state"))
    waiting = dict(
        WaitReason.objects.filter(until__isnull=True, job__state=JobState.QUEUED.value)
        .values_list("code")
        .annotate(n=Count("pk"))
        .order_by("code")
    )
    return ClusterState(
        as_of=freshness.as_of,
        freshness=freshness,
        pools=tuple(pools),
        jobs=jobs,
        waiting=waiting,
        admission_per_hour=_admission(),
        degraded=_degraded(freshness),
    )


def _admission() -> Fraction | None:
    now = clock.now()
    found = Cycle.objects.filter(at__gt=now - RATE_WINDOW).aggregate(since=Min("at"), admitted=Sum("admitted"))
    if found["since"] is None:
        return None
    seconds = max(1, int((now - found["since"]).total_seconds()))
    return Fraction(found["admitted"] * 3600, seconds)


def _degraded(freshness: Freshness) -> tuple[str, ...]:
    codes = []
    if freshness.state == "unreachable":
        codes.append("cluster-unreachable")
    if freshness.state in {"delayed", "stale"}:
        codes.append("decisions-late")
    if Node.objects.filter(state=Node.State.LOST).exists():
        codes.append("nodes-lost")
    dead_since = clock.now() - HELD_AFTER_WALL * freshness.time_scale
    if Node.objects.filter(state=Node.State.NOT_READY, last_sign_at__lte=dead_since).exists():
        codes.append("losses-held")
    return tuple(codes)
