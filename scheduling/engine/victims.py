"""SCH-17: who leaves so that a claim can start, decided together with the place the claim will take.

A claim takes nominal back (from borrowers outside, from lower tiers of its own tenant that would stand above nominal, from a
sibling queue above its own nominal), or shares fairly with other borrowers, or outranks a lower priority of its own queue, or has
the batch work of its own tenant yield. Batch claims nothing. Whom a claim may ask is in `claims` and `fair_share`, in which order
it asks in `asking`.

Candidates go in the order of SCH-17: expired loans, borrowers by over-quota share, lower tier, lower priority, least work lost,
newest start, id. Those already leaving come first of all by being gone from the picture of *after*. Greedy, then a reverse pass
puts back whoever proved unnecessary.
"""

from collections.abc import Sequence
from typing import Final

from scheduling.engine.asking import Asking
from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate, CandidateBook
from scheduling.engine.claims import Claim
from scheduling.engine.classes import JobClass
from scheduling.engine.clearing import cheapest_nodes
from scheduling.engine.departures import Departures
from scheduling.engine.few import MOST_TRIED, are_alike, drop_unjustified, find_fewest
from scheduling.engine.fit import end_of, heads_allow, pool_share_room, within_pool_share
from scheduling.engine.free import Limits
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.state import Kept, State, Victim
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.vocabulary import PreemptReason, Tier, TopologyMode

MOST_NODES_PER_POD, MOST_NODES = 4, 64
"""How many nodes a claim tries to clear one by one before it gives up."""
MOST_FREED: Final = 8
"""How many times its own cards a borrower lets others free in order, wherever they run, before it clears node by node."""


def claim(
    state: State, rules: TierRules, book: CandidateBook, job: int, job_class: JobClass, options: Sequence[Option]
) -> bool:
    """Evict whoever has to leave for the job and keep their place for it; False, and nothing changed, where that cannot help."""
    if job_class.tier == Tier.BATCH:
        return False
    for option in options:
        standing = rules.standing(state.quota_after, job_class, option.amounts)
        if standing == Standing.BARRED or not _may_fit_pool_share(state, book, job_class, option):
            continue
        flavors = frozenset(ask.flavor for ask in option.gang if ask.flavor >= 0)
        pending, own = state.snapshot.pending, standing == Standing.OWN
        priority, submit_ms = int(pending.priority[job]), int(pending.submit_ms[job])
        ask = Claim(job_class, option, own, flavors, _ends_ms(state, job), priority, submit_ms)
        search = _Search(state, rules, book, ask)
        placed = search.run()
        if placed is not None:
            _commit(state, book, job, ask, search.chosen(), placed)
            return True
    return False


def _may_fit_pool_share(state: State, book: CandidateBook, job_class: JobClass, option: Option) -> bool:
    """Whether the queue's maximum share of the pool covers the claim, at least once its own lower tiers and priorities have left."""
    room = pool_share_room(state, job_class)
    if room is None or option.cards_m <= room:
        return True
    own = (one for one in book.of_tenant(job_class.tenant) if one.leaf == job_class.leaf and one.tier <= job_class.tier)
    return option.cards_m <= room + sum(state.runs.total_cards_m(one.run) for one in own)


def _ends_ms(state: State, job: int) -> int:
    """When the job would end at the latest, if those who leave take their whole grace."""
    grace_ms = max(state.policy.grace_batch_ms, state.policy.grace_development_ms)
    return end_of(int(state.snapshot.pending.limit_ms[job]), state.now_ms + grace_ms)


def _commit(
    state: State, book: CandidateBook, job: int, ask: Claim, chosen: Sequence[tuple[int, PreemptReason]], placed: Placed
) -> None:
    """Make the search's find true: the chosen runs are out of the picture of *after* already."""
    for_job = state.snapshot.pending.ids[job]
    if any(reason == PreemptReason.FAIR_SHARE for _, reason in chosen):
        book.fair_claims[ask.job_class.pool] += 1
    for run, reason in chosen:
        state.give_notice(Victim(run, for_job, reason), state.now_ms + book.grace_ms(run))
    state.keep(Kept(job, ask.job_class, placed, ask.option.amounts, state.freed_ms(placed)))


