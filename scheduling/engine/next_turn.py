"""SCH-21, SCH-27: when a job that waits in a pool of turns may take one, for those who ask why it waits. Nothing is decided here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.classes import JobClass
from scheduling.engine.snapshot import I64, Flags
from scheduling.engine.state import State
from scheduling.engine.turn_terms import TurnTerms
from scheduling.engine.units import CARD, NEVER
from scheduling.engine.vocabulary import Tier


@dataclass(slots=True)
class NextTurn:
    """Looked up by tier, pool and card time: most who wait have had none, and share one answer."""

    state: State
    terms: Sequence[TurnTerms | None]
    _known: dict[tuple[int, int, int], int | None] = field(default_factory=dict)
    _held: tuple[I64, I64] | None = None

    def earliest_ms(self, job: int, job_class: JobClass) -> int | None:
        """The next instant on which some run of its tier has had its quantum and more card time than the job; None where the job
        takes no turns, or no such instant is ahead. Queues' shares, priorities and room may have it wait longer."""
        terms, pending = self.terms[job_class.pool], self.state.snapshot.pending
        option = job_class.options[0] if job_class.options else None
        if terms is None or not terms.own or option is None or not option.cards_m or not pending.checkpoints[job]:
            return None
        if job_class.tier == Tier.PRODUCTION or any(ask.share is not None for ask in option.gang):
            return None
        key = (job_class.tier, job_class.pool, int(pending.attained_card_ms[job]))
        if key not in self._known:
            self._known[key] = self._find(*key, terms)
        return self._known[key]

    def _find(self, tier: int, pool: int, attained: int, terms: TurnTerms) -> int | None:
        state, running = self.state, self.state.snapshot.running
        pool_of, cards_m = self._holdings()
        takes_part: Flags = (running.tier == tier) & running.checkpoints & (running.queue >= 0) & (cards_m >= CARD)
        takes_part &= (np.asarray(state.leaving_ms, dtype=np.int64) >= NEVER) & (pool_of == pool)
        rows = np.flatnonzero(takes_part)
        behind = np.maximum(0, attained + 1 - running.attained_card_ms[rows])
        ahead_ms = state.now_ms - (-behind * CARD // cards_m[rows])
        over_ms = running.start_ms[rows] + terms.quantum_ms + state.policy.restart_cost_ms
        found = np.maximum(ahead_ms, over_ms)
        later = found[found > state.now_ms]
        return int(later.min()) if len(later) else None

    def _holdings(self) -> tuple[I64, I64]:
        """By run, the pool of its nodes (-1 where it holds nothing) and its milli-cards."""
        if self._held is None:
            pods, nodes, size = self.state.snapshot.pods, self.state.snapshot.nodes, len(self.state.snapshot.running)
            pool_of, cards_m = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
            pool_of[pods.run] = nodes.pool[pods.node]
            np.add.at(cards_m, pods.run, pods.cards_m)
            self._held = pool_of, cards_m
        return self._held
