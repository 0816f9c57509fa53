"""SCH-27: at which instants of a replay somebody's turn may end, so that the engine is asked then."""

from dataclasses import dataclass

import numpy as np

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import I32, I64
from scheduling.engine.turn_terms import terms_of
from scheduling.simulator.cluster import Cluster


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """`quantum_ms` is by queue, 0 where its pool takes no turns."""

    quantum_ms: I64
    restart_ms: int

    @classmethod
    def of(cls, cluster: Cluster, policy: Policy) -> "TurnTimes":
        terms = terms_of(cluster.pools, policy)
        of_queues = [terms[queue.pool] for queue in cluster.queues]
        quanta = [0 if found is None else found.quantum_ms for found in of_queues]
        return cls(np.asarray(quanta, dtype=np.int64), policy.restart_cost_ms)

    @property
    def anywhere(self) -> bool:
        return bool((self.quantum_ms > 0).any())

    def next_ms(self, queue: I32, start_ms: I64, now_ms: int) -> list[int]:
        """Of runs by queue and start: when the next one has had its quantum, and the next quantum of the clock, by which the claims
        of those who wait have grown."""
        quanta = self.quantum_ms[queue]
        ends_ms = (start_ms + quanta + self.restart_ms)[quanta > 0]
        later = ends_ms[ends_ms > now_ms]
        ticks = [(now_ms // quantum + 1) * quantum for quantum in sorted(set(quanta[quanta > 0].tolist()))]
        return [*([int(later.min())] if len(later) else []), *ticks]
