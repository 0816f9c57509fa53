"""State changes of jobs and runs, and nothing else: guarded updates on the old state, one Transition row for each that happened.

A change whose guard fails is dropped, not forced: the caller learns which ids moved. The loop's changes hold its epoch; a user's
do not need one (section 6). Must not decide anything: what to change is the caller's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models, transaction
from django.utils.translation import gettext_lazy as _

from berth.common.errors import ConflictError
from berth.common.inserting import insert_rows
from scheduling.models import Job, Run, SchedulerEpoch, Transition, WaitReason
from scheduling.states import JOB_MOVES, RUN_MOVES, TERMINAL, WAITING, EndReason, JobState, RunState

EPOCH_NAME = "scheduler"
STOPPABLE_RUNS = (RunState.ADMITTED, RunState.STARTING, RunState.RUNNING)
STOPPABLE_JOBS = (JobState.STARTING, JobState.RUNNING)
CANCEL_GRACE = timedelta(seconds=30)
"""What a user's cancel, a time limit and a failed gang leave a pod to stop in (section 7)."""
IDLE_LIMIT_MS = 10_000
"""A leader that stops inside a transaction loses it (and its locks) before its lease could be taken over (F09)."""
LOCK_LIMIT_MS = 5_000
BATCH = 2_000

Each = Mapping[int, tuple["Cause", Mapping[str, Any]]]
"""By id, why one of several moves and what else changes of it, on top of what changes of all."""


class StaleEpochError(ConflictError):
    """Another leader has taken over: nothing of this transaction may be written."""

    code = "stale-epoch"
    message = _("Another scheduler has taken over.")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why and by whom a state changes, for the Transition row. `reason` is a code; `message` a cluster's or person's own words."""

    reason: str
    at: datetime
    message: str = ""
    actor: str = ""
    cycle_id: int | None = None
    epoch: int | None = None


def hold_epoch(epoch: int) -> None:
    """Bind the open transaction to the leader's epoch. Raises StaleEpochError if it is no longer the current one.

    The share lock keeps a take-over out until commit, so an older epoch's write can never follow a newer one's.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = {IDLE_LIMIT_MS}")
        cursor.execute(f"SET LOCAL lock_timeout = {LOCK_LIMIT_MS}")
        cursor.execute(
            f'SELECT 1 FROM "{SchedulerEpoch._meta.db_table}" WHERE name = %s AND epoch = %s FOR SHARE',  # noqa: S608 - own table
            [EPOCH_NAME, epoch],
        )
        if cursor.fetchone() is None:
            raise StaleEpochError


def lock_jobs(job_ids: Iterable[int]) -> None:
    """Lock jobs in order of id. Whoever changes runs and their jobs together takes the jobs first, so that nobody deadlocks."""
    list(
        Job.objects.filter(pk__in=sorted(set(job_ids))).order_by("pk").select_for_update(of=("self",)).values_list("pk")
    )


def record_new_jobs(jobs: Sequence[Job], cause: Cause) -> None:
    """The first Transition row of jobs that were just inserted, in their present state."""
    insert_rows(_first_rows(jobs, cause))


def store_new_jobs(jobs: Sequence[Job], parts: Iterable[Iterable[models.Model]], cause: Cause) -> None:
    """Insert jobs that have their ids, what belongs to them (each of `parts` of one model), and their first Transition rows."""
    insert_rows(jobs, *parts, _first_rows(jobs, cause))


def _first_rows(jobs: Sequence[Job], cause: Cause) -> list[Transition]:
    return [_row("job", cause, job_id=job.pk, tenant_id=job.tenant_id, old="", new=job.state) for job in jobs]


def record_new_runs(runs: Sequence[Run], cause: Cause, *, tenant_ids: Mapping[int, int]) -> None:
    """The first Transition row of runs that were just inserted. `tenant_ids` maps job ids to tenants."""
    rows = [
        _row("run", cause, job_id=run.job_id, run_id=run.pk, tenant_id=tenant_ids[run.job_id], old="", new=run.state)
        for run in runs
    ]
    Transition.objects.bulk_create(rows, BATCH)


def move_job(
    job_id: int, *, old: Iterable[JobState], new: JobState, cause: Cause, changes: Mapping[str, Any] | None = None
) -> bool:
    """Move one job if it is in one of `old`. True if it moved."""
    return bool(move_jobs([job_id], old=old, new=new, cause=cause, changes=changes))


