"""SCH-17: who leaves so that a claim can start, decided together with the place the claim will take.

Three kinds of claim exist in this version: on the tenant's nominal (from borrowers outside, from lower tiers of its own tenant
that would stand above nominal, from a sibling queue above its own nominal), and on the batch work of one's own tenant. Batch
claims nothing. Whom a claim may ask is in `claims`.

Candidates go in the order of SCH-17: expired loans, borrowers by over-quota share, lower tier, lower priority, least work lost,
newest start, id. Those already leaving come first of all by being gone from the picture of *after*. Greedy, then a reverse pass
puts back whoever proved unnecessary.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from scheduling.engine.candidates import Candidate, CandidateBook, Rank
from scheduling.engine.claims import Claim, may_take
from scheduling.engine.classes import JobClass
from scheduling.engine.clearing import cheapest_nodes
from scheduling.engine.fit import end_of, heads_allow, within_pool_share
from scheduling.engine.nodes import Limits
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.room import RoomCount
from scheduling.engine.share import over_quota_rank
from scheduling.engine.state import Kept, State, Victim
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.vocabulary import Tier, TopologyMode

MOST_NODES_PER_POD, MOST_NODES = 4, 64
"""How many nodes a claim tries to clear one by one before it gives up."""


def claim(state: State, rules: TierRules, book: CandidateBook, job: int, job_class: JobClass) -> bool:
    """Evict whoever has to leave for the job and keep their place for it; False, and nothing changed, where that cannot help."""
    if job_class.tier == Tier.BATCH:
        return False
    for option in job_class.options:
        standing = rules.standing(state.quota_after, job_class, option.amounts)
        if standing == Standing.BARRED or not within_pool_share(state, job_class, option):
            continue
        flavors = frozenset(ask.flavor for ask in option.gang if ask.flavor >= 0)
        ask = Claim(job_class, option, standing == Standing.OWN, flavors, _ends_ms(state, job))
        found = _Search(state, rules, book, ask).run()
        if found is not None:
            _commit(state, book, job, ask, *found)
            return True
    return False


def _ends_ms(state: State, job: int) -> int:
    """When the job would end at the latest, if those who leave take their whole grace."""
    grace_ms = max(state.policy.grace_batch_ms, state.policy.grace_development_ms)
    return end_of(int(state.snapshot.pending.limit_ms[job]), state.now_ms + grace_ms)


def _commit(state: State, book: CandidateBook, job: int, ask: Claim, chosen: list[Candidate], placed: Placed) -> None:
    """Make the search's find true: the chosen are out of the picture of *after* already."""
    for_job = state.snapshot.pending.ids[job]
    for candidate in chosen:
        leaves_ms = state.now_ms + book.grace_ms(candidate.run)
        state.give_notice(Victim(candidate.run, for_job, book.reason(candidate)), leaves_ms)
    state.keep(Kept(job, ask.job_class, placed, ask.option.amounts, state.freed_ms(placed)))


