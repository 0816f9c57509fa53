"""SCH-04, SCH-27: in which order the jobs of one line come, as one number a job: smaller goes first.

By submit (the default), by the shortest declared or known run time, or by the service attained so far. Equal numbers are told
apart by id. Nothing is decided here.
"""

from typing import Final

import numpy as np

from scheduling.engine.policy import Policy
from scheduling.engine.service import Service, Turn, turn_of
from scheduling.engine.snapshot import I64, Shape, Snapshot

TIERS, SUBMIT, SHORTEST, ATTAINED = "tiers", "submit", "shortest", "attained"
ORDERS: Final = (TIERS, SUBMIT, SHORTEST, ATTAINED)
PLAIN: Final = frozenset({SUBMIT, SHORTEST})
"""One line over all queues and tiers: neither tier, priority nor share counts."""


def places_of(snapshot: Snapshot, policy: Policy, now_ms: int) -> I64:
    """By row of the waiting. Times are only compared, never added, so that NEVER (no declared run time) comes last."""
    pending = snapshot.pending
    if policy.order == SHORTEST:
        return _ranked(list(zip(pending.limit_ms.tolist(), pending.submit_ms.tolist(), strict=True)))
    if policy.order == ATTAINED:
        return _ranked(turns_of_waiting(snapshot, policy, now_ms))
    return pending.submit_ms


def turns_of_waiting(snapshot: Snapshot, policy: Policy, now_ms: int) -> list[Turn]:
    """How strong each waiting job's claim on a turn is."""
    pending = snapshot.pending
    cards_m = [cards_of(shape) for shape in snapshot.shapes]
    columns = (pending.attained_card_ms, pending.shape, pending.submit_ms, pending.limit_ms)
    return [
        turn_of(policy, Service(attained, cards_m[shape], submit_ms, limit_ms, running=False), now_ms)
        for attained, shape, submit_ms, limit_ms in zip(*(column.tolist() for column in columns), strict=True)
    ]


def cards_of(shape: Shape) -> int:
    """Milli-cards of the whole job at its full size."""
    return sum(role.cards_m * role.replicas for role in shape.roles)


def _ranked(keys: list[Turn] | list[tuple[int, int]]) -> I64:
    """Each row's place among the different keys."""
    place = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.asarray([place[key] for key in keys], dtype=np.int64)
