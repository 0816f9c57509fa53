"""SCH-17: Kueue's two strategies of fair sharing between borrowers, for one claim. Compared exactly, with effective weights (SCH-05).

Both compare over-quota shares of the two branches that meet in the lowest node of the tree common to asker and victim: the asker's
with its ask in, the victim's before the run leaves or after. Kueue KEP-1714.
"""

from scheduling.engine.candidates import Candidate, Share
from scheduling.engine.claims import Claim, between, stands_above
from scheduling.engine.guards import Guards
from scheduling.engine.policy import FINAL_SHARE
from scheduling.engine.quota import Amount
from scheduling.engine.share import over_quota_rank
from scheduling.engine.state import State

Kind = tuple[int, int, tuple[Amount, ...]]
"""(queue's node, tier, what the run holds): runs that are alike to fair sharing."""


class FairShare:
    """What fair sharing lets a claim take, as things stand after those already chosen have gone.

    Ranks of tree nodes are kept until somebody of theirs leaves or comes back: `forget` says so.
    """

    def __init__(self, state: State, guards: Guards, ask: Claim) -> None:
        self._state, self._guards, self._ask = state, guards, ask
        self._path = frozenset(state.tree.path[ask.job_class.leaf])
        self._ranks: dict[int, int] = {}
        self._allowed: dict[tuple[str, Kind], bool] = {}

    def rank(self, index: int) -> int:
        """Of a tree node's over-quota share; on the asker's own branch, with the ask in it."""
        known = self._ranks.get(index)
        if known is None:
            use, job_class = self._state.quota_after, self._ask.job_class
            if index in self._path:
                known = over_quota_rank(use, index, self._ask.option.amounts, job_class.leaf)
            else:
                known = over_quota_rank(use, index)
            self._ranks[index] = known
        return known

    def share(self, tenant: int) -> Share:
        """The tenant's shares down the tree, as the book of candidates orders borrowers by."""
        path = self._state.tree.path[tenant]
        return (-self.rank(tenant),) if len(path) == 2 else tuple(-self.rank(index) for index in reversed(path[:-1]))

    def forget(self, leaf: int) -> None:
        """A queue's use has changed."""
        if self._ranks:
            for index in self._state.tree.path[leaf]:
                self._ranks.pop(index, None)
        if self._allowed:
            self._allowed.clear()

    def kind(self, candidate: Candidate) -> Kind:
        return candidate.leaf, candidate.tier, self._state.runs.held(candidate.run)

    def allows(self, candidate: Candidate, strategy: str) -> bool:
        """Whether one strategy lets the claim take this run. False under different roots, and inside one queue."""
        if not self.may_be_asked(candidate):
            return False
        key = (strategy, self.kind(candidate))
        known = self._allowed.get(key)
        if known is None:
            known = self._allowed[key] = self._weigh(candidate, strategy)
        return known

    def _weigh(self, candidate: Candidate, strategy: str) -> bool:
        asker = self._ask.job_class
        ours, theirs = self._state.tree.sides(asker.leaf, candidate.leaf)
        if not ours or not theirs:
            return False
        our_rank, their_rank = self.rank(ours[-1]), self.rank(theirs[-1])
        if our_rank > their_rank or (strategy != FINAL_SHARE and our_rank == their_rank):
            return False
        branch = between(theirs, candidate, asker.tenant)
        if not all(stands_above(self._state, index, self._ask, level=candidate.tier) for index in branch):
            return False
        return strategy != FINAL_SHARE or our_rank <= self._rank_without(theirs[-1], candidate)

    def may_give(self, candidate: Candidate) -> bool:
        """A glance at the candidate's branch: no strategy takes from one whose share is below the asker's to be."""
        ours, theirs = self._state.tree.sides(self._ask.job_class.leaf, candidate.leaf)
        return bool(ours and theirs) and self.rank(ours[-1]) <= self.rank(theirs[-1])

    def may_be_asked(self, candidate: Candidate) -> bool:
        """Neither in its minimum run time or its turn, nor of a queue that lately took from the asker's."""
        asker, guards = self._ask.job_class.leaf, self._guards
        if not guards.runs_long_enough(candidate.start_ms) or guards.would_flap(asker, candidate.leaf):
            return False
        return guards.has_had_its_turn(candidate.start_ms, candidate.pools)

    def _rank_without(self, index: int, candidate: Candidate) -> int:
        """Of the victim's side once the run has left."""
        use, held = self._state.quota_after, self._state.runs.held(candidate.run)
        use.refund(candidate.leaf, held, candidate.tier)
        rank = over_quota_rank(use, index)
        use.charge(candidate.leaf, held, candidate.tier)
        return rank
