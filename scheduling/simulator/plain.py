"""Instants whose plan is plain, told without a whole cycle: what the engine would decide there, in full, or nothing at all.

Most instants of a long replay are of three kinds. Something ended while nobody waits: nothing is decided. One job arrives while
nobody waits, and fits: it starts where the engine's own search puts it. Something happened while others wait, none of whom can
start now or make anybody leave: nothing is decided. Everything else is the engine's: a run that is leaving, a place that is kept,
cards that turn from own to borrowed or back, a loan that ran out, two arrivals at once.
"""

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from scheduling.engine.cards import CardBook
from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.fit import Verdict, end_of, find_start
from scheduling.engine.free import Free
from scheduling.engine.impossible import Capacity
from scheduling.engine.loans import Lenders
from scheduling.engine.nodes import pool_bars_starts
from scheduling.engine.opening import open_state
from scheduling.engine.placement import place_gang
from scheduling.engine.plan import Plan, Start
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.starts import print_starts
from scheduling.engine.state import Started
from scheduling.engine.tiers import TierRules, borrowed_part
from scheduling.engine.units import CARD, ONE_PPM
from scheduling.engine.vocabulary import Tier
from scheduling.simulator.held import BORROWED, CARDS, CPU, FLAVOR, MEMORY, NODE, VRAM, Held
from scheduling.simulator.world import World

NOTHING = Plan()
MOST_CLASSES = 64
"""With more classes waiting than this the engine is asked at once."""


