"""Takes pods down: of runs that were asked to stop, within their grace, by force 30 s after it; and what ended runs left behind.

Asked again every few seconds until the pods are gone; an adapter never lengthens a grace by that (F31). Outside any transaction.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from berth.common import clock
from scheduling.cluster import names
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, PodObservation
from scheduling.control.clusters import port_of
from scheduling.control.lock import Leadership
from scheduling.control.log_keeping import LogKeeper
from scheduling.control.observed import POD, gone_document
from scheduling.models import Observation, Pod, Preemption, Run
from scheduling.states import RunState
from scheduling.transitions import hold_epoch

logger = logging.getLogger(__name__)
ASK_AGAIN_S = 10.0
CALL_TIMEOUT_S = 2.0
BUDGET_S = 5.0
FORCE_AFTER = timedelta(seconds=30)
FENCE_GRACE_S = 5
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(slots=True)
class TakeDown:
    """One process's memory of what it asked for and when, by its monotonic clock."""

    logs: LogKeeper = field(default_factory=LogKeeper)
    _asked: dict[int, float] = field(default_factory=dict)

    def take_down(self, leadership: Leadership, ended: Iterable[int]) -> int:
        """Ask what has to go to go; `ended` are runs that ended just now. Returns how many runs were asked."""
        asked, deadline = 0, clock.monotonic() + BUDGET_S
        for run in _runs_to_take_down(ended):
            if clock.monotonic() >= deadline:
                break
            if self._is_fresh(run):
                continue
            try:
                self._take_one(run, port_of(run.cluster), leadership)
            except ClusterUnreachableError as error:
                logger.warning("cannot take down run=%s cluster=%s error=%s", run.pk, run.cluster.name, error.message)
                continue
            self._asked[run.pk] = clock.monotonic()
            asked += 1
        return asked

    def _is_fresh(self, run: Run) -> bool:
        """Asked a moment ago, and nothing has become due since."""
        asked = self._asked.get(run.pk)
        if asked is None or clock.monotonic() - asked >= ASK_AGAIN_S:
            return False
        return not _force_is_due(run, clock.now())

    def _take_one(self, run: Run, port: ClusterPort, leadership: Leadership) -> None:
        name = names.run_name(run.job_id, run.number)
        if run.state == RunState.ENDED:
            for pod in port.read_run(run.namespace, name, timeout_s=CALL_TIMEOUT_S):
                if not pod.phase.ended:
                    port.delete_pod(pod.key, uid=pod.uid, grace_s=FENCE_GRACE_S, timeout_s=CALL_TIMEOUT_S)
            port.delete_run(run.namespace, name, timeout_s=CALL_TIMEOUT_S)
            return
        there = port.read_run(run.namespace, name, timeout_s=CALL_TIMEOUT_S)
        _tell_absent(run, there)
        now = clock.now()
        if _force_is_due(run, now) and _note_force(run, now, leadership):
            for pod in there:
                port.force_delete_pod(pod.key, uid=pod.uid, timeout_s=CALL_TIMEOUT_S)
            return
        self.logs.listen(run, port, there)
        _stop_pods(run, port, there, now, warn=run.pk not in self._asked)


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


def _stop_pods(run: Run, port: ClusterPort, there: Iterable[PodObservation], now: datetime, *, warn: bool) -> None:
    """SIGTERM with what is left of the grace; an eviction says so on the pod first."""
    left_s = max(0, int(((run.grace_until or now) - now).total_seconds()))
    preemption = Preemption.objects.filter(run=run).first() if warn else None
    for pod in there:
        if preemption is not None:
            notice = {
                names.EVICT_REASON: preemption.reason,
                names.EVICT_UNTIL: preemption.grace_until.isoformat(),
            }
            port.annotate_pod(
                pod.key, uid=pod.uid, annotations=notice, condition=names.EVICTED_CONDITION, timeout_s=CALL_TIMEOUT_S
            )
        port.delete_pod(pod.key, uid=pod.uid, grace_s=max(1, left_s), timeout_s=CALL_TIMEOUT_S)


def _tell_absent(run: Run, there: Iterable[PodObservation]) -> None:
    """Pods that were planned and never made: nothing is to be waited for (F37)."""
    found = {pod.key.name for pod in there}
    absent = [pod for pod in Pod.objects.filter(run=run, uid="", phase=Pod.Phase.PLANNED) if pod.name not in found]
    Observation.objects.bulk_create(
        Observation(
            at=clock.now(),
            cluster_id=run.cluster_id,
            kind=POD,
            name=pod.name,
            uid="",
            document=gone_document(run.namespace, None),
        )
        for pod in absent
    )


def _force_is_due(run: Run, now: datetime) -> bool:
    if run.state != RunState.STOPPING or run.force_deleted_at is not None or run.grace_until is None:
        return False
    return now >= run.grace_until + FORCE_AFTER


def _note_force(run: Run, now: datetime, leadership: Leadership) -> bool:
    """Once, and written down before it is done (F28)."""
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        rows = Run.objects.filter(pk=run.pk, state=RunState.STOPPING.value, force_deleted_at__isnull=True)
        return bool(rows.update(force_deleted_at=now))
