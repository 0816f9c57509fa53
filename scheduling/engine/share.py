"""SCH-05: dominant share, which orders queues, and over-quota share, which orders borrowers. Exact: no float, no rounding.

A fraction is compared by `rank`, an integer that keeps the order of all fractions with denominators below 2**RESOLUTION.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scheduling.engine.nodes import NodeTable
from scheduling.engine.quota import EVERYBODY, Amount, QuotaTree, QuotaUse
from scheduling.engine.snapshot import CPU, MEMORY, VRAM, Snapshot
from scheduling.engine.units import CARD, MAX_SHARE, ONE_PPM, ceil_div

RESOLUTION: Final = 128
"""Bits. A denominator is capacity × weight: 10**6 cards in milli-cards × ppm × weight in ppm stays far below 2**128."""
INFINITE: Final = 1 << (4 * RESOLUTION)
"""Above every rank of a share over a weight: shares over weight 0 begin here, and go on by what they would be over weight 1."""
PERMILLE: Final = 1000
RESOURCES: Final = ("gpu", CPU, MEMORY, VRAM)
"""Axis of a share vector; cards count by their flavor's weight (card-equivalents)."""

Vector = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Fraction:
    """A share before rounding and the resource that makes it. A denominator of 0 stands for weight 0 and a share above 0."""

    numerator: int
    denominator: int
    resource: str

    @property
    def rank(self) -> int:
        return rank(self.numerator, self.denominator)

    def permille(self) -> int:
        """Rounded up, so that a borrower of 1 in 1,500 still reads as one; weight 0 while borrowing prints MAX_SHARE."""
        if not self.denominator:
            return MAX_SHARE
        return min(MAX_SHARE, ceil_div(self.numerator * PERMILLE, self.denominator))


def rank(numerator: int, denominator: int) -> int:
    """Order-preserving integer of a fraction: equal fractions get equal ranks, a smaller one a smaller rank."""
    if not denominator:
        return INFINITE if numerator else 0
    return (numerator << (2 * RESOLUTION)) // denominator


class DominantShares:
    """Use of every tree node in the four resources, against what its pools can allocate; fixed capacity, use moves."""

    def __init__(self, snapshot: Snapshot, tree: QuotaTree, table: NodeTable) -> None:
        self._tree = tree
        self._flavors = snapshot.flavors
        self._equivalents = [flavor.equivalent_ppm for flavor in snapshot.flavors]
        self._weights = [node.effective_weight_ppm for node in tree.nodes]
        by_pool = self._pool_capacity(snapshot, table)
        pools: list[set[int]] = [set() for _ in tree.nodes]
        for queue in snapshot.queues:
            for index in tree.path[queue.node]:
                pools[index].add(queue.pool)
        alike = [frozenset(own) for own in pools]
        capacity_of = {
            own: [sum(by_pool[pool][axis] for pool in own) for axis in range(4)] for own in dict.fromkeys(alike)
        }
        self.capacity = [capacity_of[own] for own in alike]
        self.held = [[0, 0, 0, 0] for _ in tree.nodes]
        self._factors = [
            [self.capacity[index][axis] * self._weights[index] for axis in range(4)] for index in range(len(tree.nodes))
        ]

        self._active = [[(axis, factor) for axis, factor in enumerate(row) if factor] for row in self._factors]
        self._ranks: list[dict[Vector, int]] = [{} for _ in tree.nodes]
        """Projected ranks by ask, for as long as the node's use stays what it is."""

    def _pool_capacity(self, snapshot: Snapshot, table: NodeTable) -> list[list[int]]:
        """What non-lost nodes can allocate, per pool, only in resources that any quota line limits."""
        limited = self._tree.limited
        count = len(snapshot.flavors)
        capacity = [[0, 0, 0, 0] for _ in snapshot.pools]
        for node in range(len(table)):
            if table.lost[node]:
                continue
            flavor, row = table.flavor[node], capacity[table.pool[node]]
            if flavor >= 0:
                if limited[flavor]:
                    row[0] += table.cards_m[node] * self._equivalents[flavor]
                row[3] += table.cards_m[node] // CARD * snapshot.flavors[flavor].vram_mib if limited[count + 2] else 0
            row[1] += table.cpu_m[node] if limited[count] else 0
            row[2] += table.memory_mib[node] if limited[count + 1] else 0
        return capacity

    def vector(self, amounts: Sequence[Amount]) -> Vector:
        """A charge as a share vector; columns without any quota line are not in shares (SCH-02)."""
        count, limited = len(self._flavors), self._tree.limited
        total = [0, 0, 0, 0]
        for column, amount in amounts:
            if not limited[column]:
                continue
            if column < count:
                total[0] += amount * self._equivalents[column]
            else:
                total[column - count + 1] += amount
        return total[0], total[1], total[2], total[3]

    def add(self, leaf: int, vector: Vector, sign: int = 1) -> None:
        """Count a charge in the shares of its queue and of all above it (sign -1: take it out again)."""
        cards, cpu, memory, vram = (sign * amount for amount in vector)
        for index in self._tree.path[leaf]:
            held = self.held[index]
            held[0] += cards
            held[1] += cpu
            held[2] += memory
            held[3] += vram
            self._ranks[index].clear()

    def projected_rank(self, index: int, ask: Vector) -> int:
        """Rank of `max over r of (use + ask) / capacity / effective weight` of a tree node."""
        known = self._ranks[index].get(ask)
        if known is None:
            known = self._ranks[index][ask] = self._work_out_rank(index, ask)
        return known

    def _work_out_rank(self, index: int, ask: Vector) -> int:
        held, top = self.held[index], 0
        if not self._weights[index]:
            return INFINITE if any(held[axis] + ask[axis] > 0 for axis in range(4)) else 0
        for axis, factor in self._active[index]:
            share = ((held[axis] + ask[axis]) * ONE_PPM << (2 * RESOLUTION)) // factor
            if share > top:
                top = share
        return top

    def current(self, index: int) -> Fraction:
        """The dominant share as it stands, for printing."""
        best = Fraction(0, 1, "")
        for axis, resource in enumerate(RESOURCES):
            use, factor = self.held[index][axis], self._factors[index][axis]
            if use > 0 and (factor or not self._weights[index]):
                share = Fraction(use * ONE_PPM, factor, resource)
                if share.rank > best.rank:
                    best = share
        return best


