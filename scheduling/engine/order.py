"""SCH-04, SCH-07: whose turn is next. A contest down the quota tree, of which only the branch that changed is played again.

Inside a queue the line is starved first, priority, submit, id. Between queues only the next jobs are compared: by band (tier,
starved, urgent, nominal before borrowing), then at each node of the tree by the children's projected share, then priority,
submit, id. Under `order: submit` only submit and id count, over all tiers. The contest never decides whether a job starts.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

import numpy as np

from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.snapshot import I64, Flags
from scheduling.engine.starvation import AgedBatch, find_starved
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules, best_standing
from scheduling.engine.vocabulary import Tier

Key = tuple[int, int, int, int, int]
"""(band, rank of the projected share, -priority, submit, job): smaller goes first."""

STARVED, URGENT, NOMINAL, AGED_BATCH, BORROW, BAND = 0, 1, 2, 3, 4, 10
"""Bands inside a tier, and the distance between tiers. Aged batch heads stand just before development that would borrow."""
ABOVE_ALL: Final = -1
"""Where roots of the quota tree meet: their parent, and the last of the heaps."""
_TIER_BAND: Final = (2 * BAND, BAND, 0)


@dataclass(slots=True)
class Line:
    """Waiting jobs of one queue and tier in their order; `at` is the next."""

    jobs: list[int]
    at: int = 0


class Contest:
    """`pop` names the next job; then call `replay` if the decision changed its queue's use, else `step`."""

    def __init__(
        self, state: State, rules: TierRules, classes: ClassBook, aged: AgedBatch, eligible: list[int]
    ) -> None:
        self._state, self._rules, self.classes, self._aged = state, rules, classes, aged
        pending = state.snapshot.pending
        self._queue, self._shape, self._tier = pending.queue.tolist(), pending.shape.tolist(), pending.tier.tolist()
        self._priority, self._submit = pending.priority.tolist(), pending.submit_ms.tolist()
        self._by_submit = state.policy.order == "submit"
        self._projected_rank = state.shares.projected_rank
        starved = find_starved(pending, state.policy, state.now_ms)
        self.starved = starved.tolist()
        self._class_of = self._list_classes(eligible)
        self._lines = self._make_lines(eligible, starved)
        size = len(state.tree.nodes)
        self._heaps: list[list[tuple[Key, int]]] = [[] for _ in range(size + 1)]
        self._current: list[Key | None] = [None] * size
        self._standing: dict[int, dict[JobClass, Standing]] = {tenant: {} for tenant in range(size)}
        self._leaves_of: dict[int, list[int]] = {}
        for leaf in self._lines:
            self._leaves_of.setdefault(state.tree.tenant[leaf], []).append(leaf)
        self._alone = self._find_lone_children()
        for leaf in self._lines:
            self._play(leaf)

    def _find_lone_children(self) -> set[int]:
        """Nodes that are the only ones under their parent with a waiting job: whoever wins in one wins in its parent too."""
        tree, rivals = self._state.tree, dict[int, set[int]]()
        for leaf in self._lines:
            for child in tree.path[leaf]:
                rivals.setdefault(tree.parent[child], set()).add(child)
        return {child for parent, found in rivals.items() if parent >= 0 and len(found) == 1 for child in found}

    def _list_classes(self, eligible: list[int]) -> dict[int, JobClass]:
        queue, shape, tier = self._queue, self._shape, self._tier
        return {job: self.classes.of(queue[job], shape[job], tier[job]) for job in eligible}

    def _make_lines(self, eligible: list[int], starved: Flags) -> dict[int, dict[int, Line]]:
        """lines[leaf][tier], leaves in index order."""
        pending, state = self._state.snapshot.pending, self._state
        jobs: I64 = np.asarray(eligible, dtype=np.int64)
        by_submit = self._by_submit
        late = np.zeros(len(jobs), dtype=np.bool_) if by_submit else ~starved[jobs]
        rank = np.zeros(len(jobs), dtype=np.int64) if by_submit else np.where(late, -pending.priority[jobs], 0)
        order = np.lexsort((jobs, pending.submit_ms[jobs], rank, late))
        lines: dict[int, dict[int, Line]] = {queue.node: {} for queue in state.snapshot.queues}
        for job in jobs[order].tolist():
            leaf = state.snapshot.queues[self._queue[job]].node
            lines[leaf].setdefault(self._tier[job], Line([])).jobs.append(job)
        return {leaf: tiers for leaf, tiers in sorted(lines.items()) if tiers}

    def class_of(self, job: int) -> JobClass:
        return self._class_of[job]

    def pop(self) -> int:
        """The next job, taken off its line; -1 when none is left."""
        while (top := self._top(ABOVE_ALL)) is not None:
            job = top[4]
            leaf = self._state.snapshot.queues[self._queue[job]].node
            if self._band(job) == top[0]:
                self._lines[leaf][self._tier[job]].at += 1
                return job
            self._play(leaf)
        return -1

    def step(self, job_class: JobClass) -> None:
        """Nothing changed for the class but that its line moved on."""
        self._play(job_class.leaf)

    def replay(self, job_class: JobClass) -> None:
        """The use of the class's queue changed: nominal may be used up for its tenant's queues, and shares above moved."""
        self._standing[job_class.tenant] = {}
        for leaf in self._leaves_of[job_class.tenant]:
            self._play(leaf)

    def _play(self, leaf: int) -> None:
        """Let the leaf's best head compete on every level up to the root."""
        parent_of, current, heaps = self._state.tree.parent, self._current, self._heaps
        keys = [self._key(line.jobs[line.at]) for line in self._lines[leaf].values() if line.at < len(line.jobs)]
        key = min(keys, default=None)
        alone = self._alone
        for child in self._state.tree.path[leaf]:
            if child in alone:
                continue
            parent = parent_of[child]
            if key is not None:
                key = self._with_share(key, child)
                if current[child] == key:
                    key = current[child]
                else:
                    heappush(heaps[parent], (key, child))
            current[child] = key
            key = self._top(parent)

    def _with_share(self, key: Key, child: int) -> Key:
        band, _, urgency, submit, job = key
        if self._by_submit or band % BAND == STARVED:
            return band, 0, 0, submit, job
        return band, self._projected_rank(child, self._class_of[job].ask), urgency, submit, job

    def _top(self, parent: int) -> Key | None:
        heap, current = self._heaps[parent], self._current
        while heap:
            key, child = heap[0]
            if current[child] is key:
                return key
            heappop(heap)
        return None

    def _key(self, job: int) -> Key:
        urgency = 0 if self._by_submit else -self._priority[job]
        return self._band(job), 0, urgency, self._submit[job], job

    def _band(self, job: int) -> int:
        if self._by_submit:
            return STARVED
        base, job_class = _TIER_BAND[self._tier[job]], self._class_of[job]
        if self.starved[job]:
            return _TIER_BAND[Tier.DEVELOPMENT] + AGED_BATCH if self._aged.goes_ahead(job_class) else base + STARVED
        known = self._standing[job_class.tenant]
        standing = known.get(job_class)
        if standing is None:
            standing = known[job_class] = best_standing(self._rules, self._state.quota_after, job_class)
        if standing != Standing.OWN:
            return base + BORROW
        return base + (URGENT if self._priority[job] >= self._state.policy.urgent_priority else NOMINAL)
