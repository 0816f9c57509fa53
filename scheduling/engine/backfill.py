"""SCH-08, EASY backfill: the first blocked jobs get nodes and quota at the earliest time that declared limits allow.

A later job passes if it ends before that time by its own limit, or touches nothing reserved. A run that declares no limit is
never assumed to end; a head without a finite time gets no reservation (until SCH-07).
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from scheduling.engine.asks import Option, ShareHold
from scheduling.engine.classes import JobClass
from scheduling.engine.free import Free, Leftover, moved, shifted
from scheduling.engine.nodes import NodeBook
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.quota import Amount, QuotaUse
from scheduling.engine.room import RoomCount
from scheduling.engine.runs import RunTable
from scheduling.engine.state import Head, State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.units import NEVER

NOTHING: Final[Free] = (0, 0, 0, 0)


class Ending(NamedTuple):
    """What is given back at `at_ms`: quota by (leaf, tier), what was held of nodes, shares of cards. Quota comes back in any order."""

    at_ms: int
    refunds: Sequence[tuple[int, int, Iterable[Amount]]]
    freed: Sequence[tuple[int, Free]]
    shares: Sequence[ShareHold] = ()


class Timeline:
    """Ends known by declared limits or notices, soonest first. Runs are read once a cycle; starts and heads are added.

    What runs of one instant give back is added up once, not anew for each head.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._runs: dict[int, list[int]] = {}
        for run, ends_ms in enumerate(state.runs.ends_ms):
            if ends_ms < NEVER:
                self._runs.setdefault(max(ends_ms, state.now_ms), []).append(run)
        self._sums: dict[int, Ending] = {}
        self.endless: set[JobClass] = set()
        """Classes for which no declared limit makes a place, however long one waits; earlier heads only make it worse."""

    def endings(self) -> list[Ending]:
        state = self._state
        ends = self._of_runs()
        ends += [
            _sum(state.runs, max(min(at_ms, state.runs.ends_ms[run]), state.now_ms), (run,))
            for run, at_ms in enumerate(state.leaving_ms)
            if at_ms < NEVER
        ]
        for run, shrunk in state.shrunk.items():
            part = state.runs.part(run, shrunk.rows)
            refund = (state.runs.leaf[run], state.runs.tier[run], part.amounts)
            ends.append(Ending(max(shrunk.leaves_ms, state.now_ms), (refund,), part.footprint))
        for start in state.started:
            if start.ends_ms < NEVER:
                ends.append(_ending_of(start.job_class, start.ends_ms, start.amounts, start.placed))
        for head in state.heads:
            length = int(state.snapshot.pending.limit_ms[head.job])
            if length < NEVER:
                ends.append(_ending_of(head.job_class, head.at_ms + length, head.amounts, head.placed))
        return sorted(ends, key=attrgetter("at_ms"))

    def _of_runs(self) -> list[Ending]:
        """Of those who have no notice to leave sooner."""
        runs, leaving = self._state.runs, self._state.leaving
        changed = leaving | self._state.shrunk.keys()
        left = {max(runs.ends_ms[run], self._state.now_ms) for run in changed}
        ends = []
        for at_ms, ending in self._runs.items():
            if at_ms in left:
                ends.append(_sum(runs, at_ms, [run for run in ending if run not in leaving]))
                continue
            if at_ms not in self._sums:
                self._sums[at_ms] = _sum(runs, at_ms, ending)
            ends.append(self._sums[at_ms])
        return ends


def _sum(runs: RunTable, at_ms: int, ending: Sequence[int]) -> Ending:
    """What these runs hold together. Foreign occupation is nobody's quota."""
    if len(ending) == 1:
        run = ending[0]
        refund = ((runs.leaf[run], runs.tier[run], runs.held(run)),) if runs.leaf[run] >= 0 else ()
        return Ending(at_ms, refund, runs.footprint(run), runs.shares.get(run, ()))
    totals: dict[tuple[int, int], dict[int, int]] = {}
    freed: dict[int, Free] = {}
    for run in ending:
        if runs.leaf[run] >= 0:
            total = totals.setdefault((runs.leaf[run], runs.tier[run]), {})
            for column, amount in runs.held(run):
                total[column] = total.get(column, 0) + amount
        for node, held in runs.footprint(run):
            freed[node] = shifted(freed[node], held, 1) if node in freed else held
    refunds = [(leaf, tier, tuple(total.items())) for (leaf, tier), total in totals.items()]
    shares = [hold for run in ending for hold in runs.shares.get(run, ())] if runs.shares else []
    return Ending(at_ms, refunds, tuple(freed.items()), shares)


