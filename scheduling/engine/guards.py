"""SCH-17: who may not be taken yet. The guards hold against fair-share and priority preemption alone, never against reclaim of nominal."""

from collections.abc import Collection

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Snapshot


class Guards:
    """The minimum run time, and the queues that lately took from one another. Queues are leaves of the quota tree."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now_ms: int) -> None:
        self._started_by_ms = now_ms - policy.minimum_run_ms
        since = now_ms - policy.flap_window_ms
        queues = snapshot.queues
        self._turn_began_by_ms = {
            index: now_ms - pool.quantum_ms for index, pool in enumerate(snapshot.pools) if pool.time_sharing
        }
        self._lately = {
            (queues[pair.evictor].node, queues[pair.victim].node) for pair in snapshot.evictions if pair.at_ms > since
        }

    def runs_long_enough(self, start_ms: int) -> bool:
        """True from the instant at which the run has had its minimum time."""
        return start_ms <= self._started_by_ms

    def has_had_its_turn(self, start_ms: int, pools: Collection[int]) -> bool:
        """False while a run has its turn in a pool that takes turns of its own terms (SCH-27): fair sharing, which knows no service,
        would otherwise take back what a turn gave."""
        began_by_ms = self._turn_began_by_ms
        return not began_by_ms or all(start_ms <= began_by_ms.get(pool, start_ms) for pool in pools)

    def would_flap(self, asker: int, victim: int) -> bool:
        """True where the victim's queue took from the asker's inside the window: it is not taken back from it at once."""
        return asker != victim and (victim, asker) in self._lately
