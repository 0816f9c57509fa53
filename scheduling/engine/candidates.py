"""The runs that might be asked to leave, by tenant, in the order in which one tenant would give them up (SCH-17)."""

from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.state import State
from scheduling.engine.tiers import grace_ms
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import PreemptReason, Tier


@dataclass(frozen=True, slots=True)
class Candidate:
    """`key`: lower tier, lower priority, least work lost, newest start, id."""

    run: int
    tenant: int
    leaf: int
    tier: int
    expired: bool
    key: tuple[int, ...]
    nodes: frozenset[int]


class CandidateBook:
    """Built when the first claim of a cycle asks. Production, foreign runs and those already leaving are never in it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lines: dict[int, list[Candidate]] | None = None

    @property
    def tenants(self) -> list[int]:
        return sorted(self._all())

    def of_tenant(self, tenant: int) -> list[Candidate]:
        """Those still running, whoever left in this cycle taken out; no second notice to anyone."""
        return [candidate for candidate in self._all()[tenant] if self._state.leaving_ms[candidate.run] >= NEVER]

    def _all(self) -> dict[int, list[Candidate]]:
        if self._lines is None:
            self._lines = {}
            running = self._state.snapshot.running
            for run in range(len(running)):
                if (
                    running.queue[run] >= 0
                    and running.tier[run] != Tier.PRODUCTION
                    and self._state.leaving_ms[run] >= NEVER
                ):
                    candidate = self._candidate(run)
                    self._lines.setdefault(candidate.tenant, []).append(candidate)
            for line in self._lines.values():
                line.sort(key=lambda candidate: (not candidate.expired, candidate.key))
        return self._lines

    def _candidate(self, run: int) -> Candidate:
        state, running = self._state, self._state.snapshot.running
        leaf, tier = state.leaf(run), int(running.tier[run])
        return Candidate(
            run=run, tenant=state.tree.tenant[leaf], leaf=leaf, tier=tier,
            expired=int(running.loan_expires_ms[run]) <= state.now_ms,
            key=(tier, int(running.priority[run]), self.lost_card_ms(run), -int(running.start_ms[run]), run),
            nodes=frozenset(int(state.snapshot.pods.node[row]) for row in state.rows(run)),
        )  # fmt: skip

    def lost_card_ms(self, run: int) -> int:
        """Card time that an eviction throws away: since the last checkpoint, else since the start, plus the restart cost."""
        state, running = self._state, self._state.snapshot.running
        since = max(int(running.start_ms[run]), int(running.last_checkpoint_ms[run]))
        cards_m = sum(int(state.snapshot.pods.cards_m[row]) for row in state.rows(run))
        return max(0, state.now_ms - since + state.policy.restart_cost_ms) * cards_m // 1000

    def grace_ms(self, run: int) -> int:
        return grace_ms(self._state.policy, int(self._state.snapshot.running.tier[run]))

    def reason(self, candidate: Candidate) -> PreemptReason:
        """The first that applies, in the contract's order."""
        if candidate.tier == Tier.BATCH:
            return PreemptReason.YIELD
        return PreemptReason.LOAN_EXPIRED if candidate.expired else PreemptReason.RECLAIM_NOMINAL

    def is_useful(self, candidate: Candidate, option: Option, pool: int) -> bool:
        """Whether the run holds anything the claim could use: a card of its flavors, or any amount of the pool where it asks none."""
        flavors = {ask.flavor for ask in option.gang if ask.flavor >= 0}
        state = self._state
        if not flavors:
            return any(state.table.pool[node] == pool for node in candidate.nodes)
        return any(int(state.snapshot.pods.flavor[row]) in flavors for row in state.rows(candidate.run))
