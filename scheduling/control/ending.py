"""Ends runs: leases closed and cut into segments, loans ended, the job sent on, all in the transaction that ends the run.

Only the loop calls it, inside a transaction that holds the epoch. It must not talk to a cluster.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F

from berth.common.alarm import ring
from berth.common.updating import update_rows
from scheduling.control.requeue import next_state
from scheduling.control.segments import FAULT, GRACE, Hold, Stretch, cut_hold
from scheduling.models import Lease, LeaseSegment, Loan, Pod, Preemption, Run, SegmentQuarantine
from scheduling.selectors.splits import split_changes_of
from scheduling.services.queue_use import count_segments
from scheduling.states import PLATFORM_FAULTS, EndReason, JobState, RunState
from scheduling.transitions import Cause, lock_jobs, move_job, move_run

RUN_LIVE = (RunState.ADMITTED, RunState.STARTING, RunState.RUNNING, RunState.STOPPING)
JOB_HOLDING = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)
NOT_ENDED = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """One run to end. `last_sign` cuts every lease there (a lost node); `still_there` are pods whose cards are not free yet:
    their leases stay open until the pods are gone, without costing anything more. `backoff` is the cluster's own wish."""

    run_id: int
    reason: EndReason
    message: str = ""
    exit_code: int | None = None
    last_sign: datetime | None = None
    backoff: timedelta | None = None
    still_there: frozenset[int] = frozenset()


def end_run(end: RunEnd, *, now: datetime, cause: Cause) -> bool:
    """End one run and send its job on. False when it had ended already: nothing is changed then (I6)."""
    lock_jobs(Run.objects.filter(pk=end.run_id).values_list("job_id", flat=True))
    run = Run.objects.select_related("job").select_for_update(of=("self",)).filter(pk=end.run_id).first()
    if run is None or run.state == RunState.ENDED:
        return False
    pods = list(Pod.objects.filter(run=run).order_by("rank", "pk"))
    ended_at = _end_instant(run, pods, end, now)
    _close_leases(run, pods, end, now)
    Loan.objects.filter(run=run, ended_at__isnull=True).update(ended_at=ended_at, why="returned")
    preemption = Preemption.objects.filter(run=run).first()
    changes: dict[str, Any] = {
        "ended_at": ended_at,
        "end_reason": end.reason.value,
        "end_message": (end.message or run.end_message)[:1000],
        "exit_code": run.exit_code if end.exit_code is None else end.exit_code,
        "last_sign_at": end.last_sign or ended_at,
        "fenced": end.last_sign is not None,
    }
    if run.started_at is None:
        gang = [pod for pod in pods if pod.in_gang and pod.released_at is None]
        starts = [pod.started_at for pod in gang if pod.started_at is not None]
        changes["started_at"] = max(starts) if len(starts) == len(gang) and starts else None
    move_run(run.pk, old=RUN_LIVE, new=RunState.ENDED, cause=cause, changes=changes)
    if preemption is not None:
        _settle_preemption(preemption, run, end, ended_at)
    _send_job_on(run, end, changes["started_at"] if run.started_at is None else run.started_at, ended_at, cause)
    ring("billing.record_costs")
    return True


