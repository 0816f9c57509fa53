"""A small platform with its loop, for tests that say what happens and look at what came of it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berth.common import clock
from scheduling.cluster.faults import FaultKind, FaultRule
from scheduling.cluster.port import PodObservation
from scheduling.control.clusters import port_of
from scheduling.control.loop import Loop, Turn
from scheduling.control.observe import Observer
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.control.simulated_nodes import furnish_simulated_clusters
from scheduling.models import (
    Job,
    Lease,
    LeaseSegment,
    Node,
    Run,
)
from tenants.models import Flavor, Queue
from tests.factories import a_cohort, a_flavor, a_job, a_node, a_pool, a_queue, a_quota, a_tenant

MORNING = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)


class Scene:
    """One pool of one flavor on one simulated cluster; `loop` and `observer` are one process's."""

    def __init__(self, clocks: ExitStack) -> None:
        self._clocks = clocks
        self._wall_s = 0.0
        began = clock.wall_now()
        patch = pytest.MonkeyPatch()
        clocks.callback(patch.undo)
        patch.setattr(clock, "monotonic", lambda: 1_000.0 + self._wall_s)
        patch.setattr(clock, "wall_now", lambda: began + timedelta(seconds=self._wall_s))
        self.flavor: Flavor = a_flavor(pool=a_pool())
        self.cluster = self.flavor.pool.cluster
        self.cohort = a_cohort()
        self.loop = Loop(holder="first")
        self.observer = Observer()

    @classmethod
    @contextmanager
    def opened(cls, at: datetime = MORNING) -> Iterator["Scene"]:
        """A scene at ten in the morning, or at an instant of choice."""
        with ExitStack() as clocks:
            clocks.enter_context(clock.frozen_at(at))
            yield cls(clocks)

    # --- the world ---

    def pass_time(self, seconds: float) -> None:
        """Let business time go on."""
        self._clocks.enter_context(clock.frozen_at(clock.now() + timedelta(seconds=seconds)))

    def pass_wall(self, seconds: float) -> None:
        """Let wall time go on as well, as heartbeats and time-outs see it, and business time with it."""
        self._wall_s += seconds
        self.pass_time(seconds)

    def add_nodes(self, count: int = 1, **fields: Any) -> list[Node]:
        """Nodes of eight cards, also in the simulated cluster."""
        nodes = [a_node(flavor=self.flavor, **fields) for _ in range(count)]
        furnish_simulated_clusters()
        return nodes

    def a_queue(self, nominal: int, *, tier: str = "production", **limits: Any) -> Queue:
        """A queue of a new tenant in the scene's cohort with `nominal` cards."""
        queue = a_queue(tenant=a_tenant(cohort=self.cohort), pool=self.flavor.pool, default_tier=tier)
        a_quota(queue, flavor=self.flavor, nominal=nominal, **limits)
        return queue

    def submit(
        self, queue: Queue, *, cards: int | str = 8, replicas: int = 1, seconds: float | None = 60, **fields: Any
    ) -> Job:
        """A queued job that runs for `seconds` (None: until stopped)."""
        labels: dict[str, str] = dict(fields.pop("labels", {}))
        if seconds is not None:
            labels["berth.dev/sim-duration"] = str(seconds)
        size = f"{fields.get('minimum', replicas)}-{replicas}/{fields.get('elastic_step')}/{fields.get('elastic_cooldown_s')}"
        shape = f"{cards}x{size}@{queue.pk}"
        return a_job(queue, flavor=self.flavor, gpu=cards, replicas=replicas, labels=labels, shape_key=shape, **fields)

    @property
    def port(self) -> SimulatedCluster:
        found = port_of(self.cluster)
        assert isinstance(found, SimulatedCluster)
        return found

    def plan_fault(self, operation: str, kind: FaultKind, **more: Any) -> None:
        """Let the next fitting call of the cluster go wrong."""
        self.port.faults.add(FaultRule(0, operation, kind, **more))

    # --- the platform ---

    def look(self) -> int:
        """One look of the observer."""
        return self.observer.observe(type(self.cluster).objects.get(pk=self.cluster.pk))

    def turn(self) -> Turn:
        """One turn of the loop, which has to lead."""
        turn = self.loop.turn()
        assert turn is not None, "somebody else leads"
        return turn

    def go_on(self, seconds: float = 1) -> Turn:
        """Time passes, somebody looks, the loop turns."""
        self.pass_time(seconds)
        self.look()
        return self.turn()

    # --- what came of it ---

    def states(self, *jobs: Job) -> list[str]:
        """The jobs' states, in order."""
        found = Job.objects.in_bulk([job.pk for job in jobs])
        return [found[job.pk].state for job in jobs]

    def run_of(self, job: Job) -> Run:
        """The job's latest run."""
        return Run.objects.filter(job=job).latest("number")

    def pods_there(self) -> dict[str, PodObservation]:
        """Pods in the cluster by name."""
        return {pod.key.name: pod for pod in self.port.list_pods(timeout_s=2).items}

    def open_cards(self, **where: Any) -> int:
        """Whole cards held by open leases."""
        return Lease.objects.filter(closed_at__isnull=True, card__isnull=False, **where).count()

    def segments(self, run: Run) -> list[tuple[str, float, float, int]]:
        """(kind, start and end in seconds after the morning, cards) of a run's segments, in time order."""
        sums: dict[tuple[str, float, float], int] = {}
        for segment in LeaseSegment.objects.filter(lease__run=run):
            key = (segment.kind, _after(segment.during.lower), _after(segment.during.upper))
            sums[key] = sums.get(key, 0) + 1
        return sorted((kind, start, end, cards) for (kind, start, end), cards in sums.items())


def _after(at: datetime) -> float:
    return (at - MORNING).total_seconds()
