"""What the runs of the past held: pods, leases, segments and loans, as the loop would have written them."""

from itertools import pairwise

from psycopg.types.range import TimestamptzRange

from berth.common import units
from berth.demo.past import Attempt
from berth.demo.written import Known, Rows
from scheduling.cluster.names import pod_name
from scheduling.engine.plan import LoanOpen, Placement
from scheduling.models import Lease, LeaseSegment, Loan, LoanSide, Pod, Run, SplitChange
from scheduling.selectors.asked_cards import unit_of
from tenants.models import Queue


def add_pods(rows: Rows, run: Run, attempt: Attempt, reason: str) -> None:
    phase = {"succeeded": "succeeded", "preempted": "gone"}.get(reason, "failed")
    for rank, placement in enumerate(attempt.placements):
        node = rows.known.nodes[str(placement.node)]
        over = attempt.end_ms is not None
        pod = rows.add(
            Pod,
            run_id=run.pk,
            role_name=placement.role,
            rank=rank,
            index=placement.index,
            name=pod_name(run.job_id, run.number, placement.role, placement.index),
            node_id=node.pk,
            phase=phase if over else "planned",
            created_at=run.admitted_at if over else None,
            started_at=run.started_at,
            finished_at=run.ended_at,
            exit_code=exit_code_of(reason) if over else None,
        )
        _add_leases(rows, run, pod, placement, attempt)


def exit_code_of(reason: str) -> int:
    """What a container of a run that ended so would leave behind: 143 after SIGTERM, 137 after the kernel's kill."""
    return {"succeeded": 0, "preempted": 143, "oom": 137}.get(reason, 1)


def _add_leases(rows: Rows, run: Run, pod: Pod, placement: Placement, attempt: Attempt) -> None:
    """One lease a card, share or MIG instance, own ones first; a change of the split is a bound between segments."""
    known = rows.known
    flavor = None if placement.flavor is None else known.flavors[str(placement.flavor)]
    each_m = min(placement.cards_m, units.MILLI)
    slots: list[int | None] = list(placement.cards) or [None]
    for slot, card in enumerate(slots):
        flags = [
            (
                at_ms,
                card is not None and slot >= len(placement.cards) - split[placement.role, placement.index] // each_m,
            )
            for at_ms, split in attempt.borrowed
        ]
        lease = rows.add(
            Lease,
            run_id=run.pk,
            pod_id=pod.pk,
            slot=slot,
            node_id=pod.node_id,
            card_id=None if card is None else known.cards[pod.node_id, card],
            flavor_id=None if flavor is None else flavor.pk,
            quantity=0 if card is None or flavor is None else each_m * unit_of(flavor.mig_profile) // units.MILLI,
            borrowed=flags[-1][1],
            cpu_m=placement.cpu_m if slot == 0 else 0,
            memory_mib=placement.memory_mib if slot == 0 else 0,
            vram_mib=placement.vram_mib // max(1, len(placement.cards)),
            opened_at=run.admitted_at,
            closed_at=run.ended_at,
        )
        merged = [flag for i, flag in enumerate(flags) if i == 0 or flag[1] != flags[i - 1][1]]
        if attempt.end_ms is None:
            _add_changes(rows, lease, merged)
        else:
            _add_segments(rows, lease, merged, attempt.end_ms, attempt.notice_ms)


def _add_changes(rows: Rows, lease: Lease, merged: list[tuple[int, bool]]) -> None:
    for (_, borrowed), (at_ms, _) in pairwise(merged):
        rows.add(SplitChange, lease_id=lease.pk, at=rows.at(at_ms), borrowed=borrowed)


def _add_segments(rows: Rows, lease: Lease, merged: list[tuple[int, bool]], end_ms: int, notice_ms: int | None) -> None:
    until_ms = notice_ms or end_ms
    ends = [at_ms for at_ms, _ in merged[1:]] + [until_ms]
    for (from_ms, borrowed), to_ms in zip(merged, ends, strict=True):
        _add_segment(rows, lease, "billable", from_ms, min(to_ms, until_ms), borrowed=borrowed)
    if notice_ms is not None:
        _add_segment(rows, lease, "grace", notice_ms, end_ms, borrowed=merged[-1][1])


def _add_segment(rows: Rows, lease: Lease, kind: str, from_ms: int, to_ms: int, *, borrowed: bool) -> None:
    if from_ms >= to_ms:
        return
    rows.add(
        LeaseSegment,
        lease_id=lease.pk,
        card_id=lease.card_id,
        kind=kind,
        during=TimestamptzRange(rows.at(from_ms), rows.at(to_ms), "[)"),
        quantity=lease.quantity,
        borrowed=borrowed,
    )


def add_loan(rows: Rows, run: Run, queue: Queue, attempt: Attempt, opened_ms: int, loan: LoanOpen) -> None:
    """A loan ends with its run or with the split that it stands for; an open one has been renewed past the present."""
    ended_ms = loan_end_ms(attempt, opened_ms, loan)
    row = rows.add(
        Loan,
        run_id=run.pk,
        queue_id=queue.pk,
        flavor_id=rows.known.flavors[str(loan.flavor)].pk,
        amount_m=loan.amount_m,
        opened_at=rows.at(opened_ms),
        expires_at=rows.at(loan.expires_ms),
        ended_at=None if ended_ms is None else rows.at(ended_ms),
        why="" if ended_ms is None else "returned",
    )
    for kind, name, amount_m in loan.sides:
        rows.add(LoanSide, loan_id=row.pk, amount_m=amount_m, **{f"{kind}_id": _side(rows.known, kind, str(name))})


def loan_end_ms(attempt: Attempt, opened_ms: int, loan: LoanOpen) -> int | None:
    """When the loan ended: replaced by a later one of its flavor, or all of it became own; None while it is open."""
    pods = {(pod.role, pod.index) for pod in attempt.placements if pod.flavor == loan.flavor}
    ends = [at_ms for at_ms, other in attempt.loans if at_ms > opened_ms and other.flavor == loan.flavor]
    ends += [
        at_ms
        for at_ms, split in attempt.borrowed
        if at_ms > opened_ms and sum(amount for pod, amount in split.items() if pod in pods) != loan.amount_m
    ]
    return min(ends, default=attempt.end_ms)


def _side(known: Known, kind: str, name: str) -> int:
    """The lender's row: queues are named `tenant/queue` in files."""
    if kind == "queue":
        tenant, _, queue = name.partition("/")
        return int(known.queues[tenant, queue].pk)
    return int((known.tenants if kind == "tenant" else known.cohorts)[name].pk)
