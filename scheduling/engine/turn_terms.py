"""SCH-27: in which pools jobs take turns, and on what terms: those of the policy everywhere, or those that a pool sets for itself.

The policy's terms are the ones of the replayed presets. A pool's own are those of the running product, beside all the other rules of
the default policy: only jobs that would give their turn take one, and a higher priority of the same queue keeps its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Flags, Pool, Snapshot
from scheduling.engine.vocabulary import Tier


@dataclass(frozen=True, slots=True)
class TurnTerms:
    """How long a run keeps its turn once its restart is paid; `own` where the pool itself says so."""

    quantum_ms: int
    own: bool


def terms_of(pools: Sequence[Pool], policy: Policy) -> tuple[TurnTerms | None, ...]:
    """By pool, on what terms its jobs take turns; None where they do not. What a pool says of itself goes first."""
    everywhere = TurnTerms(policy.quantum_ms, own=False) if policy.time_sharing else None
    return tuple(TurnTerms(pool.quantum_ms, own=True) if pool.time_sharing else everywhere for pool in pools)


def had_turns(snapshot: Snapshot) -> Flags:
    """Which waiting jobs had a turn before in a pool of its own terms: they fall behind in service while they wait, and that brings
    them to the front again. Nobody starves there (SCH-07) only because its submit is long ago."""
    pending = snapshot.pending
    shares = np.asarray(
        [snapshot.pools[queue.pool].time_sharing for queue in snapshot.queues] + [False], dtype=np.bool_
    )
    takes_part: Flags = shares[pending.queue] & pending.checkpoints & (pending.tier != Tier.PRODUCTION)
    had: Flags = takes_part & (pending.attained_card_ms > 0)
    return had
