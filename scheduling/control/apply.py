"""Makes a plan true: one transaction of guarded updates and transition rows under the epoch (section 6, step 4).

What changed since the snapshot was read makes a decision stale, and a stale decision is dropped. Nothing here talks to a cluster.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import F

from berth.common import clock
from scheduling.control.apply_reservations import apply_reservations
from scheduling.control.apply_starts import apply_starts, open_loan
from scheduling.control.apply_waits import apply_order, apply_waits
from scheduling.control.lock import Leadership
from scheduling.engine.plan import Evict, LoanChange, Plan, Recharge, Wait
from scheduling.engine.vocabulary import WaitCode
from scheduling.models import Cycle, Job, Lease, LeaseSegment, Loan, Pod, Preemption, Run
from scheduling.states import EndReason, JobState, RunState
from scheduling.transitions import Cause, begin_stops, hold_epoch


@dataclass(slots=True)
class Applied:
    """What a cycle changed: ids of jobs started and runs evicted, and what was dropped with its reason."""

    cycle_id: int
    started: list[int] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    faulty: dict[int, str] = field(default_factory=dict)
    waits_written: int = 0


def apply_plan(plan: Plan, poisoned: Mapping[int, str], *, now: datetime, leadership: Leadership) -> Applied:
    """Apply what the engine decided, with `poisoned` jobs (planning them raised) counted as planner faults.

    Raises StaleEpochError when another leads by now; nothing is written then.
    """
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        cycle = Cycle.objects.create(epoch=leadership.epoch, at=now, wall_at=clock.wall_now())
        applied = Applied(cycle_id=cycle.pk, faulty=dict(poisoned))
        starts = apply_starts(plan.starts, now=now, cycle_id=cycle.pk, leadership=leadership)
        applied.started, applied.stale = starts.started, starts.stale
        applied.faulty |= starts.refused
        applied.evicted = _apply_evicts(plan.evicts, now=now, cycle_id=cycle.pk, leadership=leadership)
        _apply_loans(plan.loans, now)
        for recharge in plan.recharges:
            _apply_recharge(recharge, now)
        apply_reservations(plan.reserves, plan.releases, now=now)
        _count_faults(applied.faulty)
        applied.waits_written = apply_waits(_waits(plan, applied), now=now, cycle_id=cycle.pk)
        apply_order(plan, now=now, cycle_id=cycle.pk)
        cycle.admitted, cycle.preempted = len(applied.started), len(applied.evicted)
        cycle.dropped = len(applied.stale) + len(applied.faulty)
        cycle.waiting = len(plan.waits)
        cycle.by_reason = dict(sorted(Counter(wait.code.value for wait in plan.waits).items()))
        cycle.save(update_fields=["admitted", "preempted", "dropped", "waiting", "by_reason"])
    return applied


def _apply_evicts(evicts: Sequence[Evict], *, now: datetime, cycle_id: int, leadership: Leadership) -> list[int]:
    """Notice now, the end within the grace. A run that left meanwhile is not a victim; one notice a run (I7)."""
    evicted: list[int] = []
    for evict in sorted(evicts, key=lambda each: int(each.job)):
        grace = timedelta(milliseconds=evict.grace_ms)
        cause = Cause(reason=evict.reason.value, at=now, cycle_id=cycle_id, epoch=leadership.epoch)
        moved = begin_stops([int(evict.run)], stop_reason=EndReason.PREEMPTED, grace=grace, cause=cause)
        for run_id in moved:
            Preemption.objects.create(
                run_id=run_id,
                job_id=int(evict.job),
                for_job_id=None if evict.for_job is None else int(evict.for_job),
                reason=evict.reason.value,
                notice_at=now,
                grace_until=now + grace,
                lost_card_s=evict.lost_card_ms // 1000,
                cycle_id=cycle_id,
            )
        evicted += moved
    return evicted


def _apply_loans(changes: Sequence[LoanChange], now: datetime) -> None:
    for change in changes:
        loan = Loan.objects.filter(pk=change.loan, ended_at__isnull=True)
        if change.expires_ms is None:
            loan.update(ended_at=now, why=change.why)
        else:
            until = datetime.fromtimestamp(change.expires_ms / 1000, UTC)
            loan.update(expires_at=until, renewals=F("renewals") + 1)


def _apply_recharge(recharge: Recharge, now: datetime) -> None:
    """The own/borrowed split of a live run changes at this instant, as a new segment (SCH-03)."""
    run = Run.objects.filter(pk=recharge.run, state=RunState.RUNNING.value).select_related("job").first()
    if run is None:
        return
    borrowed = {(role, index): amount for role, index, amount in recharge.borrowed_m}
    for pod in Pod.objects.filter(run=run, started_at__isnull=False):
        leases = list(Lease.objects.filter(pod=pod, closed_at__isnull=True).order_by("slot"))
        own = len(leases) - borrowed.get((pod.role_name, pod.index), 0) // 1000
        for lease in leases:
            if lease.borrowed != (lease.slot >= own):
                _turn_lease(lease, pod.started_at or now, now)
    Loan.objects.filter(run=run, ended_at__isnull=True).update(ended_at=now, why="own-now")
    for loan in recharge.loans:
        open_loan(loan, run=run, queue_id=run.job.queue_id, now=now)


def _turn_lease(lease: Lease, started_at: datetime, now: datetime) -> None:
    last = LeaseSegment.objects.filter(lease=lease).order_by("-during").values_list("during", flat=True).first()
    start = started_at if last is None else max(started_at, last.upper)
    if start < now:
        LeaseSegment.objects.create(
            lease=lease,
            card_id=lease.card_id,
            kind=LeaseSegment.Kind.BILLABLE,
            during=DateTimeTZRange(start, now, "[)"),
            quantity=lease.quantity,
            borrowed=lease.borrowed,
        )
    Lease.objects.filter(pk=lease.pk).update(borrowed=not lease.borrowed)


def _count_faults(faulty: Mapping[int, str]) -> None:
    """After the third a job waits as `planner-fault`, and the snapshot bars it."""
    Job.objects.filter(pk__in=faulty, state=JobState.QUEUED.value).update(planner_faults=F("planner_faults") + 1)


def _waits(plan: Plan, applied: Applied) -> list[Wait]:
    """Every waiting job has a reason, also those whose decision was dropped."""
    dropped = [Wait(job, WaitCode.PLANNER_FAULT, detail=text) for job, text in sorted(applied.faulty.items())]
    return [*plan.waits, *dropped]
