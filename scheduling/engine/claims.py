"""SCH-17: what a claim is, and whom it may ask to leave whatever the shares are. Fair sharing between borrowers is in `fair_share`."""

from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate
from scheduling.engine.classes import JobClass
from scheduling.engine.guards import Guards
from scheduling.engine.ladders import of_nominal
from scheduling.engine.state import State
from scheduling.engine.vocabulary import PreemptReason, Tier


@dataclass(frozen=True, slots=True)
class Claim:
    """A job on whose behalf others may have to leave, by one flavor choice. `own`: it stays inside its tenant's nominal."""

    job_class: JobClass
    option: Option
    own: bool
    flavors: frozenset[int]
    ends_ms: int
    priority: int
    submit_ms: int

    @property
    def hopeless_key(self) -> tuple[int, ...]:
        """Alike to every queue; shares of cards only to those of one tenant."""
        whose = (-1 - self.job_class.tenant,) if any(ask.share is not None for ask in self.option.gang) else ()
        return (self.job_class.shape_index, self.job_class.pool, *sorted(self.flavors), *whose)


def reason_to_take(state: State, guards: Guards, ask: Claim, candidate: Candidate) -> PreemptReason | None:
    """Why the claim may take this run, as things stand after those already chosen have gone; None where no rule says so.

    Of several reasons the first in the contract's order is told.
    """
    asker = ask.job_class
    if candidate.tenant == asker.tenant:
        if candidate.tier == Tier.BATCH:
            return PreemptReason.YIELD
        lower = candidate.tier < asker.tier
        if ask.own and lower and stands_above(state, asker.tenant, ask, level=candidate.tier, with_ask=True):
            return of_nominal(candidate)
    if _reclaims(state, ask, candidate):
        return of_nominal(candidate)
    return PreemptReason.PRIORITY if _outranks(state, guards, ask, candidate) else None


def _outranks(state: State, guards: Guards, ask: Claim, candidate: Candidate) -> bool:
    """Inside one queue and tier: a lower priority leaves, also for an ask that borrows."""
    asker, within = ask.job_class, state.policy.within_queue
    if candidate.leaf != asker.leaf or candidate.tier != asker.tier or within == "never":
        return False
    if candidate.priority >= ask.priority and not (
        within == "lower-or-newer-equal-priority"
        and candidate.priority == ask.priority
        and candidate.submit_ms > ask.submit_ms
    ):
        return False
    return guards.runs_long_enough(candidate.start_ms)


def _reclaims(state: State, ask: Claim, candidate: Candidate) -> bool:
    """Reclaim of nominal: the asker's side stays inside its own quota, and everything on the victim's side is above its quota."""
    asker = ask.job_class
    if not ask.own and candidate.tenant != asker.tenant:
        return False
    ours, theirs = state.tree.sides(asker.leaf, candidate.leaf)
    if not ours or not theirs or not _may_be_reclaimed(state, ask, candidate):
        return False
    above = (
        stands_above(state, index, ask, level=candidate.tier) for index in between(theirs, candidate, asker.tenant)
    )
    if not all(above):
        return False
    return state.quota_after.within(asker.leaf, ours[-1], ask.option.amounts, asker.tier)


def _may_be_reclaimed(state: State, ask: Claim, candidate: Candidate) -> bool:
    reclaim = state.policy.reclaim
    return reclaim == "any" or (reclaim == "lower-priority" and candidate.priority < ask.priority)


def between(theirs: tuple[int, ...], candidate: Candidate, tenant: int) -> tuple[int, ...]:
    """The nodes of the victim's branch that must stand above their quota.

    Across tenants the victim's tenant counts, not its queue: own is what stays inside the tenant's nominal.
    """
    return theirs[1:] if candidate.tenant != tenant and len(theirs) > 1 else theirs


def stands_above(state: State, index: int, ask: Claim, *, level: int = 0, with_ask: bool = False) -> bool:
    """True where a tree node holds more than its own quota of something that the claim asks for, seen from a tier's level.

    Nominal fills from the highest tier down (SCH-01): what a tenant's batch borrows is not a reason to take its development.
    """
    use, tree = state.quota_after, state.tree
    for column, amount in ask.option.amounts:
        if not tree.limited[column]:
            continue
        held = use.at(index, column, level)
        if with_ask:
            held += use.arriving(ask.job_class.leaf, index, column, amount, level)
        if held > tree.subtree[index][column]:
            return True
    return False
