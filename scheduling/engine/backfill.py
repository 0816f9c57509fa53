"""SCH-08, EASY backfill: the first blocked jobs get nodes and quota at the earliest time that declared limits allow.

A later job passes if it ends before that time by its own limit, or touches nothing reserved. A run that declares no limit is
never assumed to end; a head without a finite time gets no reservation (until SCH-07).
"""

from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.classes import JobClass
from scheduling.engine.nodes import Free, NodeBook
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.quota import QuotaUse
from scheduling.engine.state import Head, State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.units import NEVER


@dataclass(frozen=True, slots=True)
class Ending:
    """Something that gives its cards and quota back at `at_ms`: a run, a start of this cycle, or an earlier head."""

    at_ms: int
    run: int
    leaf: int
    tier: int
    amounts: tuple[tuple[int, int], ...]
    placed: Placed


class Timeline:
    """Ends known by declared limits or notices, soonest first. Runs are read once a cycle; starts and heads are added."""

    def __init__(self, state: State) -> None:
        self._state = state
        running = state.snapshot.running
        limits, starts = running.limit_ms.tolist(), running.start_ms.tolist()
        ends = []
        for run, limit in enumerate(limits):
            at = min(state.leaving_ms[run], NEVER if limit >= NEVER else starts[run] + limit)
            if at < NEVER:
                ends.append((max(at, state.now_ms), run))
        self._runs = [Ending(at, run, -1, 0, (), ()) for at, run in sorted(ends)]

    def endings(self) -> list[Ending]:
        state = self._state
        ends = [ending for ending in self._runs if state.leaving_ms[ending.run] >= NEVER]
        ends += [
            Ending(max(state.leaving_ms[run], state.now_ms), run, -1, 0, (), ())
            for run in range(len(state.leaving_ms))
            if state.leaving_ms[run] < NEVER
        ]
        ends += [_ending_of(start.job_class, start.ends_ms, start.amounts, start.placed) for start in state.started
                 if start.ends_ms < NEVER]  # fmt: skip
        for head in state.heads:
            length = int(state.snapshot.pending.limit_ms[head.job])
            if length < NEVER:
                ends.append(_ending_of(head.job_class, head.at_ms + length, head.amounts, head.placed))
        return sorted(ends, key=lambda ending: ending.at_ms)


def _ending_of(job_class: JobClass, at_ms: int, amounts: tuple[tuple[int, int], ...], placed: Placed) -> Ending:
    return Ending(at_ms, -1, job_class.leaf, job_class.tier, amounts, placed)


@dataclass(slots=True)
class Future:
    """Nodes and quota at a coming instant; endings are applied in order."""

    book: NodeBook
    use: QuotaUse

    def copy(self) -> "Future":
        return Future(self.book.copy(), self.use.copy())

    def apply(self, state: State, ending: Ending) -> None:
        if ending.run >= 0:
            state.vacate(ending.run, self.book, self.use)
            return
        self.use.refund(ending.leaf, ending.amounts, ending.tier)
        for ask, counts in ending.placed:
            for node, pods in counts.items():
                self.book.add(node, ask, pods)


def reserve_head(state: State, rules: TierRules, timeline: Timeline, job: int, job_class: JobClass) -> Head | None:
    """The job's earliest place, or None where no declared limit makes one. The head is added to the state."""
    endings = timeline.endings()
    if not endings:
        return None
    future = _from_now(state)
    found = _earliest(state, rules, job_class, future, endings)
    if found is None:
        return None
    at_ms, then, option, placed = found
    then.use.charge(job_class.leaf, option.amounts, job_class.tier)
    for ask, counts in placed:
        for node, pods in counts.items():
            then.book.add(node, ask, -pods)
    nodes: dict[int, Free] = {node: then.book.free(node) for _, counts in placed for node in counts}
    head = Head(job, job_class, at_ms, placed, option.amounts, nodes, then.use)
    state.heads.append(head)
    return head


def _from_now(state: State) -> Future:
    """Everybody in place: those who leave are still there, kept jobs and earlier heads already hold what they will."""
    future = Future(state.after.copy(), state.quota_after.copy())
    for run, leaves_ms in enumerate(state.leaving_ms):
        if leaves_ms < NEVER:
            state.vacate(run, future.book, future.use, sign=-1)
    for head in state.heads:
        future.use.charge(head.job_class.leaf, head.amounts, head.job_class.tier)
        for ask, counts in head.placed:
            for node, pods in counts.items():
                future.book.add(node, ask, -pods)
    return future


def _earliest(
    state: State, rules: TierRules, job_class: JobClass, future: Future, endings: list[Ending]
) -> tuple[int, Future, Option, Placed] | None:
    """Gallop along the endings, then halve: what fits keeps fitting as more runs end."""
    done, step = 0, 1
    while True:
        stop = min(len(endings), done + step)
        trial = future.copy()
        for ending in endings[done:stop]:
            trial.apply(state, ending)
        if _fits(rules, job_class, trial) is not None:
            break
        if stop == len(endings):
            return None
        future, done, step = trial, stop, step * 2
    low, high = done, stop
    while high - low > 1:
        middle = (low + high) // 2
        trial = future.copy()
        for ending in endings[done:middle]:
            trial.apply(state, ending)
        if _fits(rules, job_class, trial) is not None:
            high = middle
        else:
            low = middle
    while high < len(endings) and endings[high].at_ms == endings[high - 1].at_ms:
        high += 1
    for ending in endings[done:high]:
        future.apply(state, ending)
    fit = _fits(rules, job_class, future)
    return None if fit is None else (endings[high - 1].at_ms, future, *fit)


def _fits(rules: TierRules, job_class: JobClass, future: Future) -> tuple[Option, Placed] | None:
    for option in job_class.options:
        if rules.standing(future.use, job_class, option.amounts) == Standing.BARRED:
            continue
        if not future.use.allows(job_class.leaf, option.amounts):
            continue
        placed = place_gang(future.book, option.gang, job_class.shape, pool=job_class.pool)
        if placed is not None:
            return option, placed
    return None
