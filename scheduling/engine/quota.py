"""SCH-03: what a node of the quota tree may still use. Kueue's borrow and lend arithmetic, in saturating integers; no job, no node.

Three things of each tree node and column decide everything:

- `subtree`: what the node and its children own together and may share with each other;
- `kept`: the part of it that the lending limit keeps from everybody outside;
- use: what flows through the node. Use inside what a child keeps back never reaches its parent.

Use is counted at three levels: all tiers, development and above, production alone. A tier sees lower tiers as if they were
not there where a claim on nominal is weighed (SCH-01: nominal fills from the highest tier down).
"""

from collections.abc import Iterable, Sequence

from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import ONE_PPM, UNLIMITED, add, subtract
from scheduling.engine.vocabulary import Tier

LEVELS = len(Tier)
EVERYBODY = int(Tier.BATCH)
"""The level that counts every tier's use: what is really taken now."""

Amount = tuple[int, int]
"""(column of `Snapshot.columns`, amount)."""
Descent = tuple[int, int, tuple[tuple[int, int, int, int | None], ...]]
"""Place and quota of a root, then for nodes below it, for one column: (place in a level of use, kept, subtree, borrowing limit)."""
Climb = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""A node and its ancestors for one column: their places in a level of use where none of them keeps anything (the common case, in
which all of a charge reaches the root), else nothing; and in any case (place, what the node keeps)."""


class QuotaTree:
    """The fixed half of the arithmetic: shape of the tree, quotas and limits. Built once a cycle, never changed."""

    def __init__(self, nodes: Sequence[TreeNode], columns: int) -> None:
        self.nodes = nodes
        self.columns = columns
        self.parent = [node.parent for node in nodes]
        self.children: list[list[int]] = [[] for _ in nodes]
        for index, node in enumerate(nodes):
            if node.parent >= 0:
                self.children[node.parent].append(index)
        self.bottom_up = self._bottom_up()
        self.limited = [any(node.nominal[column] is not None for node in nodes) for column in range(columns)]
        self.limited_axes = self._limited_axes()
        self.tenant = [self._tenant_of(index) for index in range(len(nodes))]
        self.path = [self._path(index) for index in range(len(nodes))]
        self.nominal = [[0] * columns for _ in nodes]
        self.subtree = [[0] * columns for _ in nodes]
        self.kept = [[0] * columns for _ in nodes]
        self._potential: dict[tuple[int, int], int] = {}
        self._lendable: dict[tuple[int, int], int] = {}
        self._sides: dict[tuple[int, int], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        for column in range(columns):
            self._roll_up(column)
        # By node and column, so that use climbs and descends without look-ups.
        self.climbs = [[self._climb(index, column) for column in range(columns)] for index in range(len(nodes))]
        self.descents = [
            [self.descent(index, column, node.borrow_scale_ppm) for column in range(columns)]
            for index, node in enumerate(nodes)
        ]

    def _limited_axes(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(axis, limited columns) of each resource that has any: cards of all flavors, CPU, memory, VRAM (the last columns)."""
        known = [column for column in range(self.columns) if self.limited[column]]
        first = self.columns - 3
        axes = (range(first), (first,), (first + 1,), (first + 2,))
        columns = [tuple(column for column in known if column in own) for own in axes]
        return tuple((axis, limited) for axis, limited in enumerate(columns) if limited)

    def _bottom_up(self) -> list[int]:
        order = [index for index, parent in enumerate(self.parent) if parent < 0]
        for index in order:
            order.extend(self.children[index])
        return order[::-1]

    def _path(self, index: int) -> tuple[int, ...]:
        """The node and its ancestors, root last."""
        path = [index]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        return tuple(path)

    def _tenant_of(self, index: int) -> int:
        """The tenant a queue belongs to; a node without a tenant above it stands for itself."""
        at = index
        while at >= 0:
            if self.nodes[at].kind == "tenant":
                return at
            at = self.parent[at]
        return index

    def _roll_up(self, column: int) -> None:
        for index in self.bottom_up:
            node, children = self.nodes[index], self.children[index]
            line = node.nominal[column]
            if node.kind == "tenant" and children:
                self._total_over_queues(index, column, line)
            else:
                self.nominal[index][column] = line or 0
                self.subtree[index][column] = line or 0
                for child in children:
                    stored = subtract(self.subtree[child][column], self.kept[child][column])
                    self.subtree[index][column] = add(self.subtree[index][column], stored)
            lending = node.lending[column]
            if lending is not None:
                self.kept[index][column] = max(0, subtract(self.subtree[index][column], lending))

    def _total_over_queues(self, tenant: int, column: int, line: int | None) -> None:
        """A tenant's line is the total over its queues, never a pool beside them; what queues keep back comes out of it.

        A line below what the queues keep back leaves each queue, in id order, only what the line still holds.
        """
        children = self.children[tenant]
        total = 0
        for child in children:
            total = add(total, self.nominal[child][column])
        if line is not None:
            total = line
        left = total
        for child in children:
            self.kept[child][column] = min(self.kept[child][column], left)
            left = subtract(left, self.kept[child][column])
        self.nominal[tenant][column] = total
        self.subtree[tenant][column] = left

    def sides(self, one: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The branches of two nodes below the lowest node that both belong to; empty ones under different roots."""
        known = self._sides.get((one, other))
        if known is None:
            known = self._sides[one, other] = self._find_sides(one, other)
        return known

    def _find_sides(self, one: int, other: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        ours, theirs = self.path[one], self.path[other]
        if ours[-1] != theirs[-1]:
            return (), ()
        shared = 1
        while shared < min(len(ours), len(theirs)) and ours[-1 - shared] == theirs[-1 - shared]:
            shared += 1
        return ours[:-shared], theirs[:-shared]

    def potential(self, index: int, column: int) -> int:
        """What the node could use if everybody else were idle."""
        known = self._potential.get((index, column))
        if known is None:
            known = self._potential[index, column] = self._work_out_potential(index, column)
        return known

    def _work_out_potential(self, index: int, column: int) -> int:
        if not self.limited[column]:
            return UNLIMITED
        parent = self.parent[index]
        if parent < 0:
            return self.subtree[index][column]
        reachable = add(self.kept[index][column], self.potential(parent, column))
        borrowing = self.nodes[index].borrowing[column]
        if borrowing is None:
            return reachable
        return min(reachable, add(self.subtree[index][column], borrowing))

    def lendable(self, index: int, axis: int, columns: Sequence[int]) -> int:
        """What the node's tree could lend of an axis' columns together."""
        known = self._lendable.get((index, axis))
        if known is None:
            known = 0
            for column in columns:
                known = add(known, max(0, self.potential(index, column)))
            self._lendable[index, axis] = known
        return known

    def _climb(self, index: int, column: int) -> Climb:
        """The way of a charge; empty for a column that nothing limits."""
        if not self.limited[column]:
            return (), ()
        steps = tuple((at * self.columns + column, self.kept[at][column]) for at in self.path[index])
        return () if any(kept for _, kept in steps) else tuple(at for at, _ in steps), steps

    def descent(self, index: int, column: int, scale_ppm: int = ONE_PPM) -> Descent:
        """The way down to a node; nodes that keep nothing and limit nothing pass on what there is, and are left out.

        `scale_ppm` is what an idle-rate penalty leaves of what the node may borrow (SCH-06).
        """
        *below, root = self.path[index]
        steps = (
            (
                at * self.columns + column,
                self.kept[at][column],
                self.subtree[at][column],
                self.nodes[at].borrowing[column]
                if scale_ppm == ONE_PPM
                else self._scaled(index, at, column, scale_ppm),
            )
            for at in reversed(below)
        )
        narrow = tuple(step for step in steps if step[1] > 0 or step[3] is not None) if self.limited[column] else ()
        return root * self.columns + column, self.subtree[root][column], narrow

    def _scaled(self, index: int, at: int, column: int, scale_ppm: int) -> int | None:
        """The borrowing limit of `at` on the way down to a queue that may borrow only a part of what it could.

        Its own limit shrinks, and so does what it may take across its tenant's boundary; what queues of one tenant take from
        each other is the tenant's own.
        """
        limit = self.nodes[at].borrowing[column]
        if at == self.tenant[index]:
            limit = max(0, subtract(self.potential(at, column), self.subtree[at][column]))
        elif at != index:
            return limit
        return limit if limit is None or limit >= UNLIMITED else limit * scale_ppm // ONE_PPM

    def own(self, tenant: int, column: int) -> int:
        """The tenant's nominal: own work is what stays inside it (DESIGN section 4)."""
        return self.nominal[tenant][column] if self.limited[column] else UNLIMITED


class QuotaUse:
    """The moving half: use per level, tree node and column. Copies answer "what if".

    `used[level]` is flat, `used[level][node * columns + column]`, so that a copy is one list per level. A column that nothing
    limits is counted at the queues only.
    """

    __slots__ = ("tree", "used")

    def __init__(self, tree: QuotaTree, leaves: Sequence[Sequence[Sequence[int]]] | None = None) -> None:
        """`leaves[level][node][column]` is what queues hold; use of their ancestors is rolled up from it."""
        self.tree = tree
        self.used = [[0] * (len(tree.nodes) * tree.columns) for _ in range(LEVELS)]
        if leaves is not None:
            for level in range(LEVELS):
                self._roll_up(self.used[level], leaves[level])

    def _roll_up(self, used: list[int], leaves: Sequence[Sequence[int]]) -> None:
        tree, columns = self.tree, self.tree.columns
        for index in tree.bottom_up:
            parent, base = tree.parent[index], index * columns
            for column in range(columns):
                used[base + column] += leaves[index][column]
                if parent >= 0 and tree.limited[column]:
                    used[parent * columns + column] += max(0, used[base + column] - tree.kept[index][column])

    def copy(self) -> "QuotaUse":
        twin = QuotaUse.__new__(QuotaUse)
        twin.tree = self.tree
        twin.used = [level[:] for level in self.used]
        return twin

    def at(self, index: int, column: int, level: int = EVERYBODY) -> int:
        return self.used[level][index * self.tree.columns + column]

    def row(self, index: int, level: int = EVERYBODY) -> list[int]:
        """Use of one node over all columns; of a queue, what it holds."""
        columns = self.tree.columns
        return self.used[level][index * columns : (index + 1) * columns]

    def charge(self, leaf: int, amounts: Iterable[Amount], tier: int) -> None:
        """Add a job's use to its queue and to every ancestor that it reaches."""
        everybody, levels = self.used[EVERYBODY], self.used[: tier + 1]
        base, climbs = leaf * self.tree.columns, self.tree.climbs[leaf]
        for column, amount in amounts:
            freely, climb = climbs[column]
            if not climb:
                everybody[base + column] += amount
                continue
            if freely:
                for used in levels:
                    for at in freely:
                        used[at] += amount
                continue
            for used in levels:
                flowing = amount
                for at, kept in climb:
                    inside = kept - used[at]
                    used[at] += flowing
                    if inside > 0:
                        if flowing <= inside:
                            break
                        flowing -= inside

    def refund(self, leaf: int, amounts: Iterable[Amount], tier: int) -> None:
        """Take a job's use back: the exact inverse of `charge`."""
        everybody, levels = self.used[EVERYBODY], self.used[: tier + 1]
        base, climbs = leaf * self.tree.columns, self.tree.climbs[leaf]
        for column, amount in amounts:
            freely, climb = climbs[column]
            if not climb:
                everybody[base + column] -= amount
                continue
            if freely:
                for used in levels:
                    for at in freely:
                        used[at] -= amount
                continue
            for used in levels:
                flowing = amount
                for at, kept in climb:
                    outside = used[at] - kept
                    used[at] -= flowing
                    if outside < flowing:
                        if outside <= 0:
                            break
                        flowing = outside

    def available(self, index: int, column: int, level: int = EVERYBODY, way: Descent | None = None) -> int:
        """What the node may still take, its own and borrowed together; negative after a quota was lowered (SCH-03).

        `way` is another way down than the node's own, for "what if".
        """
        tree = self.tree
        if not tree.limited[column]:
            return UNLIMITED
        used = self.used[level]
        root, quota, descent = way or tree.descents[index][column]
        left = subtract(quota, used[root])
        for at, kept, subtree, borrowing in descent:
            held = used[at]
            if borrowing is not None:
                most = add(subtract(subtree, max(held, kept)), borrowing)
                if most < left:
                    left = most
            if kept > held:
                left = add(left, kept - held)
        return left

    def allows(self, leaf: int, amounts: Iterable[Amount], level: int = EVERYBODY) -> bool:
        """True where every column that is asked for has room; a column asked for with 0 never stands in the way."""
        limited = self.tree.limited
        for column, amount in amounts:
            if amount > 0 and limited[column] and self.available(leaf, column, level) < amount:
                return False
        return True

    def arriving(self, leaf: int, at: int, column: int, amount: int, level: int) -> int:
        """How much of an ask at `leaf` reaches the ancestor `at`, past what the nodes below keep for themselves."""
        tree, used = self.tree, self.used[level]
        for index in tree.path[leaf]:
            if index == at:
                break
            spare = tree.kept[index][column] - used[index * tree.columns + column]
            if spare > 0:
                amount -= min(amount, spare)
        return amount

    def within(self, leaf: int, at: int, amounts: Iterable[Amount], level: int) -> bool:
        """True where the ancestor `at` (or the leaf itself) stays inside its own quota with the ask, seen from `level`."""
        tree = self.tree
        for column, amount in amounts:
            if amount <= 0 or not tree.limited[column]:
                continue
            held, quota = self.used[level][at * tree.columns + column], tree.subtree[at][column]
            if held + amount <= quota:
                continue
            if held > quota or held + self.arriving(leaf, at, column, amount, level) > quota:
                return False
        return True

    def borrows(self, index: int, column: int, level: int = EVERYBODY) -> int:
        """How much the node holds above its own quota: what crosses its boundary, never below 0."""
        if not self.tree.limited[column]:
            return 0
        return max(0, self.at(index, column, level) - self.tree.subtree[index][column])
