"""Which waiting jobs compete in this cycle, and why the others do not: what bars a start whatever is free (SCH-21, first codes)."""

from dataclasses import dataclass, field

from scheduling.engine.classes import ClassBook
from scheduling.engine.nodes import pool_bars_starts
from scheduling.engine.plan import Wait
from scheduling.engine.snapshot import Shape, Snapshot
from scheduling.engine.vocabulary import WaitCode

UNKNOWN_QUEUE, QUEUE_CLOSED = "unknown-queue", "queue-closed"


@dataclass(slots=True)
class Sorted:
    """`eligible` are indexes into Pending in id order; `waits` are the final answers for all others, by job index."""

    eligible: list[int] = field(default_factory=list)
    waits: dict[int, Wait] = field(default_factory=dict)


def sort_pending(snapshot: Snapshot, classes: ClassBook, now_ms: int) -> Sorted:
    """The contract's order of codes decides where several apply. A job that can never run blocks nobody."""
    pending = snapshot.pending
    result = Sorted()
    barred = [pool_bars_starts(snapshot, pool, now_ms) for pool in range(len(snapshot.pools))]
    columns = (pending.queue, pending.shape, pending.tier, pending.hold, pending.eligible_ms, pending.backoff_ms)
    for job, (queue, shape, tier, hold, eligible_ms, backoff_ms) in enumerate(
        zip(*(c.tolist() for c in columns), strict=True)
    ):
        codes = [snapshot.holds[hold]] if hold else []
        if eligible_ms > now_ms:
            codes.append(WaitCode.NOT_BEFORE)
        if backoff_ms > now_ms:
            codes.append(WaitCode.BACKOFF)
        detail = ""
        if queue < 0:
            codes.append(WaitCode.IMPOSSIBLE)
            detail = UNKNOWN_QUEUE
        else:
            row = snapshot.queues[queue]
            if barred[row.pool]:
                codes.append(barred[row.pool])
            detail = _impossible(classes, row.open and not row.draining, queue, shape, tier)
            if detail:
                codes.append(WaitCode.IMPOSSIBLE)
        if codes:
            first = min((WaitCode(code) for code in codes), key=_ORDER.__getitem__)
            until = {WaitCode.NOT_BEFORE: eligible_ms, WaitCode.BACKOFF: backoff_ms}.get(first)
            detail = detail if first == WaitCode.IMPOSSIBLE else ""
            need = total_ask(snapshot.shapes[shape])
            result.waits[job] = Wait(pending.ids[job], first, need, reserved_start_ms=until, detail=detail)
        else:
            result.eligible.append(job)
    return result


_ORDER = {code: place for place, code in enumerate(WaitCode)}


def total_ask(shape: Shape) -> dict[str, int]:
    """What all roles ask for together, by resource key, zeros left out."""
    roles = shape.roles
    totals = {
        "gpu": sum(role.cards_m * role.replicas for role in roles),
        "cpu": sum(role.cpu_m * role.replicas for role in roles),
        "memory_gib": sum(role.memory_mib * role.replicas for role in roles),
    }
    return {key: amount for key, amount in totals.items() if amount}


def _impossible(classes: ClassBook, takes_jobs: bool, queue: int, shape: int, tier: int) -> str:
    """Why the job can never run as far as a glance tells; capacity and quota are weighed when it is blocked."""
    if not takes_jobs:
        return QUEUE_CLOSED
    return classes.of(queue, shape, tier).impossible