def over_quota(use: QuotaUse, index: int) -> Fraction:
    """Kueue's weighted share of a tree node: what it holds above its subtree quota, against what its parent's tree could lend.

    Under-use of one flavor is not netted off another. 0 without a cohort, where nothing is lendable, and inside quota.
    """
    top, above, lendable, axis = _largest_excess(use, index, (), -1)
    weight = use.tree.nodes[index].effective_weight_ppm
    return Fraction(above * ONE_PPM, lendable * weight, RESOURCES[axis]) if top else Fraction(0, 1, "")


def over_quota_rank(use: QuotaUse, index: int, ask: Sequence[Amount] = (), leaf: int = -1) -> int:
    """Rank of the over-quota share; with `ask` (at `leaf` below the node) of the share the node would have.

    Weight 0 ranks above every weight, and two of weight 0 by what they would be over weight 1: else neither could give way to the
    other without taking it back at once.
    """
    return _largest_excess(use, index, ask, leaf)[0]


def _largest_excess(use: QuotaUse, index: int, ask: Sequence[Amount], leaf: int) -> tuple[int, int, int, int]:
    """(rank, held above quota, lendable, axis) of the resource that makes the over-quota share; rank 0: none does."""
    tree, best = use.tree, (0, 0, 1, 0)
    parent = tree.parent[index]
    if parent < 0 or _is_alone(tree, parent):
        return best
    asked, quota, weight = dict(ask), tree.subtree[index], tree.nodes[index].effective_weight_ppm
    everybody, base = use.used[EVERYBODY], index * tree.columns
    for axis, columns in tree.limited_axes:
        above = 0
        for column in columns:
            used = everybody[base + column]
            if asked and asked.get(column):
                used += use.arriving(leaf, index, column, asked[column], EVERYBODY)
            if used > quota[column]:
                above += used - quota[column]
        lendable = tree.lendable(parent, axis, columns) if above else 0
        if lendable:
            share_rank = rank(above * ONE_PPM, lendable * weight)
            if not weight:
                share_rank += rank(above, lendable)
            if share_rank > best[0]:
                best = (share_rank, above, lendable, axis)
    return best


def _is_alone(tree: QuotaTree, parent: int) -> bool:
    """A tenant without a cohort and with one queue has nobody to borrow from."""
    return tree.parent[parent] < 0 and tree.nodes[parent].kind == "tenant" and len(tree.children[parent]) < 2