def _ending_of(job_class: JobClass, at_ms: int, amounts: tuple[Amount, ...], placed: Placed) -> Ending:
    freed = [(node, moved(NOTHING, ask, pods)) for ask, counts in placed for node, pods in counts.items()]
    shares = [
        ask.hold_on(node)
        for ask, counts in placed
        if ask.share is not None
        for node, pods in counts.items()
        for _ in range(pods)
    ]
    return Ending(at_ms, ((job_class.leaf, job_class.tier, amounts),), freed, shares)


class _RunOut:
    """Nodes and quota as endings come to pass, with a running count of room for a claim's largest pods."""

    def __init__(self, state: State, option: Option, pool: int) -> None:
        self.book, self.use = _from_now(state)
        self._largest = max(option.gang, key=lambda each: (each.cards_m, each.cpu_m))
        self._room = RoomCount(self.book, self._largest, pool)
        self._freed: dict[int, Free] = {}

    def has_room(self) -> bool:
        """For all of the largest pods; whether the gang can be placed is another question."""
        for node, held in self._freed.items():
            self.book.shift(node, held, 1)
        self._room.recount(self._freed)
        self._freed.clear()
        return self._room.total >= self._largest.count

    def apply(self, endings: Iterable[Ending]) -> None:
        """Give quota back at once; what nodes get back is added up until somebody asks about room, so that each moves once."""
        freed = self._freed
        for ending in endings:
            for leaf, tier, amounts in ending.refunds:
                self.use.refund(leaf, amounts, tier)
            for node, held in ending.freed:
                freed[node] = shifted(freed[node], held, 1) if node in freed else held
            for hold in ending.shares:
                self.book.shift_hold(hold, 1)
                freed.setdefault(hold.node, NOTHING)


def reserve_head(state: State, rules: TierRules, timeline: Timeline, job: int, job_class: JobClass) -> Head | None:
    """The job's earliest place, or None where no declared limit makes one. The head is added to the state."""
    if job_class in timeline.endless:
        return None
    endings = timeline.endings()
    found = [_earliest(state, rules, job_class, option, endings) for option in job_class.smallest]
    places = [place for place in found if place is not None]
    if not places:
        timeline.endless.add(job_class)
        return None
    head = min(places, key=lambda place: place.at_ms)
    head.job = job
    state.heads.append(head)
    return head


def _earliest(
    state: State, rules: TierRules, job_class: JobClass, option: Option, endings: Iterable[Ending]
) -> Head | None:
    """Along the endings until one makes room; those of one instant count together."""
    run_out = _RunOut(state, option, job_class.pool)
    for at_ms, together in groupby(endings, key=attrgetter("at_ms")):
        run_out.apply(together)
        if not run_out.use.allows(job_class.leaf, option.amounts):
            continue
        if rules.standing(run_out.use, job_class, option.amounts) == Standing.BARRED or not run_out.has_room():
            continue
        placed = place_gang(run_out.book, option.gang, job_class.shape, pool=job_class.pool)
        if placed is not None:
            return _reserve(run_out, job_class, option, placed, at_ms)
    return None


def _reserve(run_out: _RunOut, job_class: JobClass, option: Option, placed: Placed, at_ms: int) -> Head:
    book, use = run_out.book, run_out.use
    use.charge(job_class.leaf, option.amounts, job_class.tier)
    for ask, counts in placed:
        for node, pods in counts.items():
            book.add(node, ask, -pods)
    taken = dict.fromkeys(node for _, counts in placed for node in counts)
    nodes = Leftover(
        ((node, book.free(node)) for node in taken),
        ((node, book.slots[node]) for node in taken if node in book.slots),
    )
    return Head(-1, job_class, at_ms, placed, option.amounts, nodes, use)


def _from_now(state: State) -> tuple[NodeBook, QuotaUse]:
    """Everybody in place: those who leave are still there, kept jobs and earlier heads already hold what they will."""
    book, use = state.after.copy(), state.quota_after.copy()
    for run in sorted(state.leaving):
        state.vacate(run, book, use, sign=-1)
    for run, shrunk in sorted(state.shrunk.items()):
        part = state.runs.part(run, shrunk.rows)
        use.charge(state.runs.leaf[run], part.amounts, state.runs.tier[run])
        for node, held in part.footprint:
            book.shift(node, held, -1)
    for head in state.heads:
        use.charge(head.job_class.leaf, head.amounts, head.job_class.tier)
        for ask, counts in head.placed:
            for node, pods in counts.items():
                book.add(node, ask, -pods)
    return book, use
