"""SCH-17: what a claim is, and whom it may ask to leave.

Fair-share and priority preemption, which come later, are two more clauses of `may_take`.
"""

from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate
from scheduling.engine.classes import JobClass
from scheduling.engine.state import State
from scheduling.engine.vocabulary import Tier


@dataclass(frozen=True, slots=True)
class Claim:
    """A job on whose behalf others may have to leave, by one flavor choice. `own`: it stays inside its tenant's nominal."""

    job_class: JobClass
    option: Option
    own: bool
    flavors: frozenset[int]
    ends_ms: int

    @property
    def hopeless_key(self) -> tuple[int, ...]:
        return (self.job_class.shape_index, self.job_class.pool, *sorted(self.flavors))


def may_take(state: State, ask: Claim, candidate: Candidate) -> bool:
    """Whether the rules let this claim take this run, as things stand after those already chosen have gone."""
    asker = ask.job_class
    if candidate.tenant == asker.tenant:
        if candidate.tier == Tier.BATCH:
            return True
        if ask.own and candidate.tier < asker.tier and _stands_above(state, asker.tenant, ask, with_ask=True):
            return True
        return _reclaims(state, ask, candidate)
    return ask.own and _reclaims(state, ask, candidate)


def _reclaims(state: State, ask: Claim, candidate: Candidate) -> bool:
    """Reclaim of nominal: the asker's side stays inside its own quota, and everything on the victim's side is above its quota.

    The sides are the branches below the lowest node of the tree that both belong to. Across tenants the victim's tenant counts,
    not its queue: own is what stays inside the tenant's nominal.
    """
    asker = ask.job_class
    ours, theirs = state.tree.sides(asker.leaf, candidate.leaf)
    if not ours or not theirs:
        return False
    if candidate.tenant != asker.tenant and len(theirs) > 1:
        theirs = theirs[1:]
    for index in theirs:
        if not _stands_above(state, index, ask):
            return False
    return state.quota_after.within(asker.leaf, ours[-1], ask.option.amounts, asker.tier)


def _stands_above(state: State, index: int, ask: Claim, *, with_ask: bool = False) -> bool:
    """True where a tree node holds more than its own quota of something that the claim asks for."""
    use, tree = state.quota_after, state.tree
    for column, amount in ask.option.amounts:
        if not tree.limited[column]:
            continue
        held = use.at(index, column)
        if with_ask:
            held += use.arriving(ask.job_class.leaf, index, column, amount, 0)
        if held > tree.subtree[index][column]:
            return True
    return False
