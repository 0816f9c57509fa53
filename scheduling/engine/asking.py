"""SCH-17: whom a claim asks to leave, one by one. Who may be taken, and whose share is largest, is looked at anew after every choice.

A claim inside its tenant's nominal takes nominal back from borrowers. A claim that borrows asks other borrowers by fair sharing:
first everybody by the policy's first strategy, then, at most once a queue, those left by the second. Both ask their own tenant too.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, heapreplace

from scheduling.engine.candidates import Candidate, CandidateBook, Rank, Share
from scheduling.engine.claims import Claim, reason_to_take
from scheduling.engine.fair_share import FairShare
from scheduling.engine.ladders import Kind, Ladder, is_useful
from scheduling.engine.state import State
from scheduling.engine.vocabulary import PreemptReason

Line = tuple[Rank, int, int, list[Candidate]]
"""(rank now, tenant, place of its next candidate, its candidates): the smallest is asked first."""
_LAST: Share = (0,)
"""Behind every borrower."""


class Asking:
    """One claim's candidates. `own` are those of its tenant that it may take, `reasons` why it may take whom, by run."""

    def __init__(self, state: State, book: CandidateBook, ask: Claim) -> None:
        self._state, self._book, self._ask = state, book, ask
        self._tenant = ask.job_class.tenant
        self._strategies = state.policy.preemption_strategies
        spent = book.fair_claims[ask.job_class.pool] >= state.policy.fair_share_claims
        if spent or state.policy.reclaim == "never":
            self._strategies = ()
        self._fair = FairShare(state, book.guards, ask)
        self._left: list[Candidate] = []
        self._took_from: set[int] = set()
        self.own: list[Candidate] = []
        self.reasons: dict[int, PreemptReason] = {}
        self.asked = False

    def in_order(self) -> Iterator[Candidate]:
        """One by one. The caller takes each out of the picture of *after* before it asks for the next."""
        own = self.own = self._list_own(self._book.of_tenant(self._tenant))
        outside = self._borrowers()
        if not own and not outside:
            return
        self.asked = True
        if self._ask.own and self._goes_down_ladders():
            yield from self._down_ladders(own, outside)
            return
        yield from self._first_pass(own, outside)
        if not self._ask.own and len(self._strategies) > 1:
            yield from self._second_pass(self._strategies[1])

    def may_take(self, candidate: Candidate) -> bool:
        """Whether any rule lets the claim take the run now, out of order; takes note of why, and of whom the second strategy took."""
        reason = reason_to_take(self._state, self._book.guards, self._ask, candidate)
        strategy = self._strategy_for(candidate) if reason is None else ""
        if strategy:
            reason = PreemptReason.FAIR_SHARE
        if reason is None:
            return False
        if strategy and strategy != self._strategies[0]:
            self._took_from.add(candidate.leaf)
        self.reasons[candidate.run] = reason
        return True

    def _strategy_for(self, candidate: Candidate) -> str:
        """The strategy of fair sharing that gives the run: the first, else the second where its queue gave nothing by it yet."""
        if self._ask.own and candidate.tenant != self._tenant:
            return ""
        for place, strategy in enumerate(self._strategies):
            if not (place and candidate.leaf in self._took_from) and self._fair.allows(candidate, strategy):
                return strategy
        return ""

    def start_over(self) -> None:
        """Nobody is chosen any more: each queue may be asked by the second strategy again."""
        self._took_from.clear()

    @property
    def took_from(self) -> frozenset[int]:
        """Queues of which the second strategy took already."""
        return frozenset(self._took_from)

    def few(self, most: int) -> list[Candidate]:
        """Whom the claim might ask, now or once others have gone, in order as things stand; nobody where that are more than `most`.

        A borrower's share falls when its own give way, so for one that has such whose share is smaller now is asked too.
        """
        ranked = [((not one.expired, _LAST, one.key), one) for one in self.own]
        falls = bool(self.own and self._strategies)
        for rank, tenant in self._book.borrowers() if falls else self._borrowers():
            if len(ranked) > most:
                return []
            if tenant != self._tenant:
                line = (one for one in self._book.of_tenant(tenant) if self.is_useful(one))
                ranked += [((not one.expired, rank[1], one.key), one) for one in line]
        return [candidate for _, candidate in sorted(ranked, key=lambda entry: entry[0])] if len(ranked) <= most else []

    def moved(self, candidate: Candidate) -> None:
        """The caller took the run out of the picture, or put it back."""
        self._fair.forget(candidate.leaf)

    def remember_failure(self) -> None:
        """Only nodes were missing: others of this shape need not ask again, by the same rules or by a larger share."""
        depth = len(self._state.tree.path[self._tenant])
        if depth <= 2 and not self.own:
            if self._ask.own:
                self._book.hopeless.add(self._ask.hopeless_key)
            elif depth == 2:
                self._book.give_up(self._ask.hopeless_key, self._fair.rank(self._tenant), self._ask.ends_ms)

    def willing(self) -> tuple[list[Candidate], set[int]]:
        """Everybody who may be taken as things stand, in order, and the tenants outside that they belong to."""
        ranked = [((not candidate.expired, _LAST, candidate.key), candidate) for candidate in self.own]
        givers = set[int]()
        for rank, tenant in self._borrowers():
            if tenant == self._tenant:
                continue
            line = [candidate for candidate in self._book.of_tenant(tenant) if self.is_useful(candidate)]
            line = line if self._ask.own and line and self._gives(line[0]) else self._fair_part(line)
            if line:
                givers.add(tenant)
                ranked += [((not candidate.expired, rank[1], candidate.key), candidate) for candidate in line]
        return [candidate for _, candidate in sorted(ranked, key=lambda entry: entry[0])], givers

    def _fair_part(self, line: list[Candidate]) -> list[Candidate]:
        """Those of a tenant outside whom either strategy gives."""
        if self._ask.own or not line or not self._fair.may_give(line[0]):
            return []
        return [candidate for candidate in line if self._strategy_for(candidate)]

    def _borrowers(self) -> list[tuple[Rank, int]]:
        """The book's own list: it stands still until a claim succeeds, and then nobody asks for more."""
        if not self._ask.own:
            return self._book.borrowers() if self._may_share() else []
        if not self.own and (self._ask.hopeless_key in self._book.hopeless or self._lacks_quota()):
            return []
        return self._book.borrowers()

    def _may_share(self) -> bool:
        """A glance whether fair sharing can give a borrowing claim anything: no borrower with a smaller share is ever taken from."""
        ask = self._ask
        if not self._strategies or ask.hopeless_key in self._book.hopeless or self._lacks_quota():
            return False
        if len(self._state.tree.path[self._tenant]) != 2:
            return True
        ours = self._fair.rank(self._tenant)
        if self._book.is_beyond_help(ask.hopeless_key, ours, ask.ends_ms):
            return False
        for rank, tenant in self._book.borrowers():
            if tenant != self._tenant and ours <= -rank[1][-1]:
                return True
            if tenant != self._tenant and rank[0]:
                return False
        return False

    def _first_pass(self, own: list[Candidate], outside: list[tuple[Rank, int]]) -> Iterator[Candidate]:
        touched: list[Line] = []
        self._push(touched, self._tenant, own, 0)
        cousins = self._book.cousins(self._tenant)
        for tenant in cousins if outside else ():
            self._push(touched, tenant, self._book.of_tenant(tenant), 0)
        others = (entry for entry in outside if entry[1] != self._tenant and entry[1] not in cousins)
        upcoming = next(others, None)
        while touched or upcoming:
            if upcoming and (not touched or upcoming < touched[0][:2]):
                self._push(touched, upcoming[1], self._book.of_tenant(upcoming[1]), 0)
                upcoming = next(others, None)
                continue
            _, taken_from, place, line = heappop(touched)
            taken = self._next_taken(line, place, outside=taken_from != self._tenant)
            if taken < 0:
                continue
            if taken != place:
                self._push(touched, taken_from, line, taken)
                continue
            yield line[taken]
            self._push(touched, taken_from, line, taken + 1)

    def _goes_down_ladders(self) -> bool:
        """Where every tenant stands right below the root, and nominal is taken back from any borrower."""
        return self._state.policy.reclaim == "any" and self._book.is_flat()

    def _down_ladders(self, own: list[Candidate], outside: list[tuple[Rank, int]]) -> Iterator[Candidate]:
        """The first pass of a claim on nominal, with what is known already of where tenants outside stand."""
        lines: list[tuple[Rank, int, int, list[Candidate] | Ladder]] = []
        first = self._entry(self._tenant, own, 0)
        if first is not None:
            lines.append(first)
        ladders, kind = self._book.ladders, self._kind()
        others = (entry for entry in outside if entry[1] != self._tenant)
        upcoming = next(others, None)
        inside = self._stays_inside()
        while lines or upcoming:
            if upcoming and (not lines or upcoming < lines[0]):
                ladder = ladders.of(upcoming[1], kind, self._book.of_tenant(upcoming[1]))
                rung = ladder.rung(0)
                if rung is not None:
                    heappush(lines, (rung[0], upcoming[1], 0, ladder))
                upcoming = next(others, None)
                continue
            _, taken_from, place, line = lines[0]
            if isinstance(line, list):
                heappop(lines)
                taken = self._next_taken(line, place, outside=False)
                if taken == place:
                    yield line[taken]
                    inside = self._stays_inside()
                entry = self._entry(taken_from, line, taken + (taken == place)) if taken >= 0 else None
                if entry is not None:
                    heappush(lines, entry)
                continue
            rung = line.rung(place) if inside else None
            if rung is None or rung[2] is None:
                heappop(lines)
                continue
            self.reasons[rung[1].run] = rung[2]
            yield rung[1]
            rung = line.rung(place + 1)
            if rung is None:
                heappop(lines)
            else:
                heapreplace(lines, (rung[0], taken_from, place + 1, line))

    def _kind(self) -> Kind:
        ask, limited = self._ask, self._state.tree.limited
        return ask.flavors, ask.job_class.pool, tuple(column for column, _ in ask.option.amounts if limited[column])

    def _stays_inside(self) -> bool:
        """Whether the asker's side stays inside its own quota, without which nominal is not taken back."""
        asker, tree = self._ask.job_class, self._state.tree
        top = tree.path[asker.leaf][-2]
        return self._state.quota_after.within(asker.leaf, top, self._ask.option.amounts, asker.tier)

    def _next_taken(self, line: list[Candidate], place: int, *, outside: bool) -> int:
        """Where the tenant's next run stands that the claim may take; -1 where there is none.

        Whether nominal is taken back from a tenant outside is the same for all its runs; fair sharing looks at each.
        """
        if outside and self._ask.own:
            return place if self._takes(line[place]) else -1
        if outside and not self._fair.may_give(line[place]):
            return -1
        for at in range(place, len(line)):
            if self.is_useful(line[at]) and self._takes(line[at]):
                return at
        return -1

    def _takes(self, candidate: Candidate) -> bool:
        """By a rule of its own or the first strategy; a borrower that neither gives stays for the second."""
        reason = reason_to_take(self._state, self._book.guards, self._ask, candidate)
        if reason is None and self._strategies and (candidate.tenant == self._tenant or not self._ask.own):
            if self._fair.allows(candidate, self._strategies[0]):
                reason = PreemptReason.FAIR_SHARE
            else:
                self._left.append(candidate)
        if reason is None:
            return False
        self.reasons[candidate.run] = reason
        return True

    def _second_pass(self, strategy: str) -> Iterator[Candidate]:
        """The first of each queue that is left, the queue with the largest share first."""
        firsts = dict[int, Candidate]()
        for candidate in self._left:
            if candidate.leaf != self._ask.job_class.leaf and self._fair.may_be_asked(candidate):
                firsts.setdefault(candidate.leaf, candidate)
        queues = [(self._fair.share(candidate.tenant), leaf) for leaf, candidate in firsts.items()]
        heapify(queues)
        while queues:
            share, leaf = heappop(queues)
            now = self._fair.share(firsts[leaf].tenant)
            if now != share:
                heappush(queues, (now, leaf))
            elif self._fair.allows(firsts[leaf], strategy):
                self.reasons[firsts[leaf].run] = PreemptReason.FAIR_SHARE
                yield firsts[leaf]

    def _list_own(self, line: list[Candidate]) -> list[Candidate]:
        """Whom the claim may ask of its own tenant. Outside its own queue and tier the rules look at queue and tier only."""
        may: dict[tuple[int, int], bool] = {}
        own, asker = [], self._ask.job_class
        for candidate in line:
            if not self.is_useful(candidate):
                continue
            kind = (candidate.leaf, candidate.tier)
            if kind == (asker.leaf, asker.tier):
                if self._gives(candidate):
                    own.append(candidate)
                continue
            if kind not in may:
                may[kind] = self._gives(candidate)
            if may[kind] or (candidate.leaf != asker.leaf and self._shares_between_queues(candidate)):
                own.append(candidate)
        return own

    def _gives(self, candidate: Candidate) -> bool:
        return reason_to_take(self._state, self._book.guards, self._ask, candidate) is not None

    def _shares_between_queues(self, candidate: Candidate) -> bool:
        return any(self._fair.allows(candidate, strategy) for strategy in self._strategies)

    def _push(self, touched: list[Line], tenant: int, line: list[Candidate], place: int) -> None:
        """Put a tenant's next useful candidate among those to choose from."""
        entry = self._entry(tenant, line, place)
        if entry is not None:
            heappush(touched, entry)

    def _entry(self, tenant: int, line: list[Candidate], place: int) -> Line | None:
        """A tenant's next useful candidate, ranked by the tenant's share as it is now."""
        while place < len(line) and not self.is_useful(line[place]):
            place += 1
        if place == len(line):
            return None
        return (not line[place].expired, self._fair.share(tenant), line[place].key), tenant, place, line

    def is_useful(self, candidate: Candidate) -> bool:
        """Whether the run holds anything the claim could use: a card of its flavors; for CPU-only claims, anything of the pool."""
        return is_useful(candidate, self._ask.flavors, self._ask.job_class.pool)

    def _lacks_quota(self) -> bool:
        """True where the claim's own side has no room however many borrowers leave, and all that it may take of its own tenant."""
        state, job_class = self._state, self._ask.job_class
        use, tree = state.quota_after, state.tree
        return any(
            use.at(index, column) + use.arriving(job_class.leaf, index, column, amount, 0) - self._own_hold(column)
            > tree.potential(index, column)
            for column, amount in self._ask.option.amounts
            if tree.limited[column]
            for index in (job_class.leaf, job_class.tenant)
        )

    def _own_hold(self, column: int) -> int:
        """What those of its own tenant hold that it may take."""
        runs = self._state.runs
        return sum(amount for one in self.own for at, amount in runs.held(one.run) if at == column)
