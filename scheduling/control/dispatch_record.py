"""Writes down what became of runs that were sent: one transaction a slice, under the epoch. Calls no cluster."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from berth.common import clock
from berth.common.crash_points import pass_point
from berth.common.updating import update_rows
from scheduling.cluster.port import ResultKind
from scheduling.control.dispatch_lane import Answer
from scheduling.control.ending import RunEnd, end_run
from scheduling.control.lock import Leadership
from scheduling.models import Job, Pod, Run
from scheduling.states import EndReason, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops, hold_epoch, move_runs

NOT_MADE = (ResultKind.REFUSED, ResultKind.UNSENT)


def record_answers(answers: Sequence[Answer], leadership: Leadership) -> None:
    """Uids of what was made, and the way back for what was refused."""
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
            if pod.uid
        }
        _record_uids(made, now)
        whole = [answer.run for answer in answers if answer.is_whole and not answer.is_joining]
        cause = Cause(reason="dispatched", at=now, epoch=leadership.epoch)
        changes = {"dispatched_at": now}
        move_runs(
            [run.pk for run in whole], old=(RunState.ADMITTED,), new=RunState.STARTING, cause=cause, changes=changes
        )
        for answer in answers:
            # What could not join is tried again later: the run goes on without it.
            if not answer.is_whole and not answer.is_joining:
                _send_back(answer, now, leadership)
        pass_point("recording")
    pass_point("recorded")


def _record_uids(made: dict[tuple[int, str], str], now: datetime) -> None:
    pods = list(Pod.objects.filter(run_id__in={run for run, _name in made}, uid="", released_at__isnull=True))
    changed = [pod for pod in pods if (pod.run_id, pod.name) in made]
    for pod in changed:
        pod.uid, pod.phase, pod.created_at = made[pod.run_id, pod.name], Pod.Phase.PENDING, now
    update_rows(changed, ["uid", "phase", "created_at"])


def _send_back(answer: Answer, now: datetime, leadership: Leadership) -> None:
    """Refused: the job waits with `backoff` and the cluster's own words. Pods that were made are taken down first (F05, F06)."""
    refusal = None if answer.result is None else answer.result.refusal
    message = answer.problem if refusal is None else f"{refusal.code}: {refusal.message}"
    cause = Cause(reason="refused", at=now, message=message, epoch=leadership.epoch)
    Run.objects.filter(pk=answer.run.pk).update(end_message=message[:1000])
    if answer.result is not None and any(pod.kind not in NOT_MADE for pod in answer.result.pods):
        begin_stops([answer.run.pk], stop_reason=EndReason.PLATFORM_FAULT, grace=CANCEL_GRACE, cause=cause)
        return
    if answer.result is None:
        Job.objects.filter(pk=answer.run.job_id).update(planner_faults=answer.run.job.planner_faults + 1)
    wait = None if refusal is None or not refusal.retry_after_s else timedelta(seconds=refusal.retry_after_s)
    backoff = None if wait is None else wait * clock.scale()
    end_run(RunEnd(answer.run.pk, EndReason.PLATFORM_FAULT, message, backoff=backoff), now=now, cause=cause)
