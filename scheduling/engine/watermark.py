"""SCH-15: pools that grant more than they have, and who gives way when too much of it is really used.

Over-committed work is what a tenant holds above its physically backed part; loans lie above its nominal, so they are part of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.candidates import Candidate, CandidateBook
from scheduling.engine.classes import JobClass
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.state import HoldBack, State, Victim
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import CARD, ONE_PPM
from scheduling.engine.vocabulary import NodeState, PreemptReason, Tier

COVERAGE_PPM = 900_000
"""Measured use counts where samples cover at least so much of the pool's cards; else what is allocated does."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """Cards in service and cards held, in milli-cards, and the mean use of the cards in ppm, -1 where nobody measured."""

    cards_m: int
    held_m: int
    measured_ppm: int


@dataclass(frozen=True, slots=True)
class Busy:
    """`used_m` of `total_m` milli-cards, by samples (`measured`) or by what is allocated."""

    used_m: int
    total_m: int
    measured: bool

    def is_above(self, mark_ppm: int) -> bool:
        return self.used_m * ONE_PPM > self.total_m * mark_ppm


def how_busy(nodes: Iterable[NodeUse]) -> Busy:
    """How much of a pool is used. Nodes without samples are left out of a measure that covers enough of the pool."""
    rows = [row for row in nodes if row.cards_m]
    sampled = [row for row in rows if row.measured_ppm >= 0]
    total_m, sampled_m = sum(row.cards_m for row in rows), sum(row.cards_m for row in sampled)
    if sampled_m and sampled_m * ONE_PPM >= total_m * COVERAGE_PPM:
        return Busy(sum(row.cards_m * row.measured_ppm for row in sampled) // ONE_PPM, sampled_m, measured=True)
    return Busy(sum(row.held_m for row in rows), total_m, measured=False)


def pool_use(snapshot: Snapshot, pool: int) -> dict[int, NodeUse]:
    """By node of the pool that is not lost: what its cards give and what runs hold of them, foreign ones too."""
    nodes, cards, pods = snapshot.nodes, snapshot.cards, snapshot.pods
    state, measured = nodes.state.tolist(), nodes.measured_ppm.tolist()
    own = [node for node, home in enumerate(nodes.pool.tolist()) if home == pool and state[node] != NodeState.LOST]
    have, held = dict.fromkeys(own, 0), dict.fromkeys(own, 0)
    per_card = [flavor.per_card for flavor in snapshot.flavors]
    for node, flavor, healthy in zip(cards.node.tolist(), cards.flavor.tolist(), cards.healthy.tolist(), strict=True):
        if healthy and node in have:
            have[node] += CARD * per_card[flavor]
    for node, cards_m in zip(pods.node.tolist(), pods.cards_m.tolist(), strict=True):
        if node in held:
            held[node] += cards_m
    return {node: NodeUse(have[node], held[node], measured[node]) for node in own}


def relieve(state: State, rules: TierRules, book: CandidateBook) -> dict[int, HoldBack]:
    """Evict over-committed work of pools that stand above their high watermark, until the low one would be reached.

    One sample never does it: the Snapshot says how many in a row were above, counted anew after each time somebody had to leave,
    since it takes samples a while to show that they did. Meanwhile, and for a while after it, no over-committed work starts that
    would lift the pool above its high watermark again: the pools for which that holds.
    """
    held_back: dict[int, HoldBack] = {}
    if not state.policy.preemption:
        return held_back
    for index, pool in enumerate(state.snapshot.pools):
        if pool.factor_ppm <= ONE_PPM:
            continue
        use = pool_use(state.snapshot, index)
        busy = how_busy(use.values())
        level = _Level(state, use, busy)
        hold = pool.relieved_ms >= 0 and state.now_ms < pool.relieved_ms + state.policy.watermark_hold_ms
        if pool.samples_above >= state.policy.watermark_samples and busy.is_above(pool.high_ppm):
            hold = True
            for candidate in _over_committed(state, rules, book, index):
                if not level.is_above(pool.low_ppm):
                    break
                if level.lower(candidate.run):
                    leaves_ms = state.now_ms + book.grace_ms(candidate.run)
                    state.evict(Victim(candidate.run, None, PreemptReason.WATERMARK), leaves_ms)
        if hold:
            most_m = busy.total_m * pool.high_ppm // ONE_PPM
            held_back[index] = HoldBack(most_m - level.used_m, _free_m(state, index))
    return held_back


class _Level:
    """A pool's use as runs leave: each takes its nodes' measured use with it in proportion to the cards it holds there."""

    def __init__(self, state: State, use: dict[int, NodeUse], busy: Busy) -> None:
        self._state, self._use, self._busy = state, use, busy
        self.used_m = busy.used_m
        for run in sorted(state.leaving):
            self.lower(run)

    def is_above(self, mark_ppm: int) -> bool:
        return self.used_m * ONE_PPM > self._busy.total_m * mark_ppm

    def lower(self, run: int) -> int:
        """Take a run out; returns by how much the level falls."""
        freed_m = 0
        for node, cards_m in self._state.runs.cards_on(run):
            row = self._use.get(node)
            if row is None or not row.held_m:
                continue
            if not self._busy.measured:
                freed_m += cards_m
            elif row.measured_ppm > 0:
                freed_m += row.cards_m * row.measured_ppm * cards_m // (row.held_m * ONE_PPM)
        self.used_m -= freed_m
        return freed_m


def _over_committed(state: State, rules: TierRules, book: CandidateBook, pool: int) -> Iterator[Candidate]:
    """Who gives way next: batch first, then the largest over-quota share, then each tenant's own order. Asked anew each time."""
    columns = [column for column, flavor in enumerate(state.snapshot.flavors) if flavor.pool == pool]
    tenants = sorted({state.tree.tenant[queue.node] for queue in state.snapshot.queues})
    passed: set[int] = set()
    while True:
        best = None
        for tenant in tenants:
            over = frozenset(column for column in columns if rules.over_backed(state.quota_after, tenant, column, pool))
            line = [one for one in book.of_tenant(tenant) if one.run not in passed and over & one.flavors]
            if not line:
                continue
            batch = [one for one in line if one.tier == Tier.BATCH]
            first = (batch or line)[0]
            rank = (not batch, book.share(tenant), not first.expired, first.key)
            if best is None or rank < best[0]:
                best = (rank, first)
        if best is None:
            return
        passed.add(best[1].run)
        yield best[1]


def _free_m(state: State, pool: int) -> int:
    """Milli-cards free on the pool's nodes once all who leave have left."""
    return sum(cards for cards, home in zip(state.after.cards, state.table.pool, strict=True) if home == pool)


def room_m(state: State, pool: int) -> int | None:
    """Milli-cards of over-committed work that may still start in a pool that is held back; None where nothing is."""
    hold = state.held_back.get(pool)
    return None if hold is None else hold.room_m - (hold.free_m - _free_m(state, pool))


def may_start(state: State, rules: TierRules, job_class: JobClass, option: Option) -> bool:
    """False for over-committed work that would lift a pool which was just relieved above its high watermark again."""
    room = room_m(state, job_class.pool)
    if room is None or option.cards_m <= room:
        return True
    for column, amount in option.amounts:
        if column < len(state.snapshot.flavors) and rules.over_backed(
            state.quota_after, job_class.tenant, column, job_class.pool, ask=amount
        ):
            return False
    return True
