"""SCH-04, SCH-07: whose turn is next. A contest down the quota tree, of which only the branch that changed is played again.

Inside a queue the line is starved first, priority, submit, id. Between queues only the next jobs are compared: by band (tier,
starved, urgent, nominal before borrowing), then at each node of the tree by the children's projected share, then priority,
submit, id. Under `order: submit` only submit and id count, over all tiers; `shortest` and `attained` (SCH-27) put another number
in submit's place (see `turns`). The contest never decides whether a job starts.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

import numpy as np

from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.snapshot import I64, Flags
from scheduling.engine.starvation import AgedBatch, find_starved
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules, best_standing
from scheduling.engine.turn_terms import had_turns
from scheduling.engine.turns import ATTAINED, PLAIN, places_of
from scheduling.engine.vocabulary import Tier

Key = tuple[int, int, int, int, int]
"""(band, rank of the projected share, -priority, turn, job): smaller goes first."""

STARVED, URGENT, NOMINAL, AGED_BATCH, BORROW, BAND = 0, 1, 2, 3, 4, 10
"""Bands inside a tier, and the distance between tiers. Aged batch heads stand just before development that would borrow."""
ABOVE_ALL: Final = -1
"""Where roots of the quota tree meet: their parent, and the last of the heaps."""
_TIER_BAND: Final = (2 * BAND, BAND, 0)
_NOTHING: Final = (0, 0, 0, 0)
_AGED_BATCH_BAND: Final = _TIER_BAND[Tier.DEVELOPMENT] + AGED_BATCH


@dataclass(slots=True)
class Line:
    """Waiting jobs of one queue and tier in their order; `at` is the next, and `key` its key, None when none is left."""

    jobs: list[int] = field(default_factory=list)
    at: int = 0
    key: Key | None = None


class Contest:
    """`pop` names the next job; then call `replay` if the decision changed its queue's use, else `step`."""

    def __init__(
        self, state: State, rules: TierRules, classes: ClassBook, aged: AgedBatch, competing: dict[int, JobClass]
    ) -> None:
        self._state, self._rules, self.classes, self._aged, self._class_of = state, rules, classes, aged, competing
        pending = state.snapshot.pending
        self._turns = places_of(state.snapshot, state.policy, state.now_ms)
        self._priority, self._turn = pending.priority.tolist(), self._turns.tolist()
        self._plain, self._urgent_priority = state.policy.order in PLAIN, state.policy.urgent_priority
        self._attained = state.policy.order == ATTAINED
        self._projected_rank = state.shares.projected_rank
        starved = find_starved(pending, state.policy, state.now_ms)
        if self._attained:
            starved = np.zeros_like(starved)  # Who waits falls behind in service: that is what brings it to the front.
        elif any(pool.time_sharing for pool in state.snapshot.pools):
            starved &= ~had_turns(state.snapshot)
        self.starved = starved.tolist()
        self._lines = self._make_lines(starved)
        size = len(state.tree.nodes)
        self._heaps: list[list[tuple[Key, int]]] = [[] for _ in range(size + 1)]
        self._current: list[Key | None] = [None] * size
        self._inside: dict[int, dict[JobClass, bool]] = {tenant: {} for tenant in range(size)}
        """By tenant, whether a class of it fits its nominal, as long as the tenant's use stays what it is."""
        self._leaves_of: dict[int, list[int]] = {}
        for leaf in self._lines:
            self._leaves_of.setdefault(state.tree.tenant[leaf], []).append(leaf)
        self._summit, self._climbs = self._find_climbs()
        for leaf in self._lines:
            self._play(leaf)

    def _find_climbs(self) -> tuple[int, dict[int, list[tuple[int, int]]]]:
        """The node under which everybody meets, and for each leaf the contests on its way there, as (child, parent).

        A node that is the only one under its parent with a waiting job has no contest: whoever wins in it wins in its parent too.
        """
        tree, rivals = self._state.tree, dict[int, set[int]]()
        for leaf in self._lines:
            for child in tree.path[leaf]:
                rivals.setdefault(tree.parent[child], set()).add(child)
        summit = ABOVE_ALL
        while len(rivals.get(summit, ())) == 1 and not self._lines.keys() & rivals[summit]:
            (summit,) = rivals[summit]
        climbs = {}
        for leaf in self._lines:
            path = tree.path[leaf]
            below = path[: path.index(summit)] if summit >= 0 else path
            pairs = ((child, tree.parent[child]) for child in below)
            climbs[leaf] = [(child, parent) for child, parent in pairs if parent == summit or len(rivals[parent]) > 1]
        return summit, climbs

    def _make_lines(self, starved: Flags) -> dict[int, dict[int, Line]]:
        """lines[leaf][tier], leaves in index order."""
        pending = self._state.snapshot.pending
        jobs: I64 = np.fromiter(self._class_of, dtype=np.int64, count=len(self._class_of))
        plain = self._plain
        late = np.zeros(len(jobs), dtype=np.bool_) if plain else ~starved[jobs]
        rank = np.zeros(len(jobs), dtype=np.int64) if plain else np.where(late, -pending.priority[jobs], 0)
        order = np.lexsort((jobs, self._turns[jobs], rank, late))
        lines: dict[int, dict[int, Line]] = {}
        for job in jobs[order].tolist():
            job_class = self._class_of[job]
            tiers = lines.setdefault(job_class.leaf, {})
            line = tiers.get(job_class.tier)
            if line is None:
                line = tiers[job_class.tier] = Line()
            line.jobs.append(job)
        return dict(sorted(lines.items()))

    def class_of(self, job: int) -> JobClass:
        return self._class_of[job]

    def pop(self) -> int:
        """The next job, taken off its line; -1 when none is left."""
        while (top := self._top(self._summit)) is not None:
            band, job = top[0], top[4]
            job_class = self._class_of[job]
            # The bound on aged batch is the pool's: others may have used it up since the job was placed.
            if band != _AGED_BATCH_BAND or self._aged.goes_ahead(job_class):
                self._lines[job_class.leaf][job_class.tier].at += 1
                return job
            self._play(job_class.leaf)
        return -1

    def step(self, job_class: JobClass) -> None:
        """Nothing changed for the class but that its line moved on."""
        line = self._lines[job_class.leaf][job_class.tier]
        line.key = self._key(line)
        self._climb(job_class.leaf)

    def replay(self, job_class: JobClass) -> None:
        """The use of the class's queue changed: nominal may be used up for its tenant's queues, and shares above moved."""
        self._inside[job_class.tenant] = {}
        for leaf in self._leaves_of[job_class.tenant]:
            self._play(leaf)

    def _play(self, leaf: int) -> None:
        """Look at the heads of all the leaf's lines anew, and let the best compete."""
        for line in self._lines[leaf].values():
            line.key = self._key(line)
        self._climb(leaf)

    def _climb(self, leaf: int) -> None:
        """Let the leaf's best head compete on every level up to where everybody meets."""
        current, heaps = self._current, self._heaps
        key: Key | None = None
        for line in self._lines[leaf].values():
            if line.key is not None and (key is None or line.key < key):
                key = line.key
        for child, parent in self._climbs[leaf]:
            if key is not None:
                key = self._with_share(key, child)
                if current[child] == key:
                    key = current[child]
                else:
                    heappush(heaps[parent], (key, child))
            current[child] = key
            key = self._top(parent)

    def _with_share(self, key: Key, child: int) -> Key:
        band, _, urgency, turn, job = key
        if self._plain or band % BAND == STARVED:
            return band, 0, 0, turn, job
        # Where service is shared over time, what a queue holds now counts: a wide job is not put off for being wide.
        ask = _NOTHING if self._attained else self._class_of[job].ask
        return band, self._projected_rank(child, ask), urgency, turn, job

    def _top(self, parent: int) -> Key | None:
        heap, current = self._heaps[parent], self._current
        while heap:
            key, child = heap[0]
            if current[child] is key:
                return key
            heappop(heap)
        return None

    def _key(self, line: Line) -> Key | None:
        """Of the line's next job, before any share is known."""
        if line.at == len(line.jobs):
            return None
        job = line.jobs[line.at]
        urgency = 0 if self._plain else -self._priority[job]
        return self._band(job), 0, urgency, self._turn[job], job

    def _band(self, job: int) -> int:
        if self._plain:
            return STARVED
        job_class = self._class_of[job]
        base = _TIER_BAND[job_class.tier]
        if self.starved[job]:
            return _AGED_BATCH_BAND if self._aged.goes_ahead(job_class) else base + STARVED
        known = self._inside[job_class.tenant]
        inside = known.get(job_class)
        if inside is None:
            standing = best_standing(self._rules, self._state.quota_after, job_class)
            inside = known[job_class] = standing is Standing.OWN
        if not inside:
            return base + BORROW
        return base + (URGENT if self._priority[job] >= self._urgent_priority else NOMINAL)
