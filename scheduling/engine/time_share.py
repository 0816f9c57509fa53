"""SCH-27: a waiting job takes the turn of running ones of its tier whose claim on cards is weaker (see `service`).

Asked only when the job found no room and no other rule makes any, in pools that say so or under a policy that does (`turn_terms`).
A run can lose its turn once it has had a quantum after paying its restart; production, foreign runs, those leaving already and those
that write no checkpoints never do. Between queues `_may_between` decides first. Where to make room is in `turn_search`.
"""

from dataclasses import dataclass, field
from typing import Final

from scheduling.engine.asks import Option
from scheduling.engine.candidates import CandidateBook
from scheduling.engine.classes import JobClass
from scheduling.engine.fit import within_pool_share
from scheduling.engine.placement import Placed
from scheduling.engine.service import Service, Turn, turn_of
from scheduling.engine.state import Kept, Moved, State, Victim
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.turn_search import TurnSearch
from scheduling.engine.turn_terms import TurnTerms, terms_of
from scheduling.engine.turns import turns_of_waiting
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import PreemptReason, Tier

_NOTHING = (0, 0, 0, 0)
MOST_TURNS: Final = 64
"""For how many jobs turns are taken in one cycle where pools take turns by their own terms; the others ask in the next one."""


@dataclass(slots=True)
class TimeShare:
    """One cycle's turns: who may lose its own, and whose was taken. Built once; what it looks up it looks up once."""

    state: State
    rules: TierRules
    book: CandidateBook
    terms: tuple[TurnTerms | None, ...] = field(init=False)
    anywhere: bool = field(init=False)
    """Whether any pool takes turns."""
    _turns: list[Turn] | None = None
    _turn_of_run: dict[int, Turn] = field(default_factory=dict)
    _on_node: dict[int, dict[int, list[int]]] = field(default_factory=dict)
    _flapping: frozenset[tuple[int, int]] | None = None
    _writes: list[bool] | None = None
    _taken: int = 0
    _failed: dict[tuple[JobClass, int], Turn] = field(default_factory=dict)
    """By class and priority, the strongest claim that found nobody, where the line does not stand in the order of claims."""

    def __post_init__(self) -> None:
        self.terms = terms_of(self.state.snapshot.pools, self.state.policy)
        self.anywhere = any(terms is not None for terms in self.terms)

    def may_try(self, job: int, job_class: JobClass) -> bool:
        """Whether the job takes turns, and none of its class with as strong a claim has tried in vain."""
        terms = self.terms[job_class.pool]
        if terms is None or job_class.turn_failed:
            return False
        if not terms.own:
            return True
        if self._writes is None:
            self._writes = self.state.snapshot.pending.checkpoints.tolist()
        if job_class.tier == Tier.PRODUCTION or not self._writes[job] or self._taken >= MOST_TURNS:
            return False
        failed = self._failed.get((job_class, self._priority(job)))
        return failed is None or self._turn_of_waiting(job) < failed

    def give_up(self, job: int, job_class: JobClass) -> None:
        """The job found nobody: under the policy's terms those behind it in its line have no stronger claim."""
        terms = self.terms[job_class.pool]
        if terms is not None and terms.own:
            self._failed[job_class, self._priority(job)] = self._turn_of_waiting(job)
        else:
            job_class.turn_failed = True

    def take(self, job: int, job_class: JobClass) -> bool:
        """Take others' turns for the job and keep their place for it; False, and nothing changed, where that cannot help."""
        state, terms = self.state, self.terms[job_class.pool]
        least = self._priority(job) if terms is not None and terms.own else NEVER
        for option in job_class.options:
            standing = self.rules.standing(state.quota_after, job_class, option.amounts)
            in_parts = any(ask.share is not None for ask in option.gang)
            if not option.cards_m or in_parts or standing == Standing.BARRED:
                continue
            if not within_pool_share(state, job_class, option):
                continue
            turn = self._turn_of_waiting(job)

            def may_lose(
                run: int, *, own: bool = standing == Standing.OWN, ask: Option = option, mine: Turn = turn
            ) -> bool:
                outranked = state.runs.leaf[run] == job_class.leaf and state.runs.priority[run] > least
                return (
                    not outranked and self.turn_of_run(run) > mine and self._may_between(job_class, ask, run, own=own)
                )

            found = TurnSearch(
                state, job_class, option, self.on_nodes(job_class.tier), may_lose, self.turn_of_run
            ).run()
            if found is not None:
                self._commit(job, job_class, option, *found)
                return True
        return False

    def _commit(
        self, job: int, job_class: JobClass, option: Option, leavers: list[int], movers: list[Moved], placed: Placed
    ) -> None:
        state, for_job = self.state, self.state.snapshot.pending.ids[job]
        self._taken += 1
        for run in leavers:
            state.evict(Victim(run, for_job, PreemptReason.TIME_SHARE), state.now_ms + self.book.grace_ms(run))
        for moved in movers:
            state.move(moved)
        state.keep(Kept(job, job_class, placed, option.amounts, state.freed_ms(placed)))

    def _priority(self, job: int) -> int:
        return int(self.state.snapshot.pending.priority[job])

    def _turn_of_waiting(self, job: int) -> Turn:
        if self._turns is None:
            self._turns = turns_of_waiting(self.state.snapshot, self.state.policy, self.state.now_ms)
        return self._turns[job]

    def turn_of_run(self, run: int) -> Turn:
        """How strong a running job's claim is."""
        found = self._turn_of_run.get(run)
        if found is None:
            state, runs = self.state, self.state.runs
            running = state.snapshot.running
            ends_ms = runs.ends_ms[run]
            service = Service(
                attained_card_ms=int(running.attained_card_ms[run]),
                cards_m=runs.total_cards_m(run),
                submit_ms=int(running.submit_ms[run]),
                rest_ms=NEVER if ends_ms >= NEVER else ends_ms - state.now_ms,
                running=True,
            )
            found = self._turn_of_run[run] = turn_of(state.policy, service, state.now_ms)
        return found

    def on_nodes(self, tier: int) -> dict[int, list[int]]:
        """By node, runs of the tier whose quantum is over. Whose turn was taken meanwhile is told by `leaving_ms`."""
        known = self._on_node.get(tier)
        if known is None:
            known = self._on_node[tier] = {}
            state, runs = self.state, self.state.runs
            writes: list[bool] = state.snapshot.running.checkpoints.tolist()
            paid_ms = state.now_ms - state.policy.restart_cost_ms
            latest_ms = [-NEVER if terms is None else paid_ms - terms.quantum_ms for terms in self.terms]
            for run in range(len(runs)):
                takes_part = writes[run] and run not in runs.shares and runs.leaf[run] >= 0
                if takes_part and runs.tier[run] == tier != Tier.PRODUCTION:
                    for node, _ in runs.footprint(run):
                        if runs.start_ms[run] <= latest_ms[state.table.pool[node]]:
                            known.setdefault(node, []).append(run)
        return known

    def _may_between(self, job_class: JobClass, option: Option, run: int, *, own: bool) -> bool:
        """Fair across queues first: nobody takes turns from a side that holds less than its own, nor from within another's
        nominal while it borrows itself, nor from whom it lost a turn to a moment ago (SCH-17)."""
        state, leaf = self.state, self.state.runs.leaf[run]
        if leaf == job_class.leaf:
            return True
        ours, theirs = state.tree.sides(job_class.leaf, leaf)
        if not ours or not theirs or self._flaps(job_class.queue, run):
            return False
        rank = state.shares.projected_rank
        if rank(ours[-1], _NOTHING) > rank(theirs[-1], _NOTHING):
            return False
        return own or all(self._stands_above(index, option) for index in theirs[-1:])

    def _stands_above(self, index: int, option: Option) -> bool:
        """True where a tree node holds more than its own quota of something asked for, or nothing asked for is limited."""
        state = self.state
        limited = [column for column, amount in option.amounts if amount and state.tree.limited[column]]
        return not limited or any(state.quota_after.borrows(index, column) > 0 for column in limited)

    def _flaps(self, queue: int, run: int) -> bool:
        if self._flapping is None:
            since_ms = self.state.now_ms - self.state.policy.flap_window_ms
            recent = (row for row in self.state.snapshot.evictions if row.at_ms > since_ms)
            self._flapping = frozenset((row.evictor, row.victim) for row in recent)
        return (int(self.state.snapshot.running.queue[run]), queue) in self._flapping