class PlainInstants:
    """Keeps the engine's picture of what is free and used from instant to instant, told of every start and every end.

    There nobody is leaving and nothing is kept, so *now* and *after* are one picture.
    """

    def __init__(self, world: World, *, ask_always: bool = False) -> None:
        self._world, self._trace, self._policy = world, world.trace, world.policy
        snapshot = world.of_all_jobs()
        state = self._state = open_state(snapshot, world.policy, 0)
        state.usable = state.after = state.free
        state.quota_after = state.quota
        self._rules = TierRules(snapshot, world.policy, state.tree)
        self._classes = ClassBook(snapshot, state.tree.tenant, state.shares)
        self._capacity = Capacity(snapshot, state.table, state.tree, self._rules)
        self._cards = _FreeCards(snapshot)
        self._strict = world.policy.block == "head"
        self._on_nodes: dict[int, tuple[tuple[int, Free], ...]] = {}
        self._charged: dict[int, tuple[Amount, ...]] = {}
        self._borrowed: dict[int, tuple[tuple[int, int], ...]] = {}
        self._marked: dict[tuple[int, int, int], int] = {}
        """Milli-cards that count as borrowed: of a run by flavor, and by (tenant, flavor, tier)."""
        self._moved: set[int] = set()
        """Tenants whose use changed since the last plan, or in it."""
        self._kinds = (self._trace.queue.astype(np.int64) * len(self._trace.shapes) + self._trace.shape) * len(
            Tier
        ) + self._trace.tier
        self._class_of: dict[int, JobClass] = {}
        self._borrowers_alone = _is_uniform(world) and world.policy.within_queue != "lower-or-newer-equal-priority"
        self.usable = (
            not ask_always and _is_plain(snapshot, world.policy) and not (self._strict and len(snapshot.pools) > 1)
        )

    # --- what happened ---

    def took(self, job: int, held: Held) -> None:
        """A start, whoever decided it."""
        if not self.usable:
            return
        block, leaf = held.block, self._leaf(job)
        on = tuple(
            (node, (cards, cpu, memory, 1)) for node, cards, cpu, memory in block[[NODE, CARDS, CPU, MEMORY]].T.tolist()
        )
        self._on_nodes[job], self._charged[job] = on, self._amounts(held)
        for node, amounts in on:
            self._state.free.shift(node, amounts, -1)
        self._state.quota.charge(leaf, self._charged[job], int(self._trace.tier[job]))
        for node, cards in zip(block[NODE].tolist(), held.cards, strict=True):
            self._cards.hold(node, cards)
        self.recharged(job, held)

    def gave(self, job: int, held: Held) -> None:
        """An end, or a run that has left."""
        if not self.usable:
            return
        leaf = self._leaf(job)
        for node, amounts in self._on_nodes.pop(job):
            self._state.free.shift(node, amounts, 1)
        self._state.quota.refund(leaf, self._charged.pop(job), int(self._trace.tier[job]))
        for node, cards in zip(held.nodes.tolist(), held.cards, strict=True):
            self._cards.give(node, cards)
        self._mark(job, ())

    def recharged(self, job: int, held: Held) -> None:
        """The own/borrowed split of a run is another."""
        if self.usable:
            rows = held.block[[FLAVOR, BORROWED]].T.tolist()
            self._mark(job, tuple((flavor, borrowed_m) for flavor, borrowed_m in rows if borrowed_m))

    def _mark(self, job: int, borrowed: tuple[tuple[int, int], ...]) -> None:
        tenant, tier, marked = self._tenant(job), int(self._trace.tier[job]), self._marked
        for sign, rows in ((-1, self._borrowed.pop(job, ())), (1, borrowed)):
            for flavor, amount in rows:
                group = (tenant, flavor, tier)
                marked[group] = marked.get(group, 0) + sign * amount
        if borrowed:
            self._borrowed[job] = borrowed
        self._moved.add(tenant)

    def settled(self, begun: Iterable[int]) -> None:
        """A plan was followed: splits are as the engine wants them, but for tenants of whom runs began with it."""
        self._moved = {self._tenant(job) for job in begun}

    # --- what follows ---

    def plan(self, now_ms: int) -> Plan | None:
        """The whole plan of this instant; None where the engine has to be asked."""
        world = self._world
        if not self.usable or world.kept or world.leaving or not self._splits_stand() or self._loan_ran_out(now_ms):
            return None
        if not world.waiting:
            return NOTHING
        if len(world.waiting) == 1:
            job = world.waiting[0]
            start = self._start(job, now_ms)
            if start is not None:
                return Plan(starts=(start,))
        return NOTHING if self._nobody_moves() else None

    def _splits_stand(self) -> bool:
        return all(self._split_stands(tenant) for tenant in self._moved)

    def _split_stands(self, tenant: int, more: Mapping[tuple[int, int], int] = MappingProxyType({})) -> bool:
        """Whether what is marked as borrowed (and `more`, by flavor and tier) is what each tier of the tenant borrows (SCH-03)."""
        quota, marked = self._state.quota, self._marked
        for flavor in range(len(self._state.snapshot.flavors)):
            above = 0
            for tier in sorted(Tier, reverse=True):
                borrows = quota.borrows(tenant, flavor, tier)
                if borrows - above != marked.get((tenant, flavor, tier), 0) + more.get((flavor, tier), 0):
                    return False
                above = borrows
        return True

    def _borrows(self, tenant: int) -> bool:
        quota = self._state.quota
        return any(quota.borrows(tenant, column) for column in range(quota.tree.columns))

    def _loan_ran_out(self, now_ms: int) -> bool:
        held = self._world.held
        return any(loan.expires_ms <= now_ms for job in self._borrowed for loan in held[job].loans)

    def _start(self, job: int, now_ms: int) -> Start | None:
        """The start of the only waiting job, where no other job's split changes with it."""
        state, job_class = self._state, self._class(int(self._kinds[job]))
        if self._never_runs(job_class):
            return None
        ends_ms = end_of(self._world.limit_ms(job), now_ms)
        fit = find_start(state, self._rules, job_class, ends_ms)
        if fit.verdict != Verdict.FITS or fit.option is None:
            return None
        amounts, tier = fit.option.amounts, job_class.tier
        borrowed = borrowed_part(state.quota, job_class, amounts)
        state.quota.charge(job_class.leaf, amounts, tier)
        stands = self._split_stands(job_class.tenant, {(column, tier): part for column, part in borrowed.items()})
        state.quota.refund(job_class.leaf, amounts, tier)
        if not stands:
            return None
        state.now_ms = now_ms
        state.started = [Started(job, job_class, fit.placed, amounts, borrowed, ends_ms, backfilled=False)]
        if any(borrowed.values()):
            loans = tuple(loan for held in map(self._world.held.__getitem__, self._borrowed) for loan in held.loans)
            state.snapshot = replace(state.snapshot, loans=loans)
        (start,) = print_starts(state, self._cards, Lenders(state))
        return start

    def _nobody_moves(self) -> bool:
        """Of those who wait none finds room, quota and nodes, however it is looked at; and none may ask anybody to leave."""
        if self._policy.preemption and not (self._borrowers_alone and not self._anybody_borrows()):
            return False
        kinds = np.unique(self._kinds[np.array(self._heads(), dtype=np.int64)]).tolist()
        return len(kinds) <= MOST_CLASSES and not any(self._may_start(self._class(kind)) for kind in kinds)

    def _heads(self) -> Sequence[int]:
        """Whoever can be next: in a strict line the first alone."""
        world = self._world
        if self._strict:
            return (min(world.waiting, key=lambda job: (int(world.order_ms[job]), job)),)
        return world.waiting

    def _anybody_borrows(self) -> bool:
        tenant = self._state.tree.tenant
        return any(self._borrows(node) for node in {tenant[queue.node] for queue in self._state.snapshot.queues})

    def _may_start(self, job_class: JobClass) -> bool:
        """Of a strict line's head also where it can never run: then it blocks nobody, and the engine has to look further."""
        state = self._state
        if self._never_runs(job_class):
            return self._strict
        return any(
            state.quota.allows(job_class.leaf, option.amounts)
            and place_gang(state.free, option.gang, job_class.shape, pool=job_class.pool) is not None
            for option in job_class.options
        )

    def _never_runs(self, job_class: JobClass) -> bool:
        if not job_class.weighed:
            job_class.weighed = True
            if not job_class.impossible and self._capacity.find(job_class) is not None:
                job_class.impossible = "capacity"
        return bool(job_class.impossible)

    # --- small things ---

    def _class(self, kind: int) -> JobClass:
        found = self._class_of.get(kind)
        if found is None:
            rest, tier = divmod(kind, len(Tier))
            queue, shape = divmod(rest, len(self._trace.shapes))
            found = self._class_of[kind] = self._classes.of(queue, shape, tier)
        return found

    def _leaf(self, job: int) -> int:
        return self._state.snapshot.queues[int(self._trace.queue[job])].node

    def _tenant(self, job: int) -> int:
        return self._state.tree.tenant[self._leaf(job)]

    def _amounts(self, held: Held) -> tuple[Amount, ...]:
        flavors, block = len(self._state.snapshot.flavors), held.block
        totals = [0] * (flavors + 3)
        for flavor, cards in block[[FLAVOR, CARDS]].T.tolist():
            if flavor >= 0:
                totals[flavor] += cards
        totals[flavors:] = block[[CPU, MEMORY, VRAM]].sum(axis=1).tolist()
        return tuple(row for row in enumerate(totals) if row[1])


