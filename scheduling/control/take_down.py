"""Takes pods down: of runs that were asked to stop, within their grace, by force 30 s after it; and what ended runs left behind.

A pod that leaves already is not asked again, so that asking neither begins a grace anew nor cuts it short (F31). Outside any
transaction; clusters, runs and pods are asked side by side, and what a turn has no time for is left to the next one.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from berth.common import clock
from berth.common.crash_points import pass_point
from scheduling.cluster import names
from scheduling.cluster.port import ClusterPort, PodObservation
from scheduling.control.clusters import port_of
from scheduling.control.lock import Leadership
from scheduling.control.log_keeping import LogKeeper
from scheduling.control.observed import POD, gone_document
from scheduling.control.pod_stops import Errand, Found, PodStop, find_pods, run_errands
from scheduling.models import Observation, Pod, Preemption, Run
from scheduling.states import RunState
from scheduling.transitions import hold_epoch

logger = logging.getLogger(__name__)
ASK_AGAIN_S = 10.0
READ_BUDGET_S, BUDGET_S = 2.0, 6.0
REST_S = 2.0
"""How long a cluster that did not answer is left alone: the others' turns must not wait for it every time."""
FORCE_AFTER = timedelta(seconds=30)
FENCE_GRACE = timedelta(seconds=2)
"""A gang that lost a node may need the cards of its other pods to be placed anew within 30 s, of which 25 are gone by now."""
SAME_END = timedelta(seconds=2)
"""Two ends of a grace this near are one: clusters count in whole seconds."""
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(slots=True)
class TakeDown:
    """One process's memory of what it asked for and when, and of clusters that did not answer, by its monotonic clock."""

    logs: LogKeeper = field(default_factory=LogKeeper)
    _owed: set[int] = field(default_factory=set)
    """Ended runs whose objects are not removed yet; the sweep finds those that a process forgets by dying."""
    _asked: dict[int, float] = field(default_factory=dict)
    _resting: dict[int, float] = field(default_factory=dict)

    def take_down(self, leadership: Leadership, ended: Iterable[int]) -> int:
        """Ask what has to go to go; `ended` are runs that ended just now. Returns how many runs were asked."""
        began = clock.monotonic()
        for run_id in ended:
            self._owed.add(run_id)
            self._asked.pop(run_id, None)
        runs = [run for run in _runs_to_take_down(self._owed) if not self._is_to_wait(run, began)]
        ports = {run.pk: port_of(run.cluster) for run in runs}
        found = find_pods([(run, ports[run.pk]) for run in runs], until=began + READ_BUDGET_S)
        errands = []
        for each in found:
            # Opening logs takes its time; whoever is left over comes first in the next turn.
            errand = (
                self._decide(each, ports[each.run.pk], leadership) if clock.monotonic() < began + BUDGET_S / 2 else None
            )
            if errand is not None:
                errands.append(errand)
        done = run_errands([(errand, ports[errand.run.pk]) for errand in errands], until=began + BUDGET_S)
        self._asked |= dict.fromkeys(done, clock.monotonic())
        self._owed -= done
        return len(done)

    def _is_to_wait(self, run: Run, now: float) -> bool:
        """Asked a moment ago, and nothing has become due since; or its cluster did not answer a moment ago."""
        if self._resting.get(run.cluster_id, 0.0) > now:
            return True
        asked = self._asked.get(run.pk)
        if asked is None or now - asked >= ASK_AGAIN_S:
            return False
        return run.force_deleted_at is not None or not _is_force_due(run, clock.now())

    def _decide(self, found: Found, port: ClusterPort, leadership: Leadership) -> Errand | None:
        """What to ask now of what was found; None where nothing was learnt, or where another leads."""
        run, there = found.run, found.there
        if there is None:
            logger.warning("cannot take down run=%s cluster=%s error=%s", run.pk, run.cluster.name, found.error)
            self._resting[run.cluster_id] = clock.monotonic() + REST_S
            return None
        now = clock.now()
        if run.state == RunState.ENDED:
            live = [pod for pod in there if not pod.phase.ended]
            return Errand(run, _stops(live, until=now + FENCE_GRACE, now=now), with_owner=True)
        found_names = {pod.key.name for pod in there}
        planned = Pod.objects.filter(run=run, uid="", phase=Pod.Phase.PLANNED)
        tell_absent(run, [pod for pod in planned if pod.name not in found_names])
        if _is_force_due(run, now):
            # Written down once, before it is done; a pod that is still there was not removed, whoever died over it (F28).
            if run.force_deleted_at is None and not _note_force(run, now, leadership):
                return None
            pass_point("force-noted")
            return Errand(run, tuple(PodStop(pod, 0) for pod in there))
        pass_point("stopping")
        self.logs.listen(run, port, there)
        return Errand(run, _stops(there, until=run.grace_until or now, now=now, notice=_notice(run)))


def _runs_to_take_down(ended: Iterable[int]) -> list[Run]:
    """Stopping runs, those that ended just now, and ended ones of which pods are left (a fenced run's)."""
    stopping = set(Run.objects.filter(state=RunState.STOPPING.value).values_list("pk", flat=True))
    left = set(
        Pod.objects.filter(phase__in=OPEN_PHASES, run__state=RunState.ENDED.value)
        .exclude(uid="")
        .values_list("run_id", flat=True)
    )
    rows = Run.objects.filter(pk__in=stopping | left | set(ended))
    return list(rows.select_related("job", "cluster").order_by("pk"))


def _stops(
    pods: Iterable[PodObservation], *, until: datetime, now: datetime, notice: dict[str, str] | None = None
) -> tuple[PodStop, ...]:
    """SIGTERM with what is left of the grace, for pods that do not leave by then already; an eviction says so on the pod first."""
    grace_s = max(1, int((until - now).total_seconds()))
    end = now + timedelta(seconds=grace_s)
    return tuple(
        PodStop(pod, grace_s, None if pod.deletion_at is not None else notice)
        for pod in pods
        if pod.deletion_at is None or pod.deletion_at > end + SAME_END
    )


def _notice(run: Run) -> dict[str, str] | None:
    preemption = Preemption.objects.filter(run=run).first()
    if preemption is None:
        return None
    return {names.EVICT_REASON: preemption.reason, names.EVICT_UNTIL: preemption.grace_until.isoformat()}


def tell_absent(run: Run, pods: Iterable[Pod]) -> None:
    """Of pods that the cluster does not have: those that were planned and never made are not to be waited for (F37)."""
    Observation.objects.bulk_create(
        Observation(
            at=clock.now(),
            cluster_id=run.cluster_id,
            kind=POD,
            name=pod.name,
            uid="",
            document=gone_document(run.namespace, None),
        )
        for pod in pods
        if not pod.uid and pod.phase == Pod.Phase.PLANNED
    )


def _is_force_due(run: Run, now: datetime) -> bool:
    return run.state == RunState.STOPPING and run.grace_until is not None and now >= run.grace_until + FORCE_AFTER


def _note_force(run: Run, now: datetime, leadership: Leadership) -> bool:
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        rows = Run.objects.filter(pk=run.pk, state=RunState.STOPPING.value, force_deleted_at__isnull=True)
        return bool(rows.update(force_deleted_at=now))
