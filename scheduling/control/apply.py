"""Makes a plan true: one transaction of guarded updates and transition rows under the epoch (section 6, step 4).

What changed since the snapshot was read makes a decision stale, and a stale decision is dropped. Nothing here talks to a cluster.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F

from berth.common import clock
from scheduling.control.apply_budgets import keep_growth, keep_reservations, pass_gates, pass_growth
from scheduling.control.apply_joins import apply_joins
from scheduling.control.apply_recharges import apply_recharges
from scheduling.control.apply_reservations import apply_reservations
from scheduling.control.apply_resizes import apply_resizes
from scheduling.control.apply_starts import apply_starts
from scheduling.control.apply_waits import WaitMemory, apply_order, apply_waits
from scheduling.control.lock import Leadership
from scheduling.control.planning import Planned
from scheduling.engine.plan import Evict, LoanChange, Wait
from scheduling.engine.vocabulary import PreemptReason, WaitCode
from scheduling.models import Cycle, Job, Loan, Preemption, Run
from scheduling.services.pool_use import note_relieved
from scheduling.services.telling import tell_preempted
from scheduling.states import EndReason, JobState
from scheduling.transitions import Cause, begin_stops, hold_epoch


@dataclass(slots=True)
class Applied:
    """What a cycle changed: ids of jobs started, of runs evicted and resized, and what was dropped with its reason."""

    cycle_id: int
    started: list[int] = field(default_factory=list)
    evicted: list[int] = field(default_factory=list)
    resized: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    faulty: dict[int, str] = field(default_factory=dict)
    waits_written: int = 0


def apply_plan(planned: Planned, *, now: datetime, leadership: Leadership, memory: WaitMemory | None = None) -> Applied:
    """Apply what was decided, and count the planner faults. `memory` is what this process wrote before, to spare writing it again.

    Raises StaleEpochError when another leads by now; nothing is written then.
    """
    plan = planned.plan
    with transaction.atomic():
        hold_epoch(leadership.epoch)
        cycle = Cycle.objects.create(epoch=leadership.epoch, at=now, wall_at=clock.wall_now())
        applied = Applied(cycle_id=cycle.pk, faulty=dict(planned.faulty))
        gated = pass_gates(plan.starts)
        growth = pass_growth(plan.resizes, now=now)
        starts = apply_starts(gated.passed, now=now, cycle_id=cycle.pk, leadership=leadership)
        keep_reservations(gated, starts.started)
        applied.started, applied.stale = starts.started, starts.stale
        applied.faulty |= starts.refused
        apply_joins(growth.passed, now=now)
        resized = apply_resizes(growth.passed, now=now, cycle_id=cycle.pk)
        keep_growth(growth, resized.changed)
        applied.resized = resized.changed
        applied.stale += resized.stale
        applied.evicted = _apply_evicts(plan.evicts, now=now, cycle_id=cycle.pk, leadership=leadership)
        _note_relieved(plan.evicts, applied.evicted, now)
        _renew_loans(plan.loans)
        apply_recharges(plan.recharges, plan.loans, now=now)
        apply_reservations(plan.reserves, plan.releases, now=now)
        _count_faults(applied.faulty)
        waits = [*_waits(planned, starts.refused), *gated.waits]
        applied.waits_written = apply_waits(waits, memory or WaitMemory(), now=now, cycle_id=cycle.pk)
        apply_order(plan, now=now, cycle_id=cycle.pk)
        cycle.admitted, cycle.preempted = len(applied.started), len(applied.evicted)
        cycle.dropped = len(applied.stale) + len(applied.faulty)
        cycle.waiting = len(plan.waits) + len(gated.waits)
        cycle.by_reason = dict(sorted(Counter(wait.code.value for wait in (*plan.waits, *gated.waits)).items()))
        cycle.save(update_fields=["admitted", "preempted", "dropped", "waiting", "by_reason"])
    return applied


def _apply_evicts(evicts: Sequence[Evict], *, now: datetime, cycle_id: int, leadership: Leadership) -> list[int]:
    """Notice now, the end within the grace. A run that left meanwhile is not a victim; one notice a run (I7)."""
    alike: dict[tuple[int, str], dict[int, Evict]] = defaultdict(dict)
    for evict in evicts:
        alike[evict.grace_ms, evict.reason.value][int(evict.run)] = evict
    evicted: list[int] = []
    for (grace_ms, reason), group in sorted(alike.items()):
        grace = timedelta(milliseconds=grace_ms)
        cause = Cause(reason=reason, at=now, cycle_id=cycle_id, epoch=leadership.epoch)
        moved = begin_stops(sorted(group), stop_reason=EndReason.PREEMPTED, grace=grace, cause=cause)
        Preemption.objects.bulk_create(
            [_preemption(group[run_id], now, grace, cycle_id) for run_id in moved], batch_size=2000
        )
        tell_preempted(dict.fromkeys(moved, reason), now=now, grace=grace)
        evicted += moved
    return evicted


def _note_relieved(evicts: Sequence[Evict], evicted: Sequence[int], now: datetime) -> None:
    """SCH-15: the pools that runs had to leave because they were used above their high watermark."""
    left = {int(evict.run) for evict in evicts if evict.reason is PreemptReason.WATERMARK}.intersection(evicted)
    if left:
        note_relieved(Run.objects.filter(pk__in=left).values_list("job__queue__pool_id", flat=True), now=now)


def _preemption(evict: Evict, now: datetime, grace: timedelta, cycle_id: int) -> Preemption:
    return Preemption(
        run_id=int(evict.run),
        job_id=int(evict.job),
        for_job_id=None if evict.for_job is None else int(evict.for_job),
        reason=evict.reason.value,
        notice_at=now,
        grace_until=now + grace,
        lost_card_s=evict.lost_card_ms // 1000,
        cycle_id=cycle_id,
    )


def _renew_loans(changes: Sequence[LoanChange]) -> None:
    for change in changes:
        if change.expires_ms is not None:
            until = datetime.fromtimestamp(change.expires_ms / 1000, UTC)
            loan = Loan.objects.filter(pk=change.loan, ended_at__isnull=True)
            loan.update(expires_at=until, renewals=F("renewals") + 1)


def _count_faults(faulty: Mapping[int, str]) -> None:
    """After the third a job waits as `planner-fault`, and the snapshot bars it."""
    Job.objects.filter(pk__in=faulty, state=JobState.QUEUED.value).update(planner_faults=F("planner_faults") + 1)


def _waits(planned: Planned, refused: Mapping[int, str]) -> list[Wait]:
    """Every waiting job has a reason, also those that the plan does not speak of and those whose rows the database refused."""
    untold = {job: planned.faulty[job] for job in planned.left_out} | dict(refused)
    return [
        *planned.plan.waits,
        *(Wait(job, WaitCode.PLANNER_FAULT, detail=text) for job, text in sorted(untold.items())),
    ]
