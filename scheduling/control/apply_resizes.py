"""Changes of the size of running jobs become rows (SCH-10): pods and leases that join, notices to those that leave.

The run itself does not move. What is sent for it, whom its cluster is asked to stop and what became of both is others' work.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from scheduling.cluster.names import pod_name
from scheduling.control.apply_starts import create_leases, open_loans
from scheduling.engine.growth import ASKED_FOR
from scheduling.engine.later import WHY as JOINS
from scheduling.engine.plan import Resize
from scheduling.models import Loan, Pod, Run, RunResize
from scheduling.states import RunState
from scheduling.transitions import CANCEL_GRACE, lock_jobs

MAY_SHRINK = (RunState.ADMITTED.value, RunState.STARTING.value, RunState.RUNNING.value)
MAY_GROW = (RunState.RUNNING.value,)
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)


@dataclass(slots=True)
class Resized:
    """Ids of runs that changed their size, of jobs whose decision was stale, and of those whose rows the database refused."""

    changed: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


def apply_resizes(resizes: Sequence[Resize], *, now: datetime, cycle_id: int) -> Resized:
    """Of gangs: roles outside join as a whole, which is no change of size (SCH-09). One by one, so that what the database refuses takes only itself down. A run that is not of the size the plan saw, that stops
    or has ended meanwhile, is left as it is: the decision is stale."""
    done = Resized()
    wanted = [resize for resize in resizes if resize.reason != JOINS]
    if not wanted:
        return done
    lock_jobs(int(resize.job) for resize in wanted)
    live = Run.objects.filter(job_id__in={int(resize.job) for resize in wanted}, state__in=MAY_SHRINK)
    runs = {run.job_id: run for run in live.select_related("job")}
    pods: dict[int, list[Pod]] = {run.pk: [] for run in runs.values()}
    for pod in Pod.objects.filter(run__in=runs.values()).order_by("run_id", "index", "pk"):
        pods[pod.run_id].append(pod)
    for resize in wanted:
        run = runs.get(int(resize.job))
        if run is None or not _is_as_planned(run, resize, pods[run.pk]):
            done.stale.append(int(resize.job))
            continue
        try:
            with transaction.atomic():
                _apply(run, resize, pods[run.pk], now=now, cycle_id=cycle_id)
            done.changed.append(run.pk)
        except IntegrityError as error:
            done.refused[run.job_id] = str(error).partition("\n")[0]
    return done


def _is_as_planned(run: Run, resize: Resize, pods: Sequence[Pod]) -> bool:
    """Whether the role still has the pods that the plan saw. To grow, the run must be whole, and the names must be free."""
    held = [pod for pod in pods if pod.phase in OPEN_PHASES]
    role = {pod.index for pod in held if pod.role_name == resize.role and pod.released_at is None}
    if len(role) != resize.old or not role.issuperset(resize.removed):
        return False
    if not resize.added:
        return True
    gone = any(pod.in_gang and pod.released_at is None and pod.phase not in OPEN_PHASES for pod in pods)
    taken = {pod.index for pod in held if pod.role_name == resize.role}
    return not gone and run.state in MAY_GROW and taken.isdisjoint(pod.index for pod in resize.added)


def _apply(run: Run, resize: Resize, pods: Sequence[Pod], *, now: datetime, cycle_id: int) -> None:
    if resize.removed:
        by_itself = resize.reason == ASKED_FOR
        grace = CANCEL_GRACE if by_itself else timedelta(milliseconds=resize.grace_ms)
        leaving = Pod.objects.filter(run=run, role_name=resize.role, index__in=resize.removed, released_at__isnull=True)
        leaving.update(
            released_at=now,
            notice_at=None if by_itself else now,
            leave_until=now + grace,
            release_reason=resize.reason,
        )
    if resize.added:
        create_leases(run, _create_pods(run, resize, pods, now), resize.added, now)
        flavors = [int(loan.flavor) for loan in resize.loans]
        Loan.objects.filter(run=run, flavor__in=flavors, ended_at__isnull=True).update(ended_at=now, why="resplit")
        open_loans([(run, run.job.queue_id, loan) for loan in resize.loans], now=now)
    record_resize(run, resize.role, (resize.old, resize.new), resize.reason, now=now, cycle_id=cycle_id)


def record_resize(
    run: Run, role: str, sizes: tuple[int, int], reason: str, *, now: datetime, cycle_id: int | None = None
) -> None:
    """The change as the job's timeline shows it; the cooldown runs from it."""
    old, new = sizes
    RunResize.objects.create(run=run, at=now, role_name=role, old=old, new=new, reason=reason, cycle_id=cycle_id)
    Run.objects.filter(pk=run.pk).update(last_resize_at=now)


def _create_pods(run: Run, resize: Resize, pods: Sequence[Pod], now: datetime) -> Mapping[tuple[str, int], Pod]:
    """Ranks are the lowest that no pod of the gang has, in order of index: they stay without gaps."""
    taken = {pod.rank for pod in pods if pod.in_gang and pod.released_at is None}
    free = (rank for rank in range(len(taken) + len(resize.added)) if rank not in taken)
    rows = [
        Pod(
            run=run,
            role_name=placement.role,
            rank=rank,
            index=placement.index,
            name=pod_name(run.job_id, run.number, placement.role, placement.index),
            node_id=placement.node,
            joined_at=now,
        )
        for placement, rank in zip(sorted(resize.added, key=lambda each: each.index), free, strict=False)
    ]
    return {(pod.role_name, pod.index): pod for pod in Pod.objects.bulk_create(rows)}