def close_pod_leases(pods: Sequence[Pod], *, now: datetime) -> None:
    """Give back what pods of live runs hold that have ended: the rest of the gang goes on without those cards."""
    by_run: dict[int, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_run[pod.run_id].append(pod)
    for run in Run.objects.filter(pk__in=by_run).order_by("pk"):
        end = RunEnd(run.pk, EndReason.SUCCEEDED)
        _close_leases(run, by_run[run.pk], end, now)


def close_lost_pods(run_id: int, pods: Sequence[Pod], *, last_sign: datetime, now: datetime) -> None:
    """Give back what pods of a live run held on a node that is lost: charged to its last sign of life at most (BIL-05)."""
    end = RunEnd(run_id, EndReason.NODE_LOST, last_sign=last_sign)
    _close_leases(Run.objects.get(pk=run_id), pods, end, now)


def _end_instant(run: Run, pods: Sequence[Pod], end: RunEnd, now: datetime) -> datetime:
    """The latest end of its pods, in the cluster's own time; without one the last sign of life, else now."""
    finished = [pod.finished_at for pod in pods if pod.finished_at is not None]
    if end.last_sign is not None:
        return max(end.last_sign, run.admitted_at)
    return max([*finished, run.admitted_at]) if finished else now


def _close_leases(run: Run, pods: Sequence[Pod], end: RunEnd, now: datetime) -> None:
    leases = list(Lease.objects.filter(pod__in=pods, closed_at__isnull=True).order_by("pk"))
    if not leases:
        return
    by_pod = {pod.pk: pod for pod in pods}
    splits = split_changes_of(lease.pk for lease in leases)
    of_run = _notice(run)
    is_fault = end.reason in PLATFORM_FAULTS
    never_whole = run.started_at is None and is_fault
    segments: list[tuple[Lease, Stretch]] = []
    for lease in leases:
        pod = by_pod[lease.pod_id]
        until, closed_at = _pod_end(pod, end, now)
        notice_at, notice_kind = _first_notice(pod, of_run)
        hold = Hold(
            pod.started_at,
            until,
            closed_at,
            notice_at,
            notice_kind,
            fault=never_whole or (pod.joined_at is not None and pod.phase == Pod.Phase.PENDING and is_fault),
            borrowed=lease.borrowed,
            splits=splits[lease.pk],
        )
        segments += [(lease, piece) for piece in cut_hold(hold)]
        lease.closed_at = None if pod.pk in end.still_there else max(closed_at, lease.opened_at)
    _store_segments(segments, now)
    update_rows(leases, ["closed_at"])


def _notice(run: Run) -> tuple[datetime | None, str]:
    """From when on the run is no longer charged, and why: an eviction's grace, or a card that failed under it."""
    if run.stop_reason == EndReason.CARD_FAILED:
        return run.stopping_at, FAULT
    return Preemption.objects.filter(run=run).values_list("notice_at", flat=True).first(), GRACE


def _first_notice(pod: Pod, of_run: tuple[datetime | None, str]) -> tuple[datetime | None, str]:
    """A pod may have been told to leave before the run was (SCH-10)."""
    at, _kind = of_run
    if pod.notice_at is None or (at is not None and at <= pod.notice_at):
        return of_run
    return pod.notice_at, GRACE


def _pod_end(pod: Pod, end: RunEnd, now: datetime) -> tuple[datetime, datetime]:
    """Until when the pod is charged at most, and when its card is free."""
    finished = pod.finished_at or pod.last_sign_at or now
    if end.last_sign is None:
        return finished, finished
    return min(end.last_sign, pod.finished_at or end.last_sign), pod.finished_at or now


def _store_segments(segments: Sequence[tuple[Lease, Stretch]], now: datetime) -> None:
    """All at once; where the database refuses, one by one, and what it refuses goes to quarantine (DESIGN section 4)."""
    stored: list[LeaseSegment] = []
    good = [entry for entry in segments if entry[1].start < entry[1].end]
    bad = [(entry, "ends before it starts") for entry in segments if entry[1].start >= entry[1].end]
    try:
        with transaction.atomic():
            stored = LeaseSegment.objects.bulk_create([_segment(*entry) for entry in good], batch_size=2000)
    except IntegrityError:
        for entry in good:
            try:
                with transaction.atomic():
                    (segment := _segment(*entry)).save(force_insert=True)
                stored.append(segment)
            except IntegrityError as error:
                bad.append((entry, str(error).partition("\n")[0]))
    SegmentQuarantine.objects.bulk_create(
        SegmentQuarantine(
            lease=lease, kind=piece.kind, start_at=piece.start, end_at=piece.end, reason=why[:500], created_at=now
        )
        for (lease, piece), why in bad
    )
    count_segments([segment.pk for segment in stored], now=now)


def _segment(lease: Lease, piece: Stretch) -> LeaseSegment:
    return LeaseSegment(
        lease=lease,
        card_id=lease.card_id,
        kind=piece.kind,
        during=DateTimeTZRange(piece.start, piece.end, "[)"),
        quantity=lease.quantity,
        borrowed=piece.borrowed,
    )


def _settle_preemption(preemption: Preemption, run: Run, end: RunEnd, ended_at: datetime) -> None:
    if end.reason is EndReason.SUCCEEDED:
        outcome = Preemption.Outcome.FINISHED
    else:
        outcome = Preemption.Outcome.FORCED if run.force_deleted_at is not None else Preemption.Outcome.LEFT
    Preemption.objects.filter(pk=preemption.pk).update(outcome=outcome, left_at=ended_at)


def _send_job_on(run: Run, end: RunEnd, started_at: datetime | None, ended_at: datetime, cause: Cause) -> None:
    job = run.job
    onward = next_state(
        end.reason,
        cancel_asked=job.cancel_asked_at is not None,
        restarts_used=job.restarts_used,
        max_restarts=job.max_restarts,
        refusals=job.backoff_count,
    )
    changes: dict[str, Any] = {}
    if job.started_at is None and started_at is not None:
        changes["started_at"] = started_at
    if onward.state is JobState.QUEUED:
        changes |= _requeue_changes(end, uses_restart=onward.uses_restart)
        if onward.backoff is not None:
            wait = max(onward.backoff, end.backoff or timedelta(0))
            changes |= {"backoff_until": cause.at + wait, "backoff_message": (end.message or run.end_message)[:1000]}
    else:
        changes |= {"ended_at": max(ended_at, job.submitted_at), "end_reason": _job_end_reason(end, onward.state).value}
    move_job(job.pk, old=JOB_HOLDING, new=onward.state, cause=cause, changes=changes)


def _job_end_reason(end: RunEnd, state: JobState) -> EndReason:
    return EndReason.CANCELLED if state is JobState.CANCELLED else end.reason


def _requeue_changes(end: RunEnd, *, uses_restart: bool) -> dict[str, Any]:
    """Counters only: the place in the queue stays that of the original submit (SCH-04)."""
    changes: dict[str, Any] = {}
    if uses_restart:
        changes["restarts_used"] = F("restarts_used") + 1
    if end.reason is EndReason.PREEMPTED:
        changes["preemptions"] = F("preemptions") + 1
    if end.reason in (EndReason.NODE_LOST, EndReason.CARD_FAILED):
        changes["node_losses"] = F("node_losses") + 1
    if end.reason is EndReason.PLATFORM_FAULT:
        changes["backoff_count"] = F("backoff_count") + 1
    return changes
