"""SCH-04, SCH-27: in which order the jobs of one line come, as one number a job: smaller goes first.

By submit (the default), by the shortest declared or known run time, or by the least service attained so far. Equal numbers are
told apart by id. Nothing is decided here.
"""

from typing import Final

import numpy as np

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import I64, Pending

TIERS, SUBMIT, SHORTEST, ATTAINED = "tiers", "submit", "shortest", "attained"
ORDERS: Final = (TIERS, SUBMIT, SHORTEST, ATTAINED)
PLAIN: Final = frozenset({SUBMIT, SHORTEST})
"""One line over all queues and tiers: neither tier, priority nor share counts."""


def turns_of(pending: Pending, policy: Policy) -> I64:
    """By row of `pending`. Times are only compared, never added, so that NEVER (no declared run time) comes last."""
    if policy.order == SHORTEST:
        return _places(pending.limit_ms, pending.submit_ms)
    if policy.order == ATTAINED:
        return _places(pending.attained_card_ms, pending.submit_ms)
    return pending.submit_ms


def _places(first: I64, second: I64) -> I64:
    """Each row's place when sorted by `first`, then `second`; rows equal in both share a place."""
    order = np.lexsort((second, first))
    places = np.zeros(len(order), dtype=np.int64)
    if len(order):
        changes = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
        places[order[1:]] = np.cumsum(changes)
    return places