class _Search:
    """One claim's search in the picture of *after*: the victims it finds are out of it when it returns, nobody else."""

    def __init__(self, state: State, rules: TierRules, book: CandidateBook, ask: Claim) -> None:
        self._state, self._rules, self._book, self._ask = state, rules, book, ask
        self._largest = max(ask.option.gang, key=lambda each: (each.cards_m, each.cpu_m))
        self._limits = state.limits(ask.ends_ms)
        required = ask.job_class.shape.topology == TopologyMode.REQUIRED
        self._counts_tell = len(ask.option.gang) == 1 and not required
        """Pods of one role that may stand anywhere have a place as soon as there is room for enough of them."""
        self._chosen: list[Candidate] = []
        self._departures = Departures(state, self._largest, ask.job_class.pool, self._limits, put_off=self._counts_tell)
        self.asking = Asking(state, book, ask)
        self._freed_m = 0
        self._has_share = pool_share_room(state, ask.job_class) is not None

    def chosen(self) -> list[tuple[int, PreemptReason]]:
        """The victims' runs in the order they were chosen, each with why it may be taken."""
        return [(candidate.run, self.asking.reasons[candidate.run]) for candidate in self._chosen]

    def run(self) -> Placed | None:
        """The place that the leaving of the chosen makes; None, and nobody chosen, where nobody's leaving helps."""
        placed = self.place() if self._ask.own else None
        if placed is None:
            placed = self._one_by_one()
        if placed is None and self.asking.asked:
            only_nodes = self._allowed_by_quota()
            self.put_back(self._chosen)
            placed = self._node_by_node()
            if placed is None:
                self.put_back(self._chosen)
                placed = self._among_few()
            if placed is None and only_nodes:
                self.asking.remember_failure()
        if placed is None:
            self.put_back(self._chosen)
            return None
        return self._fewest_alike(self._drop_unneeded(placed))

    def _among_few(self) -> Placed | None:
        """Neither in order nor node by node: where few may be asked, try every set of them."""
        candidates = self.asking.few(MOST_TRIED)
        found = find_fewest(self, candidates, len(candidates)) if candidates else None
        if found is None:
            return None
        self._chosen, placed = found
        return placed

    def _fewest_alike(self, placed: Placed) -> Placed:
        """Of runs that only their id tells apart, as few as possible leave; of others those who come first in order."""
        chosen = self._chosen
        if len(chosen) < 2 or not are_alike(chosen):
            return placed
        reasons, self._chosen = dict(self.asking.reasons), []
        self.put_back(chosen[:])
        candidates, found = self.asking.few(MOST_TRIED), None
        if are_alike(candidates):
            found = find_fewest(self, candidates, len(chosen) - 1)
        if found is not None:
            self._chosen, placed = found
            return placed
        self._chosen, self.asking.reasons = chosen, reasons
        for candidate in chosen:
            self.take_out(candidate)
        return placed

    def _one_by_one(self) -> Placed | None:
        """Let candidates go in order until there is a place. A borrower that finds one where others leave anyway takes nobody out, as a claim on nominal does."""
        borrows, chosen, departures = not self._ask.own, self._chosen, self._departures
        for candidate in self.asking.in_order():
            if borrows:
                placed = None if chosen else self.place()
                if placed is not None:
                    return placed
                if self._freed_m >= MOST_FREED * self._ask.option.cards_m > 0:
                    return None
                self._freed_m += self._state.runs.total_cards_m(candidate.run)
            departures.take_out(candidate)
            self.asking.moved(candidate)
            chosen.append(candidate)
            placed = None if departures.lacks_room() else self.place()
            if placed is not None:
                return placed
        return None

    def put_back(self, chosen: list[Candidate]) -> None:
        while chosen:
            candidate = chosen.pop()
            self._departures.put_back(candidate)
            self.asking.moved(candidate)
        if not self._chosen:
            self.asking.start_over()

    def _node_by_node(self) -> Placed | None:
        """Taken in order the candidates are used up before any node is clear: clear the nodes that cost least, one at a time."""
        state, ask = self._state, self._largest
        room = self._departures.room
        excess, willing = self._willing()
        for node, leavers in cheapest_nodes(state, ask, willing, excess)[: MOST_NODES_PER_POD * ask.count + MOST_NODES]:
            if not room.counts(node):
                continue
            before, taken = room.total, []
            for candidate in leavers:
                if candidate not in self._departures.gone and self.asking.may_take(candidate):
                    self.take_out(candidate)
                    taken.append(candidate)
            if room.total == before:
                self.put_back(taken)
                continue
            self._chosen += taken
            placed = self.place()
            if placed is not None:
                return placed
        return None

    def _willing(self) -> tuple[dict[int, int], list[Candidate]]:
        """Everybody who may be taken as things stand, in order, and how far each other tenant is above its quota."""
        state = self._state
        column = self._largest.flavor if self._largest.flavor >= 0 else len(state.snapshot.flavors)
        willing, givers = self.asking.willing()
        return {tenant: state.quota_after.borrows(tenant, column) for tenant in givers}, willing

    def take_out(self, candidate: Candidate) -> None:
        self._departures.take_out(candidate)
        self.asking.moved(candidate)

    def place(self) -> Placed | None:
        return self._anywhere(self._limits) if self._has_room() else None

    def _has_room(self) -> bool:
        """In nodes as far as they are counted, in quota and beside the heads; whether it makes a place see `_counts_tell`."""
        return not self._departures.lacks_room() and self._quota_has_room()

    def _quota_has_room(self) -> bool:
        if not self._allowed_by_quota():
            return False
        return not self._limits or self._heads_keep_their_quota()

    def _allowed_by_quota(self) -> bool:
        """By the tree, and by the queue's maximum share of the pool."""
        job_class, option = self._ask.job_class, self._ask.option
        if not self._state.quota_after.allows(job_class.leaf, option.amounts):
            return False
        return not self._has_share or within_pool_share(self._state, job_class, option)

    def _heads_keep_their_quota(self) -> bool:
        """First as if nobody had left; only where that is not enough, with what the chosen would still hold at a head's time."""
        state, ask = self._state, self._ask
        if heads_allow(state, self._rules, ask.job_class, ask.option.amounts, ask.ends_ms):
            return True
        for candidate in self._departures.gone:
            state.vacate_head_quota(candidate.run)
        allowed = heads_allow(state, self._rules, ask.job_class, ask.option.amounts, ask.ends_ms)
        for candidate in self._departures.gone:
            state.vacate_head_quota(candidate.run, sign=-1)
        return allowed

    def _anywhere(self, limits: Limits) -> Placed | None:
        job_class = self._ask.job_class
        return place_gang(self._state.after, self._ask.option.gang, job_class.shape, pool=job_class.pool, limits=limits)

    def _drop_unneeded(self, placed: Placed) -> Placed:
        """Reverse pass: whoever can stay stays. The last chosen made the place, so the pass begins before it."""
        if self._shares_and_gives():
            self._departures.settle()
            chosen, self._chosen = self._chosen, []
            self._chosen, placed = drop_unjustified(self, chosen, placed)
            return placed
        before, last = len(self._chosen), self._chosen[-1:]
        if not (self._counts_tell and self._drop_at_once()):
            for candidate in reversed(self._chosen[:-1]):
                self._departures.put_back(candidate)
                if self._has_room() and (self._counts_tell or self._anywhere(self._limits) is not None):
                    continue
                self._departures.take_out(candidate)
        self._departures.settle()
        gone = self._departures.gone
        self._chosen = [candidate for candidate in self._chosen[:-1] if candidate in gone] + last
        if len(self._chosen) == before:
            return placed
        return self.place() or placed

    def _shares_and_gives(self) -> bool:
        """Whether few are chosen, some of them of the claim's own tenant and some by fair sharing."""
        if self._ask.own or len(self._chosen) > MOST_TRIED:
            return False
        return {each.tenant == self._ask.job_class.tenant for each in self._chosen} == {True, False}

    def _drop_at_once(self) -> bool:
        """The same where it is plain: those without whom no node has less room stay together, the others one by one.

        Whoever stays takes from quota, never gives. So if quota has room when all of them stay, it has at every step of the pass; if
        not, nothing is changed, and False.
        """
        departures = self._departures
        dropped = departures.put_back_idle(self._chosen[-1]) if self._chosen else []
        plain = self._quota_has_room()
        for candidate in reversed(self._chosen[:-1] if plain else []):
            if candidate in departures.gone:
                departures.put_back(candidate)
                if departures.lacks_room():
                    departures.take_out(candidate)
                    continue
                dropped.append(candidate)
                plain = plain and self._quota_has_room()
        if not plain:
            for candidate in dropped:
                departures.take_out(candidate)
        return plain