class _FreeCards(CardBook):
    """Free card indexes per node, kept from start to start."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self._indexes: list[list[int]] = [[] for _ in snapshot.nodes.ids]
        rows = zip(
            snapshot.cards.node.tolist(), snapshot.cards.index.tolist(), snapshot.cards.healthy.tolist(), strict=True
        )
        for node, index, healthy in rows:
            if healthy:
                self._indexes[node].append(index)
        self._promised: dict[int, int] = {}

    def take_whole(self, node: int, cards_m: int) -> tuple[int, ...]:
        """The lowest ones; they are held once the start is told of."""
        first = self._promised.get(node, 0)
        self._promised[node] = first + cards_m // CARD
        return tuple(self._indexes[node][first : first + cards_m // CARD])

    def hold(self, node: int, cards: tuple[int, ...]) -> None:
        self._promised.clear()
        free = self._indexes[node]
        for index in cards:
            free.remove(index)

    def give(self, node: int, cards: tuple[int, ...]) -> None:
        for index in cards:
            insort(self._indexes[node], index)


def _is_plain(snapshot: Snapshot, policy: Policy) -> bool:
    """Nothing in the files that acts by itself, whoever comes and goes."""
    pools = all(
        pool.factor_ppm == ONE_PPM
        and not pool.priority_share_ppm
        and not pool.time_sharing
        and not pool.maintenance
        and not pool_bars_starts(snapshot, place, 0)
        for place, pool in enumerate(snapshot.pools)
    )
    queues = all(queue.open and not queue.draining and not queue.strict_expiry for queue in snapshot.queues)
    roles = [role for shape in snapshot.shapes for role in shape.roles]
    whole = all(role.in_gang and role.minimum == role.replicas and role.cards_m % CARD == 0 for role in roles)
    whole = whole and all(flavor.per_card == 1 for flavor in snapshot.flavors)
    return pools and queues and whole and policy.order in {"tiers", "submit"} and not policy.time_sharing


def _is_uniform(world: World) -> bool:
    """One tier, one priority and one queue a tenant: then only who stands above its quota can be asked to leave."""
    trace, tenants = world.trace, [queue.tenant for queue in world.cluster.queues]
    return len(np.unique(trace.tier)) <= 1 and len(np.unique(trace.priority)) <= 1 and len(set(tenants)) == len(tenants)
