"""Sends admitted runs to their clusters after commit, in slices of at most two seconds, outside any transaction (section 6, step 5).

Names are deterministic, so sending twice makes one gang. A create that may have happened is read before it is repeated; a refusal
sends the job back with the cluster's own words and blocks nobody else.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from berth.common import clock
from scheduling.cluster.manifests import ManifestError, build_run
from scheduling.cluster.port import (
    ClusterPort,
    ClusterUnreachableError,
    RefusalCode,
    ResultKind,
    RunManifests,
    RunResult,
    WriteResult,
)
from scheduling.cluster.run_spec import RunSpec
from scheduling.control.clusters import port_of
from scheduling.control.ending import RunEnd, end_run
from scheduling.control.lock import Leadership
from scheduling.control.run_specs import read_run_specs, token_digest
from scheduling.models import Job, Pod, Run
from scheduling.states import EndReason, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops, hold_epoch, move_runs

logger = logging.getLogger(__name__)
SLICE_S = 2.0
CALL_TIMEOUT_S = 2.0
BATCH = 200
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
KNOWN = (ResultKind.CREATED, ResultKind.EXISTS)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of one run: `result` from the cluster, or `problem` where it could not even be sent."""

    run: Run
    result: RunResult | None = None
    problem: str = ""


@dataclass(slots=True)
class Dispatcher:
    """One process's memory between slices: clusters to leave alone for a while, runs whose create may have happened."""

    _pauses: dict[int, tuple[float, int]] = field(default_factory=dict)
    _unsure: set[int] = field(default_factory=set)

    def dispatch(self, leadership: Leadership, renew: Callable[[], None]) -> int:
        """Send every admitted run; returns how many were answered. `renew` is called between slices and raises if the lead is gone."""
        answered, after = 0, 0
        while runs := self._next_runs(after):
            after = runs[-1].pk
            specs = read_run_specs(runs)
            queue = list(runs)
            while queue:
                answers = self._send_slice(queue, specs)
                _record(answers, leadership)
                answered += len(answers)
                renew()
        return answered

    def _next_runs(self, after: int) -> list[Run]:
        paused = [pk for pk, (until, _count) in self._pauses.items() if until > clock.monotonic()]
        rows = Run.objects.filter(pk__gt=after, state=RunState.ADMITTED.value).exclude(cluster_id__in=paused)
        return list(rows.select_related("job__tenant", "job__queue", "cluster").order_by("pk")[:BATCH])

    def _send_slice(self, queue: list[Run], specs: dict[int, RunSpec]) -> list[_Answer]:
        """Take runs off `queue` for at most one slice's time."""
        answers: list[_Answer] = []
        deadline = clock.monotonic() + SLICE_S
        while queue and clock.monotonic() < deadline:
            run = queue.pop(0)
            if self._pauses.get(run.cluster_id, (0.0, 0))[0] > clock.monotonic():
                continue
            answer = self._send(run, specs[run.pk])
            if answer is not None:
                answers.append(answer)
        return answers

    def _send(self, run: Run, spec: RunSpec) -> _Answer | None:
        """One run; None when nothing was learnt and it has to be tried again."""
        try:
            manifests = build_run(spec)
        except ManifestError as error:
            return _Answer(run, problem=str(error))
        port = port_of(run.cluster)
        result = self._read_first(port, manifests) if run.pk in self._unsure else None
        if result is None:
            result = port.create_run(manifests, timeout_s=CALL_TIMEOUT_S)
        self._note(run, result)
        if result.whole or _is_final(result):
            return _Answer(run, result)
        return None

    def _read_first(self, port: ClusterPort, manifests: RunManifests) -> RunResult | None:
        """A create that may have happened: whole as read, or None where something has to be made."""
        try:
            pods = port.read_run(manifests.namespace, manifests.name, timeout_s=CALL_TIMEOUT_S)
        except ClusterUnreachableError:
            return None
        found = {pod.key.name: pod.uid for pod in pods}
        names = [str(document["metadata"]["name"]) for document in manifests.pods]
        if set(names) - set(found):
            return None
        service = WriteResult(ResultKind.EXISTS, manifests.name)
        return RunResult(service, tuple(WriteResult(ResultKind.EXISTS, name, uid=found[name]) for name in names))

    def _note(self, run: Run, result: RunResult) -> None:
        """Remember what is unsure, and leave a cluster alone that does not answer or asks for it."""
        kinds = {answer.kind for answer in (result.service, *result.pods)}
        self._unsure.discard(run.pk)
        if ResultKind.UNKNOWN in kinds:
            self._unsure.add(run.pk)
        refusal = result.refusal
        throttled = refusal is not None and refusal.code is RefusalCode.THROTTLED
        silent = result.service.kind is ResultKind.UNKNOWN
        if ResultKind.UNREACHABLE not in kinds and not throttled and not silent:
            self._pauses.pop(run.cluster_id, None)
            return
        failures = self._pauses.get(run.cluster_id, (0.0, 0))[1]
        pause = min(FIRST_PAUSE_S * 2**failures, LONGEST_PAUSE_S)
        asked = float(refusal.retry_after_s or 0) if refusal is not None else 0.0
        self._pauses[run.cluster_id] = (clock.monotonic() + max(pause, asked), failures + 1)
        logger.warning("cluster paused cluster=%s seconds=%s run=%s", run.cluster.name, max(pause, asked), run.pk)


