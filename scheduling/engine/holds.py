"""Which waiting jobs compete in this cycle, and why the others do not: what bars a start whatever is free (SCH-21, first codes)."""

from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.nodes import pool_bars_starts
from scheduling.engine.plan import Wait
from scheduling.engine.snapshot import Shape, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import WaitCode

UNKNOWN_QUEUE, QUEUE_CLOSED = "unknown-queue", "queue-closed"


@dataclass(slots=True)
class Sorted:
    """`eligible` are indexes into Pending in id order, with their classes; `waits` the final answers for all others, by index."""

    eligible: dict[int, JobClass] = field(default_factory=dict)
    waits: dict[int, Wait] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is true of every job of a queue, shape and tier: `codes` bar it, and the class (None: no such queue) competes without."""

    job_class: JobClass | None
    codes: tuple[WaitCode, ...] = ()
    detail: str = ""


def sort_pending(snapshot: Snapshot, classes: ClassBook, now_ms: int) -> Sorted:
    """The contract's order of codes decides where several apply. A job that can never run blocks nobody."""
    pending = snapshot.pending
    result, kinds = Sorted(), dict[tuple[int, int, int], _Kind]()
    barred = [pool_bars_starts(snapshot, pool, now_ms) for pool in range(len(snapshot.pools))]
    by_itself = (pending.hold != 0) | (pending.eligible_ms > now_ms) | (pending.backoff_ms > now_ms)
    columns = (pending.queue, pending.shape, pending.tier)
    keys = zip(*(column.tolist() for column in columns), strict=True)
    for job, (key, held) in enumerate(zip(keys, by_itself.tolist(), strict=True)):
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = _kind(snapshot, classes, barred, *key)
        if kind.job_class is None or kind.codes or held:
            result.waits[job] = _wait(snapshot, job, kind, now_ms)
        else:
            result.eligible[job] = kind.job_class
    for job in np.flatnonzero(pending.deadline_ms < NEVER).tolist():
        if job in result.eligible:
            result.eligible[job] = classes.of_pending(job, now_ms)
    return result


def _kind(snapshot: Snapshot, classes: ClassBook, barred: list[str], queue: int, shape: int, tier: int) -> _Kind:
    """As far as a glance tells; capacity and quota are weighed when the class is blocked."""
    if queue < 0:
        return _Kind(None, (WaitCode.IMPOSSIBLE,), UNKNOWN_QUEUE)
    row = snapshot.queues[queue]
    codes = [WaitCode(barred[row.pool])] if barred[row.pool] else []
    job_class = classes.of(queue, shape, tier)
    detail = job_class.impossible if row.open and not row.draining else QUEUE_CLOSED
    if detail:
        codes.append(WaitCode.IMPOSSIBLE)
    return _Kind(job_class, tuple(codes), detail)


def _wait(snapshot: Snapshot, job: int, kind: _Kind, now_ms: int) -> Wait:
    """The first of what bars the job itself and all of its kind."""
    pending = snapshot.pending
    hold, eligible_ms, backoff_ms = int(pending.hold[job]), int(pending.eligible_ms[job]), int(pending.backoff_ms[job])
    codes = [*kind.codes]
    if hold:
        codes.append(WaitCode(snapshot.holds[hold]))
    if eligible_ms > now_ms:
        codes.append(WaitCode.NOT_BEFORE)
    if backoff_ms > now_ms:
        codes.append(WaitCode.BACKOFF)
    first = min(codes, key=_ORDER.__getitem__)
    until = {WaitCode.NOT_BEFORE: eligible_ms, WaitCode.BACKOFF: backoff_ms}.get(first)
    detail = kind.detail if first == WaitCode.IMPOSSIBLE else ""
    need = total_ask(snapshot.shapes[int(pending.shape[job])])
    return Wait(pending.ids[job], first, need, reserved_start_ms=until, detail=detail)


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
