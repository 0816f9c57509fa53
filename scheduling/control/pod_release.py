"""Asks pods to leave that a run goes on without (SCH-10): within their grace, by force 30 s after it. The run itself is left alone.

As with runs that stop, a pod that leaves already is not asked again, and what a turn has no time for is left to the next one.
Outside any transaction.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from berth.common import clock
from scheduling.cluster import names
from scheduling.cluster.port import ClusterPort, PodObservation
from scheduling.control.clusters import port_of
from scheduling.control.lock import Leadership
from scheduling.control.log_keeping import LogKeeper
from scheduling.control.pod_stops import Errand, Found, PodStop, find_pods, run_errands
from scheduling.control.take_down import ASK_AGAIN_S, FORCE_AFTER, OPEN_PHASES, REST_S, SAME_END, tell_absent
from scheduling.models import Pod, Run
from scheduling.states import RunState
from scheduling.transitions import hold_epoch

logger = logging.getLogger(__name__)
BUDGET_S = 3.0
GOES_ON = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)


@dataclass(slots=True)
class PodRelease:
    """One process's memory of the pods it asked and when, and of clusters that did not answer, by its monotonic clock."""

    _asked: dict[int, float] = field(default_factory=dict)
    _resting: dict[int, float] = field(default_factory=dict)

    def release(self, leadership: Leadership, logs: LogKeeper) -> int:
        """Ask those that are due; returns how many runs were asked for some."""
        began = clock.monotonic()
        pods = self._due(began, clock.now())
        if not pods:
            return 0
        runs = [run for run in _runs_of(pods) if self._resting.get(run.cluster_id, 0.0) <= began]
        ports = {run.pk: port_of(run.cluster) for run in runs}
        errands = []
        for found in find_pods([(run, ports[run.pk]) for run in runs], until=began + BUDGET_S / 2):
            errand = self._decide(found, pods[found.run.pk], ports[found.run.pk], leadership, logs)
            if errand is not None:
                errands.append(errand)
        done = run_errands([(errand, ports[errand.run.pk]) for errand in errands], until=began + BUDGET_S)
        self._asked |= {pod.pk: clock.monotonic() for run_id in done for pod in pods[run_id]}
        return len(done)

    def _due(self, began: float, now: datetime) -> dict[int, list[Pod]]:
        """By run: pods that were not asked a moment ago, or whose grace has been over for long since."""
        due: dict[int, list[Pod]] = defaultdict(list)
        leaving = Pod.objects.filter(released_at__isnull=False, phase__in=OPEN_PHASES, run__state__in=GOES_ON)
        rows = list(leaving.order_by("run_id", "rank", "pk"))
        self._asked = {pod.pk: self._asked[pod.pk] for pod in rows if pod.pk in self._asked}
        for pod in rows:
            asked = self._asked.get(pod.pk)
            forced_now = _is_force_due(pod, now) and pod.force_deleted_at is None
            if asked is None or forced_now or began - asked >= ASK_AGAIN_S:
                due[pod.run_id].append(pod)
        return due

    def _decide(
        self, found: Found, pods: Sequence[Pod], port: ClusterPort, leadership: Leadership, logs: LogKeeper
    ) -> Errand | None:
        """What to ask now; None where nothing was learnt, or where another leads."""
        run = found.run
        if found.there is None:
            logger.warning("cannot release pods run=%s cluster=%s error=%s", run.pk, run.cluster.name, found.error)
            self._resting[run.cluster_id] = clock.monotonic() + REST_S
            return None
        now = clock.now()
        there = {pod.key.name: pod for pod in found.there}
        tell_absent(run, [pod for pod in pods if pod.name not in there])
        mine = [(pod, there[pod.name]) for pod in pods if pod.name in there and pod.uid in ("", there[pod.name].uid)]
        by_force = [entry for entry in mine if _is_force_due(entry[0], now)]
        # Written down once, before it is done, as with whole runs (F28).
        if by_force and not _note_force([pod for pod, _seen in by_force], now, leadership):
            return None
        asked = [entry for entry in mine if entry not in by_force]
        logs.listen(run, port, [seen for _pod, seen in asked])
        stops = [stop for pod, seen in asked if (stop := _stop(pod, seen, now)) is not None]
        return Errand(run, (*stops, *(PodStop(seen, 0) for _pod, seen in by_force)))


def _runs_of(pods: dict[int, list[Pod]]) -> list[Run]:
    return list(Run.objects.filter(pk__in=pods).select_related("job", "cluster").order_by("pk"))


def _stop(pod: Pod, seen: PodObservation, now: datetime) -> PodStop | None:
    """SIGTERM with what is left of the grace; who leaves for others' sake is told so on the pod."""
    grace_s = max(1, int(((pod.leave_until or now) - now).total_seconds()))
    if seen.deletion_at is not None and seen.deletion_at <= now + timedelta(seconds=grace_s) + SAME_END:
        return None
    notice = None
    if pod.notice_at is not None and pod.leave_until is not None and seen.deletion_at is None:
        notice = {names.EVICT_REASON: pod.release_reason, names.EVICT_UNTIL: pod.leave_until.isoformat()}
    return PodStop(seen, grace_s, notice)


def _is_force_due(pod: Pod, now: datetime) -> bool:
    return pod.leave_until is not None and now >= pod.leave_until + FORCE_AFTER


def _note_force(pods: Sequence[Pod], now: datetime, leadership: Leadership) -> bool:
    """True while this process leads: a pod that is still there was not removed, whoever died over it."""
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        Pod.objects.filter(pk__in=[pod.pk for pod in pods], force_deleted_at__isnull=True).update(force_deleted_at=now)
    return True