def _is_final(result: RunResult) -> bool:
    """A refusal that trying again at once would not change."""
    return result.refusal is not None and result.refusal.code is not RefusalCode.THROTTLED


def _record(answers: Sequence[_Answer], leadership: Leadership) -> None:
    """One transaction a slice, under the epoch: uids of what was made, and the way back for what was refused."""
    if not answers:
        return
    now = clock.now()
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        made = {
            (answer.run.pk, pod.name): pod.uid
            for answer in answers
            if answer.result is not None
            for pod in answer.result.pods
            if pod.kind in KNOWN and pod.uid
        }
        _record_uids(made, now)
        whole = [answer.run.pk for answer in answers if answer.result is not None and answer.result.whole]
        cause = Cause(reason="dispatched", at=now, epoch=leadership.epoch)
        for run_id in whole:
            Run.objects.filter(pk=run_id).update(token_digest=token_digest(run_id))
        move_runs(whole, old=(RunState.ADMITTED,), new=RunState.STARTING, cause=cause, changes={"dispatched_at": now})
        for answer in answers:
            if answer.result is None or not answer.result.whole:
                _send_back(answer, now, leadership)


def _record_uids(made: dict[tuple[int, str], str], now: datetime) -> None:
    pods = list(Pod.objects.filter(run_id__in={run for run, _name in made}, uid=""))
    changed = [pod for pod in pods if (pod.run_id, pod.name) in made]
    for pod in changed:
        pod.uid, pod.phase, pod.created_at = made[pod.run_id, pod.name], Pod.Phase.PENDING, now
    Pod.objects.bulk_update(changed, ["uid", "phase", "created_at"], batch_size=500)


def _send_back(answer: _Answer, now: datetime, leadership: Leadership) -> None:
    """Refused: the job waits with `backoff` and the cluster's own words. Pods that were made are taken down first (F05, F06)."""
    refusal = None if answer.result is None else answer.result.refusal
    message = answer.problem if refusal is None else f"{refusal.code}: {refusal.message}"
    cause = Cause(reason="refused", at=now, message=message, epoch=leadership.epoch)
    Run.objects.filter(pk=answer.run.pk).update(end_message=message[:1000])
    pods_made = answer.result is not None and any(pod.kind is not ResultKind.REFUSED for pod in answer.result.pods)
    if pods_made:
        begin_stops([answer.run.pk], stop_reason=EndReason.PLATFORM_FAULT, grace=CANCEL_GRACE, cause=cause)
        return
    if answer.result is None:
        Job.objects.filter(pk=answer.run.job_id).update(planner_faults=answer.run.job.planner_faults + 1)
    wait = None if refusal is None or not refusal.retry_after_s else timedelta(seconds=refusal.retry_after_s)
    backoff = None if wait is None else wait * clock.scale()
    end_run(RunEnd(answer.run.pk, EndReason.PLATFORM_FAULT, message, backoff=backoff), now=now, cause=cause)
