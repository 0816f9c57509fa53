"""Ends runs: leases closed and cut into segments, loans ended, the jobs sent on, all in the transaction that ends the runs.

Only the loop calls it, inside a transaction that holds the epoch. It must not talk to a cluster. Whatever ends together is written
together: a rack that dies or a wave of short jobs is some dozen statements and two for each job.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from berth.common.alarm import ring
from scheduling.control.closing import Closing, close_leases
from scheduling.control.requeue import next_state
from scheduling.models import Loan, Pod, Preemption, Run
from scheduling.states import EndReason, JobState, RunState
from scheduling.transitions import Cause, lock_jobs, move_jobs, move_runs

RUN_LIVE = (RunState.ADMITTED, RunState.STARTING, RunState.RUNNING, RunState.STOPPING)
JOB_HOLDING = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


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


@dataclass(frozen=True, slots=True)
class _Ending:
    """A live run that ends, what it looked like before, and when."""

    end: RunEnd
    cause: Cause
    run: Run
    pods: Sequence[Pod]
    started_at: datetime | None
    ended_at: datetime


def end_run(end: RunEnd, *, now: datetime, cause: Cause) -> bool:
    """End one run and send its job on. False when it had ended already: nothing is changed then (I6)."""
    return bool(end_runs([(end, cause)], now=now))


def end_runs(ends: Sequence[tuple[RunEnd, Cause]], *, now: datetime) -> list[int]:
    """End these runs, each for its own cause, and send their jobs on; the ids of those that had not ended already, in order of id."""
    asked = {end.run_id: (end, cause) for end, cause in ends}
    if not asked:
        return []
    lock_jobs(Run.objects.filter(pk__in=asked).values_list("job_id", flat=True))
    runs = Run.objects.select_related("job").select_for_update(of=("self",)).filter(pk__in=asked)
    live = [run for run in runs.order_by("pk") if run.state != RunState.ENDED]
    pods: dict[int, list[Pod]] = defaultdict(list)
    for pod in Pod.objects.filter(run__in=live).order_by("rank", "pk"):
        pods[pod.run_id].append(pod)
    endings = [_ending(*asked[run.pk], run, pods[run.pk], now) for run in live]
    close_leases([_closing(each) for each in endings], now=now)
    _return_loans(endings)
    evicted = {record.run_id: record for record in Preemption.objects.filter(run__in=live)}
    _move(endings)
    for each in endings:
        if each.run.pk in evicted:
            _settle_preemption(evicted[each.run.pk], each)
    _send_jobs_on(endings)
    if endings:
        ring("billing.record_costs")
    return [run.pk for run in live]


def _ending(end: RunEnd, cause: Cause, run: Run, pods: Sequence[Pod], now: datetime) -> _Ending:
    started_at = run.started_at
    if started_at is None:
        gang = [pod for pod in pods if pod.in_gang and pod.released_at is None]
        starts = [pod.started_at for pod in gang if pod.started_at is not None]
        started_at = max(starts) if len(starts) == len(gang) and starts else None
    return _Ending(end, cause, run, pods, started_at, _end_instant(run, pods, end, now))


def _end_instant(run: Run, pods: Sequence[Pod], end: RunEnd, now: datetime) -> datetime:
    """The latest end of its pods, in the cluster's own time; without one the last sign of life, else now."""
    finished = [pod.finished_at for pod in pods if pod.finished_at is not None]
    if end.last_sign is not None:
        return max(end.last_sign, run.admitted_at)
    return max([*finished, run.admitted_at]) if finished else now


def _closing(each: _Ending) -> Closing:
    end = each.end
    return Closing(each.run, each.pods, end.reason, last_sign=end.last_sign, still_there=end.still_there)


def _return_loans(endings: Sequence[_Ending]) -> None:
    ended_at = {each.run.pk: each.ended_at for each in endings}
    lent = Loan.objects.filter(run__in=ended_at, ended_at__isnull=True).values_list("run_id", flat=True)
    for run in sorted(set(lent)):
        Loan.objects.filter(run=run, ended_at__isnull=True).update(ended_at=ended_at[run], why="returned")


def _move(endings: Sequence[_Ending]) -> None:
    if not endings:
        return
    move_runs(
        [each.run.pk for each in endings],
        old=RUN_LIVE,
        new=RunState.ENDED,
        cause=endings[0].cause,
        each={each.run.pk: (each.cause, _run_changes(each)) for each in endings},
    )


def _run_changes(each: _Ending) -> Mapping[str, Any]:
    end, run = each.end, each.run
    return {
        "ended_at": each.ended_at,
        "end_reason": end.reason.value,
        "end_message": (end.message or run.end_message)[:1000],
        "exit_code": run.exit_code if end.exit_code is None else end.exit_code,
        "last_sign_at": end.last_sign or each.ended_at,
        "fenced": end.last_sign is not None,
        "started_at": each.started_at,
    }


def _settle_preemption(preemption: Preemption, each: _Ending) -> None:
    if each.end.reason is EndReason.SUCCEEDED:
        outcome = Preemption.Outcome.FINISHED
    else:
        forced = each.run.force_deleted_at is not None
        outcome = Preemption.Outcome.FORCED if forced else Preemption.Outcome.LEFT
    Preemption.objects.filter(pk=preemption.pk).update(outcome=outcome, left_at=each.ended_at)


def _send_jobs_on(endings: Sequence[_Ending]) -> None:
    """Each job to where its run's end leads, those that go the same way together."""
    onward: dict[JobState, dict[int, tuple[Cause, Mapping[str, Any]]]] = defaultdict(dict)
    for each in endings:
        state, changes = _onward(each)
        onward[state][each.run.job_id] = (each.cause, changes)
    for state, jobs in sorted(onward.items()):
        first, _changes = next(iter(jobs.values()))
        move_jobs(sorted(jobs), old=JOB_HOLDING, new=state, cause=first, each=jobs)


def _onward(each: _Ending) -> tuple[JobState, Mapping[str, Any]]:
    """The job's next state and what else changes with it."""
    job, end, run = each.run.job, each.end, each.run
    onward = next_state(
        end.reason,
        cancel_asked=job.cancel_asked_at is not None,
        restarts_used=job.restarts_used,
        max_restarts=job.max_restarts,
        refusals=job.backoff_count,
    )
    changes: dict[str, Any] = {}
    if job.started_at is None and each.started_at is not None:
        changes["started_at"] = each.started_at
    if onward.state is JobState.QUEUED:
        changes |= _requeue_changes(end, uses_restart=onward.uses_restart)
        if onward.backoff is not None:
            wait = max(onward.backoff, end.backoff or timedelta(0))
            message = (end.message or run.end_message)[:1000]
            changes |= {"backoff_until": each.cause.at + wait, "backoff_message": message}
    else:
        changes |= {
            "ended_at": max(each.ended_at, job.submitted_at),
            "end_reason": _job_end_reason(end, onward.state).value,
        }
    return onward.state, changes


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