def move_jobs(
    job_ids: Sequence[int],
    *,
    old: Iterable[JobState],
    new: JobState,
    cause: Cause,
    changes: Mapping[str, Any] | None = None,
    run_ids: Mapping[int, int] | None = None,
    each: Each | None = None,
) -> list[int]:
    """Move the jobs that are in one of `old`, in order of id; returns their ids. `changes` are further columns (also expressions).

    A terminal state gets `ended_at` = the cause's instant unless `changes` says otherwise. A job that stops waiting loses its
    current wait reason. `run_ids` names the run behind each move, for the record; `each` gives jobs causes and columns of their own.
    Raises ValueError for a move no table allows.
    """
    olds = _checked(old, new, JOB_MOVES)
    values: dict[str, Any] = {"state": new.value, **(changes or {})}
    if new in TERMINAL:
        values.setdefault("ended_at", cause.at)
    with transaction.atomic():
        found = _lock(Job.objects.filter(pk__in=list(job_ids), state__in=olds), "tenant_id")
        ids = [pk for pk, _state, _tenant in found]
        _update(Job.objects.filter(state__in=olds), ids, values, each or {})
        if new not in WAITING:
            WaitReason.objects.filter(job_id__in=ids, until__isnull=True).update(until=cause.at)
        runs = run_ids or {}
        Transition.objects.bulk_create(
            [
                _row(
                    "job",
                    _cause(pk, cause, each),
                    job_id=pk,
                    run_id=runs.get(pk),
                    tenant_id=tenant,
                    old=state,
                    new=new.value,
                )
                for pk, state, tenant in found
            ],
            BATCH,
        )
    return ids


def move_run(
    run_id: int, *, old: Iterable[RunState], new: RunState, cause: Cause, changes: Mapping[str, Any] | None = None
) -> bool:
    """Move one run if it is in one of `old`. True if it moved."""
    return bool(move_runs([run_id], old=old, new=new, cause=cause, changes=changes))


def move_runs(
    run_ids: Sequence[int],
    *,
    old: Iterable[RunState],
    new: RunState,
    cause: Cause,
    changes: Mapping[str, Any] | None = None,
    each: Each | None = None,
) -> list[int]:
    """Move the runs that are in one of `old`, in order of id; returns their ids. An ended run gets `ended_at` like a job."""
    olds = _checked(old, new, RUN_MOVES)
    values: dict[str, Any] = {"state": new.value, **(changes or {})}
    if new is RunState.ENDED:
        values.setdefault("ended_at", cause.at)
    with transaction.atomic():
        found = _lock(Run.objects.filter(pk__in=list(run_ids), state__in=olds), "job_id", "job__tenant_id")
        ids = [pk for pk, _state, _job, _tenant in found]
        _update(Run.objects.filter(state__in=olds), ids, values, each or {})
        Transition.objects.bulk_create(
            [
                _row("run", _cause(pk, cause, each), job_id=job, run_id=pk, tenant_id=tenant, old=state, new=new.value)
                for pk, state, job, tenant in found
            ],
            BATCH,
        )
    return ids


def begin_stops(run_ids: Sequence[int], *, stop_reason: EndReason, grace: timedelta, cause: Cause) -> list[int]:
    """Ask live runs to stop within `grace`: run and job go to `stopping`. Returns the ids of the runs that were not stopping yet.

    The loop then deletes the pods and ends the run when they are gone. A stop that runs already keeps its reason and its grace.
    """
    changes = {"stop_reason": stop_reason.value, "stopping_at": cause.at, "grace_until": cause.at + grace}
    with transaction.atomic():
        lock_jobs(Run.objects.filter(pk__in=list(run_ids)).values_list("job_id", flat=True))
        moved = move_runs(run_ids, old=STOPPABLE_RUNS, new=RunState.STOPPING, cause=cause, changes=changes)
        jobs = dict(Run.objects.filter(pk__in=moved).values_list("job_id", "pk"))
        move_jobs(sorted(jobs), old=STOPPABLE_JOBS, new=JobState.STOPPING, cause=cause, run_ids=jobs)
    return moved


def _checked(old: Iterable[Any], new: Any, table: Mapping[Any, frozenset[Any]]) -> list[str]:
    olds = list(old)
    for state in olds:
        if new not in table[state]:
            raise ValueError(f"no move from {state} to {new}")
    return [state.value for state in olds]


def _lock(rows: models.QuerySet[Any], *columns: str) -> list[Any]:
    """Lock in order of id (no two writers can wait for each other) and read what the record needs."""
    return list(rows.order_by("pk").select_for_update(of=("self",)).values_list("pk", "state", *columns))


def _update(rows: models.QuerySet[Any], ids: Sequence[int], values: Mapping[str, Any], each: Each) -> None:
    """Those without columns of their own in one statement, the others in one each."""
    alike = [pk for pk in ids if pk not in each]
    changed = rows.filter(pk__in=alike).update(**values) if alike else 0
    changed += sum(rows.filter(pk=pk).update(**{**values, **each[pk][1]}) for pk in ids if pk in each)
    if changed != len(ids):
        raise RuntimeError(f"guarded update changed {changed} rows of {len(ids)}")


def _cause(pk: int, cause: Cause, each: Each | None) -> Cause:
    return each[pk][0] if each and pk in each else cause


def _row(
    subject: str, cause: Cause, *, job_id: int, tenant_id: int, old: str, new: str, run_id: int | None = None
) -> Transition:
    return Transition(
        at=cause.at,
        job_id=job_id,
        run_id=run_id,
        tenant_id=tenant_id,
        subject=subject,
        old=old,
        new=new,
        reason=cause.reason,
        message=cause.message[:1000],
        actor=cause.actor,
        cycle_id=cause.cycle_id,
        epoch=cause.epoch,
    )
