"""The runs that might be asked to leave, by tenant, in the order in which each tenant would give them up (SCH-17).

Tenants that hold more than their quota stand in one list, the first to be taken from in front. The list is kept from claim to
claim; only tenants whose use changed are looked at again.
"""

from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from scheduling.engine.elastic import is_elastic
from scheduling.engine.guards import Guards
from scheduling.engine.ladders import Ladders
from scheduling.engine.share import over_quota_rank
from scheduling.engine.state import State
from scheduling.engine.tiers import grace_ms
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier

Share = tuple[int, ...]
"""A tenant's over-quota shares down the tree, from below the root to the tenant itself, each negated: smaller is taken from first."""
Rank = tuple[bool, Share, tuple[int, ...]]
"""(loan not expired, share, key of the tenant's next candidate): smaller is taken from first."""

_DEEP: Final = 3
"""Length of the path of a tenant that has a cohort below the root."""


@dataclass(slots=True, eq=False)
class Candidate:
    """`key`: lower tier, lower priority, least work lost, newest start, id. Never changed; not frozen because that takes thrice as long to make."""

    run: int
    tenant: int
    leaf: int
    tier: int
    priority: int
    start_ms: int
    submit_ms: int
    expired: bool
    key: tuple[int, ...]
    flavors: frozenset[int]
    pools: frozenset[int]