class _Search:
    """One claim's search in the picture of *after*: the victims it finds are out of it when it returns, nobody else."""

    def __init__(self, state: State, rules: TierRules, book: CandidateBook, ask: Claim) -> None:
        self._state, self._rules, self._book, self._ask = state, rules, book, ask
        self._largest = max(ask.option.gang, key=lambda each: (each.cards_m, each.cpu_m))
        self._limits = state.limits(ask.ends_ms)
        self._counted: RoomCount | None = None
        required = ask.job_class.shape.topology == TopologyMode.REQUIRED
        self._counts_tell = len(ask.option.gang) == 1 and not required
        """Pods of one role that may stand anywhere have a place as soon as there is room for enough of them."""
        self._chosen: list[Candidate] = []
        self._gone: list[Candidate] = []
        self._own: list[Candidate] = []
        self._tried = False

    @property
    def _room(self) -> RoomCount:
        """Counted when the first candidate goes: most claims find a place without, or nobody whom they may ask."""
        if self._counted is None:
            self._counted = RoomCount(self._state.after, self._largest, self._ask.job_class.pool, self._limits)
        return self._counted

    def run(self) -> tuple[list[Candidate], Placed] | None:
        """The victims in the order they were chosen, and the place; None where nobody's leaving helps."""
        placed = self._place() if self._ask.own else None
        if placed is None:
            for candidate in self._candidates():
                self._vacate(candidate, 1)
                self._chosen.append(candidate)
                placed = self._place()
                if placed is not None:
                    break
        if placed is None and self._tried:
            only_nodes = self._state.quota_after.allows(self._ask.job_class.leaf, self._ask.option.amounts)
            self._put_back(self._chosen)
            placed = self._node_by_node()
            if placed is None and only_nodes:
                self._remember_hopeless()
        if placed is None:
            self._put_back(self._chosen)
            return None
        return self._chosen, self._drop_unneeded(placed)

    def _put_back(self, chosen: list[Candidate]) -> None:
        while chosen:
            self._vacate(chosen.pop(), -1)

    def _node_by_node(self) -> Placed | None:
        """Taken in order the candidates are used up before any node is clear: clear the nodes that cost least, one at a time."""
        state, ask = self._state, self._largest
        excess, willing = self._willing()
        for node, leavers in cheapest_nodes(state, ask, willing, excess)[: MOST_NODES_PER_POD * ask.count + MOST_NODES]:
            if not self._room.counts(node):
                continue
            before, taken = self._room.total, []
            for candidate in leavers:
                if candidate not in self._gone and may_take(state, self._ask, candidate):
                    self._vacate(candidate, 1)
                    taken.append(candidate)
            if self._room.total == before:
                self._put_back(taken)
                continue
            self._chosen += taken
            placed = self._place()
            if placed is not None:
                return placed
        return None

    def _willing(self) -> tuple[dict[int, int], list[Candidate]]:
        """Everybody who may be taken as things stand, in order, and how far each other tenant is above its quota."""
        state, book, asker = self._state, self._book, self._ask.job_class
        column = self._largest.flavor if self._largest.flavor >= 0 else len(state.snapshot.flavors)
        excess: dict[int, int] = {}
        ranked = [((not candidate.expired, 0, candidate.key), candidate) for candidate in self._own]
        for rank, tenant in book.borrowers() if self._ask.own else ():
            line = [] if tenant == asker.tenant else [c for c in book.of_tenant(tenant) if self._is_useful(c)]
            if line and may_take(state, self._ask, line[0]):
                excess[tenant] = state.quota_after.borrows(tenant, column)
                ranked += [((not candidate.expired, rank[1], candidate.key), candidate) for candidate in line]
        return excess, [candidate for _, candidate in sorted(ranked, key=lambda entry: entry[0])]

    def _vacate(self, candidate: Candidate, sign: int) -> None:
        """Take a candidate out (sign -1: put it back), keeping count of the room for the claim's largest pods."""
        state, room = self._state, self._room
        state.vacate(candidate.run, state.after, state.quota_after, sign)
        if state.heads:
            state.vacate_head_nodes(candidate.run, sign)
        room.recount([node for node, _ in state.runs.footprint(candidate.run)])
        if sign > 0:
            self._gone.append(candidate)
        else:
            self._gone.remove(candidate)

    def _place(self) -> Placed | None:
        return self._anywhere(self._limits) if self._has_room() else None

    def _has_room(self) -> bool:
        """In nodes as far as they are counted, in quota and beside the heads; whether it makes a place see `_counts_tell`."""
        ask = self._ask
        if self._counted is not None and self._counted.total < self._largest.count:
            return False
        if not self._state.quota_after.allows(ask.job_class.leaf, ask.option.amounts):
            return False
        return not self._limits or self._heads_keep_their_quota()

    def _heads_keep_their_quota(self) -> bool:
        """First as if nobody had left; only where that is not enough, with what the chosen would still hold at a head's time."""
        state, ask = self._state, self._ask
        if heads_allow(state, self._rules, ask.job_class, ask.option.amounts, ask.ends_ms):
            return True
        for candidate in self._gone:
            state.vacate_head_quota(candidate.run)
        allowed = heads_allow(state, self._rules, ask.job_class, ask.option.amounts, ask.ends_ms)
        for candidate in self._gone:
            state.vacate_head_quota(candidate.run, sign=-1)
        return allowed

    def _anywhere(self, limits: Limits) -> Placed | None:
        job_class = self._ask.job_class
        return place_gang(self._state.after, self._ask.option.gang, job_class.shape, pool=job_class.pool, limits=limits)

    def _drop_unneeded(self, placed: Placed) -> Placed:
        """Reverse pass: whoever can stay stays. The last chosen made the place, so the pass begins before it."""
        before = len(self._chosen)
        for candidate in reversed(self._chosen[:-1]):
            self._vacate(candidate, -1)
            if self._has_room() and (self._counts_tell or self._anywhere(self._limits) is not None):
                self._chosen.remove(candidate)
            else:
                self._vacate(candidate, 1)
        if len(self._chosen) == before:
            return placed
        return self._place() or placed

    def _candidates(self) -> Iterator[Candidate]:
        """One by one; who may be taken and whose share is largest is asked anew after every choice."""
        book, tenant = self._book, self._ask.job_class.tenant
        own = self._own = self._list_own(book.of_tenant(tenant))
        if not own and (not self._ask.own or self._ask.hopeless_key in book.hopeless or self._lacks_quota()):
            return
        self._tried = True
        touched: list[tuple[Rank, int, int, list[Candidate]]] = []
        self._push(touched, tenant, own, 0)
        # The book's own list: it stands still until a claim succeeds, and then nobody asks for more.
        outside = (entry for entry in (book.borrowers() if self._ask.own else ()) if entry[1] != tenant)
        upcoming = next(outside, None)
        while touched or upcoming:
            if upcoming and (not touched or upcoming < touched[0][:2]):
                self._push(touched, upcoming[1], book.of_tenant(upcoming[1]), 0)
                upcoming = next(outside, None)
                continue
            _, taken_from, place, line = heappop(touched)
            if may_take(self._state, self._ask, line[place]):
                yield line[place]
            elif taken_from != tenant:
                continue
            self._push(touched, taken_from, line, place + 1)

    def _list_own(self, line: list[Candidate]) -> list[Candidate]:
        """Whom the claim may take of its own tenant. The rules look at a run's queue and tier only, so one speaks for its like."""
        may: dict[tuple[int, int], bool] = {}
        own = []
        for candidate in line:
            if self._is_useful(candidate):
                kind = (candidate.leaf, candidate.tier)
                if kind not in may:
                    may[kind] = may_take(self._state, self._ask, candidate)
                if may[kind]:
                    own.append(candidate)
        return own

    def _push(
        self, touched: list[tuple[Rank, int, int, list[Candidate]]], tenant: int, line: list[Candidate], place: int
    ) -> None:
        """Put a tenant's next useful candidate among those to choose from, ranked by the tenant's share as it is now."""
        while place < len(line) and not self._is_useful(line[place]):
            place += 1
        if place == len(line):
            return
        ask = self._ask
        if tenant == ask.job_class.tenant:
            share = over_quota_rank(self._state.quota_after, tenant, ask.option.amounts, ask.job_class.leaf)
        else:
            share = self._book.share_rank(tenant)
        heappush(touched, ((not line[place].expired, -share, line[place].key), tenant, place, line))

    def _is_useful(self, candidate: Candidate) -> bool:
        """Whether the run holds anything the claim could use: a card of its flavors; for CPU-only claims, anything of the pool."""
        if self._ask.flavors:
            return not self._ask.flavors.isdisjoint(candidate.flavors)
        return self._ask.job_class.pool in candidate.pools

    def _lacks_quota(self) -> bool:
        """True where the claim's own side has no room however many borrowers leave."""
        state, job_class = self._state, self._ask.job_class
        use, tree = state.quota_after, state.tree
        return any(
            use.at(index, column) + use.arriving(job_class.leaf, index, column, amount, 0)
            > tree.potential(index, column)
            for column, amount in self._ask.option.amounts
            if tree.limited[column]
            for index in (job_class.leaf, job_class.tenant)
        )

    def _remember_hopeless(self) -> None:
        """Where only nodes were missing, others of this shape need not ask the same borrowers again in this cycle."""
        state, job_class = self._state, self._ask.job_class
        if len(state.tree.path[job_class.tenant]) <= 2 and not self._own:
            self._book.hopeless.add(self._ask.hopeless_key)
