"""Runs the engine so that one poison job cannot stop the others (F44). The engine stays pure; what it raises is caught here."""

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check, drop
from scheduling.engine.plan import Plan
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Pending, Snapshot

logger = logging.getLogger(__name__)
MOST_POISONED_SHAPES = 8
"""Past this many in one cycle the fault is the engine's or the cluster's, not a job's: the cycle fails as a whole."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan whose decisions all hold (SCH-23), and the waiting jobs that are at fault, with the error or the rule they broke.

    `left_out` are those whose planning raised: the plan does not speak of them.
    """

    plan: Plan
    faulty: dict[int, str]
    left_out: frozenset[int]


def plan_cycle(snapshot: Snapshot, policy: Policy, now_ms: int) -> Planned:
    """Plan; where that raises, find by halving which shapes of jobs it is about, leave those out and plan the rest.

    Raises what the engine raised when it also does so without any waiting job, or when too many shapes are to blame.
    """
    with _no_collecting():
        return _plan_sound(snapshot, policy, now_ms)


def _plan_sound(snapshot: Snapshot, policy: Policy, now_ms: int) -> Planned:
    poisoned: dict[int, str] = {}
    for _attempt in range(MOST_POISONED_SHAPES):
        try:
            return _checked(snapshot, run_cycle(snapshot, policy, now_ms), poisoned, now_ms)
        except Exception as error:
            shape = _guilty_shape(snapshot, policy, now_ms)
            if shape is None:
                raise
            guilty = snapshot.pending.shape == shape
            logger.exception("planning raised shape=%s jobs=%s", shape, int(guilty.sum()))
            text = f"{type(error).__name__}: {error}"
            poisoned |= {int(snapshot.pending.ids[at]): text for at in np.flatnonzero(guilty)}
            snapshot = replace(snapshot, pending=keep_pending(snapshot.pending, ~guilty))
    return _checked(snapshot, run_cycle(snapshot, policy, now_ms), poisoned, now_ms)


@contextmanager
def _no_collecting() -> Iterator[None]:
    """A cycle allocates much and makes no garbage in circles: looking for such garbage meanwhile, through all that the loop's
    process holds, is time lost."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _checked(snapshot: Snapshot, plan: Plan, poisoned: dict[int, str], now_ms: int) -> Planned:
    """Decisions that break an invariant are dropped with all they touch, and alarmed; the rest stands."""
    violations = check(snapshot, plan, now_ms)
    for violation in violations:
        logger.error("plan broke rule=%s jobs=%s detail=%s", violation.rule, violation.jobs, violation.detail)
    waiting = set(snapshot.pending.ids)
    broke = {int(job): violation.rule for violation in violations for job in violation.jobs if job in waiting}
    return Planned(drop(plan, violations), {**broke, **poisoned}, frozenset(poisoned))


def keep_pending(pending: Pending, mask: Any) -> Pending:
    """The rows of `pending` where `mask` is true."""
    kept: dict[str, Any] = {}
    for column in fields(pending):
        values = getattr(pending, column.name)
        if column.name == "ids":
            kept["ids"] = tuple(values[at] for at in np.flatnonzero(mask))
            continue
        array = values[mask]
        array.setflags(write=False)
        kept[column.name] = array
    return Pending(**kept)


def _guilty_shape(snapshot: Snapshot, policy: Policy, now_ms: int) -> int | None:
    """A shape whose jobs alone make the engine raise; None when no waiting job is needed for that, or only several together."""
    suspects = sorted(set(snapshot.pending.shape.tolist()))
    if not suspects or _raises(snapshot, [], policy, now_ms):
        return None
    while len(suspects) > 1:
        half = suspects[: len(suspects) // 2]
        suspects = half if _raises(snapshot, half, policy, now_ms) else suspects[len(half) :]
    return suspects[0] if _raises(snapshot, suspects, policy, now_ms) else None


def _raises(snapshot: Snapshot, shapes: list[int], policy: Policy, now_ms: int) -> bool:
    mask = np.isin(snapshot.pending.shape, np.array(shapes, dtype=np.int32))
    try:
        run_cycle(replace(snapshot, pending=keep_pending(snapshot.pending, mask)), policy, now_ms)
    except Exception:  # noqa: BLE001 - whatever it is, the question is only whether it is raised
        return True
    return False