class CandidateBook:
    """Built when the first claim of a cycle asks. Production, foreign runs and those already leaving are never in it."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.ladders = Ladders(state)
        self.guards = Guards(state.snapshot, state.policy, state.now_ms)
        self._runs_of: dict[int, list[int]] | None = None
        self._lines: dict[int, list[Candidate]] = {}
        self._ranked: list[tuple[Rank, int]] = []
        self._rank_of: dict[int, Rank] = {}
        running = state.snapshot.running
        self._submit_ms: list[int] = running.submit_ms.tolist()
        self._saved_ms: list[int] = np.maximum(running.start_ms, running.last_checkpoint_ms).tolist()
        self._loan_expires_ms: list[int] = running.loan_expires_ms.tolist()
        self._unlent: dict[int, tuple[int, ...]] = {}
        """By tenant, the columns of which its cohort could lend nothing even if it were idle."""
        self._flat: bool | None = None
        elastic = {index for index, shape in enumerate(state.snapshot.shapes) if is_elastic(shape)}
        self.elastic_shapes = elastic if elastic and state.runs.runs_of(elastic) else set[int]()
        """Shapes of runs that could become smaller; empty where no such run is there (SCH-10)."""
        self.hopeless: set[tuple[int, ...]] = set()
        """Shapes that do not fit even when every borrower that may be taken from has gone."""
        self.fair_claims: Counter[int] = Counter()
        """By pool, for how many jobs borrowers leave by fair sharing in this cycle."""
        self._given_up: dict[tuple[int, ...], list[tuple[int, int]]] = {}

    def of_tenant(self, tenant: int) -> list[Candidate]:
        """Whoever of the tenant still runs and may be asked, in its order; no second notice to anyone."""
        self._refresh()
        return self._line(tenant)

    def borrowers(self) -> list[tuple[Rank, int]]:
        """Tenants above their quota of something, the first to be taken from in front."""
        self._refresh()
        return self._ranked

    def share(self, tenant: int) -> Share:
        """The tenant's shares down the tree."""
        use, path = self._state.quota_after, self._state.tree.path[tenant]
        return tuple(-over_quota_rank(use, index) for index in reversed(path[:-1]))

    def give_up(self, key: tuple[int, ...], rank: int, ends_ms: int) -> None:
        """A borrower of this shape that would stand at `rank` found nobody whose leaving makes it a place."""
        self._given_up.setdefault(key, []).append((rank, ends_ms))

    def is_beyond_help(self, key: tuple[int, ...], rank: int, ends_ms: int) -> bool:
        """True where one of the same shape with no larger share, that asks for no longer, found nobody: it could take whom this one may.

        In a cycle room only shrinks. Nor could it take from the other, whose share is the smaller one.
        """
        return any(rank >= other and ends_ms >= until for other, until in self._given_up.get(key, ()))

    def is_flat(self) -> bool:
        """Where every queue stands right below its tenant, or is one, and every tenant right below one root."""
        if self._flat is None:
            tree, queues = self._state.tree, self._state.snapshot.queues
            paths = [tree.path[tree.tenant[queue.node]] for queue in queues]
            self._flat = len({path[-1] for path in paths}) == 1 and all(len(path) == _DEEP - 1 for path in paths)
            self._flat = self._flat and all(len(tree.path[queue.node]) <= _DEEP for queue in queues)
        return self._flat

    def cousins(self, tenant: int) -> tuple[int, ...]:
        """Borrowers that meet the tenant below the root: what one of them holds moves where the others stand."""
        branch = self._state.tree.path[tenant]
        if len(branch) < _DEEP:
            return ()
        return tuple(
            other
            for _, other in self.borrowers()
            if other != tenant and self._state.tree.path[other][-2:] == branch[-2:]
        )

    def _refresh(self) -> None:
        runs_of = self._runs()
        if not self._state.touched:
            return
        for tenant in self._state.thinned:
            line = self._lines.get(tenant)
            if line is not None:
                self._lines[tenant] = [one for one in line if self._state.leaving_ms[one.run] >= NEVER]
        for tenant in self._state.touched:
            self.ladders.forget(tenant)
        for tenant in self._moved(runs_of):
            self._place(tenant)
        self._state.touched.clear()
        self._state.thinned.clear()

    def _moved(self, runs_of: dict[int, list[int]]) -> list[int]:
        """Tenants with candidates whose rank may have changed: those touched, and all that share a cohort below the root with one."""
        path, moved, leaving_ms = self._state.tree.path, self._state.touched, self._state.leaving_ms
        branches = {path[tenant][-2:] for tenant in moved if len(path[tenant]) >= _DEEP}
        if branches:
            moved = moved | {tenant for tenant in runs_of if path[tenant][-2:] in branches}
        return [t for t in sorted(moved) if t in runs_of and any(leaving_ms[run] >= NEVER for run in runs_of[t])]

    def _place(self, tenant: int) -> None:
        """Move a tenant to where it belongs among the borrowers, or out of them."""
        share, old = self.share(tenant), self._rank_of.get(tenant)
        line = self._line(tenant) if share and (share[-1] or self._is_above(tenant)) else []
        rank = (not line[0].expired, share, line[0].key) if line else None
        if rank == old:
            return
        if old is not None:
            del self._ranked[bisect_left(self._ranked, (old, tenant))]
            del self._rank_of[tenant]
        if rank is not None:
            self._rank_of[tenant] = rank
            insort(self._ranked, (rank, tenant))

    def _is_above(self, tenant: int) -> bool:
        """Above its quota though its share says nothing: limits were lowered since, and its cohort has nothing left to lend."""
        columns = self._unlent.get(tenant)
        if columns is None:
            tree = self._state.tree
            parent, axes = tree.parent[tenant], tree.limited_axes
            unlent = (own for axis, own in axes if not tree.lendable(parent, axis, own))
            columns = self._unlent[tenant] = tuple(column for own in unlent for column in own)
        return bool(columns) and any(self._state.quota_after.borrows(tenant, column) for column in columns)

    def _runs(self) -> dict[int, list[int]]:
        """By tenant, the runs that might have been asked when the first claim of the cycle did."""
        if self._runs_of is None:
            state, runs = self._state, self._state.runs
            self._runs_of = {}
            tenant_of = state.tree.tenant
            for run, (leaf, tier) in enumerate(zip(runs.leaf, runs.tier, strict=True)):
                if leaf >= 0 and tier != Tier.PRODUCTION and state.leaving_ms[run] >= NEVER:
                    self._runs_of.setdefault(tenant_of[leaf], []).append(run)
            self._state.touched.clear()
            self._state.thinned.clear()
            for tenant in sorted(self._runs_of):
                self._place(tenant)
        return self._runs_of

    def _line(self, tenant: int) -> list[Candidate]:
        """Made when somebody looks at the tenant: most are below their quota, and only their own claims do."""
        line = self._lines.get(tenant)
        if line is None:
            state = self._state
            runs = self._runs().get(tenant, [])
            line = [self._candidate(run) for run in runs if state.leaving_ms[run] >= NEVER]
            line.sort(key=lambda candidate: (not candidate.expired, candidate.key))
            self._lines[tenant] = line
        return line

    def _candidate(self, run: int) -> Candidate:
        state, runs = self._state, self._state.runs
        rows, tier = runs.rows(run), runs.tier[run]
        return Candidate(
            run=run,
            tenant=state.tree.tenant[runs.leaf[run]],
            leaf=runs.leaf[run],
            tier=tier,
            priority=runs.priority[run],
            start_ms=runs.start_ms[run],
            submit_ms=self._submit_ms[run],
            expired=self._loan_expires_ms[run] <= state.now_ms,
            key=(tier, runs.priority[run], self.lost_card_ms(run), -runs.start_ms[run], run),
            flavors=frozenset([runs.flavor[row] for row in rows]),
            pools=frozenset([state.table.pool[runs.node[row]] for row in rows]),
        )

    def lost_card_ms(self, run: int) -> int:
        """Card time that an eviction throws away: since the last checkpoint, else since the start, plus the restart cost."""
        state = self._state
        lost_ms = state.now_ms - self._saved_ms[run] + state.policy.restart_cost_ms
        return max(0, lost_ms) * state.runs.total_cards_m(run) // 1000

    def grace_ms(self, run: int) -> int:
        return grace_ms(self._state.policy, self._state.runs.tier[run])
