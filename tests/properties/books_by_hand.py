"""The books of a plan kept anew and plainly: what the tree's nodes hold after it (SCH-03), and what is marked as borrowed and lent (SCH-16).

Nothing of the engine's arithmetic is used here, so that the two can be held against each other.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scheduling.engine.plan import Plan, Start
from scheduling.engine.snapshot import Snapshot, TreeNode
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier

Column = int


@dataclass
class Level:
    """A node of the quota tree for one column: its own quota, what of it its lending limit keeps back, and its use."""

    quota: int
    kept: int
    use: int = 0


class Books:
    """Use of every node of the tree for one column, tiers from `tier` up, as it is once the plan's starts run and nobody has left."""

    def __init__(self, snapshot: Snapshot, plan: Plan, column: Column, tier: int = 0) -> None:
        self.tree, self.column = snapshot.tree, column
        self.children: dict[int, list[int]] = {}
        for place, node in enumerate(self.tree):
            self.children.setdefault(node.parent, []).append(place)
        self.held = _held(snapshot, plan, column, tier)
        self.level: dict[int, Level] = {}
        for root in self.children[-1]:
            self._add_up(root)

    def _add_up(self, place: int) -> Level:
        """Bottom up: what a child keeps back neither counts above it nor does use inside of it."""
        node, below = self.tree[place], [self._add_up(child) for child in self.children.get(place, ())]
        own = node.nominal[self.column] or 0
        quota = own + sum(child.quota - child.kept for child in below)
        lending = node.lending[self.column]
        level = Level(quota, 0 if lending is None else max(0, quota - lending))
        level.use = self.held[place] + sum(max(0, child.use - child.kept) for child in below)
        self.level[place] = level
        return level

    def over(self, leaf: int) -> Iterator[TreeNode]:
        """Nodes above a queue that hold more than they may, as far up as its use reaches."""
        place = leaf
        while place >= 0:
            node, level = self.tree[place], self.level[place]
            limit, borrowed = node.borrowing[self.column], level.use - level.quota
            if borrowed > 0 and (node.parent < 0 or (limit is not None and borrowed > limit)):
                yield node
            if level.use <= level.kept:
                return
            place = node.parent


def _held(snapshot: Snapshot, plan: Plan, column: Column, tier: int) -> Counter[int]:
    """Of queues, by tree place."""
    held, pods, running, pending = Counter[int](), snapshot.pods, snapshot.running, snapshot.pending
    flavors = len(snapshot.flavors)
    beside = (pods.cpu_m, pods.memory_mib, pods.vram_mib)
    for row, run in enumerate(pods.run.tolist()):
        queue = int(running.queue[run])
        if queue >= 0 and int(running.tier[run]) >= tier:
            amount = beside[column - flavors][row] if column >= flavors else pods.cards_m[row]
            held[snapshot.queues[queue].node] += int(amount) if column >= flavors or pods.flavor[row] == column else 0
    row_of = {job: row for row, job in enumerate(pending.ids)}
    for start in plan.starts:
        if int(pending.tier[row_of[start.job]]) >= tier:
            held[leaf_of(snapshot, start)] += asked(snapshot, start)[column]
    return held


def leaf_of(snapshot: Snapshot, start: Start) -> int:
    """The queue's place in the tree."""
    return snapshot.queues[int(snapshot.pending.queue[snapshot.pending.ids.index(start.job)])].node


def asked(snapshot: Snapshot, start: Start) -> Counter[Column]:
    """What a start takes, by column."""
    place, total = {flavor.id: at for at, flavor in enumerate(snapshot.flavors)}, Counter[Column]()
    for pod in start.pods:
        if pod.flavor is not None:
            total[place[pod.flavor]] += pod.cards_m
        for at, amount in enumerate((pod.cpu_m, pod.memory_mib, pod.vram_mib)):
            total[len(place) + at] += amount
    return total


def over_quota(snapshot: Snapshot, plan: Plan) -> list[tuple[Any, str]]:
    """(job, node of the tree) where a start takes more than the tree has: empty for a sound plan."""
    found = []
    for column in range(len(snapshot.columns)):
        takers = [start for start in plan.starts if asked(snapshot, start)[column]]
        if takers and any(node.nominal[column] is not None for node in snapshot.tree):
            books = Books(snapshot, plan, column)
            found += [(start.job, node.name) for start in takers for node in books.over(leaf_of(snapshot, start))]
    return found


def shrunk(plan: Plan) -> set[Any]:
    """Runs that become smaller: what their pods that go borrowed is given back when they are gone, or at once."""
    return {resize.job for resize in plan.resizes if resize.removed}


Marks = Counter[tuple[Any, Any]]
"""Borrowed milli-cards by (job, flavor)."""


def marked(snapshot: Snapshot, plan: Plan) -> Marks:
    """What pods are marked to borrow once the plan is applied."""
    pods, running, found = snapshot.pods, snapshot.running, Marks()
    changed = {(split.job, role, rank): amount for split in plan.recharges for role, rank, amount in split.borrowed_m}
    for row, run in enumerate(pods.run.tolist()):
        if int(pods.flavor[row]) >= 0:
            job, role = running.ids[run], snapshot.shapes[int(running.shape[run])].roles[int(pods.role[row])].name
            amount = changed.get((job, role, int(pods.rank[row])), int(pods.borrowed_m[row]))
            found[job, snapshot.flavors[int(pods.flavor[row])].id] += amount
    for start in plan.starts:
        for pod in start.pods:
            found[start.job, pod.flavor] += pod.borrowed_m
    return _but_shrunk(found, plan)


def _but_shrunk(marks: Marks, plan: Plan) -> Marks:
    gone = shrunk(plan)
    return Marks({key: amount for key, amount in marks.items() if amount and key[0] not in gone})


def lent(snapshot: Snapshot, plan: Plan) -> Marks:
    """What open loans say once the plan is applied."""
    ended = {change.loan for change in plan.loans if change.expires_ms is None}
    found = Marks()
    for loan in snapshot.loans:
        if loan.id not in ended:
            found[snapshot.running.ids[loan.run], snapshot.flavors[loan.flavor].id] += loan.amount_m
    opened = [(each.job, loan) for each in plan.recharges for loan in each.loans]
    opened += [(each.job, loan) for each in plan.starts for loan in each.loans]
    for job, loan_open in opened:
        found[job, loan_open.flavor] += loan_open.amount_m
    return _but_shrunk(found, plan)


def wrong_splits(snapshot: Snapshot, plan: Plan) -> list[tuple[str, str, str]]:
    """(tenant, flavor, tier) whose pods are not marked to borrow what the tenant borrows (SCH-01, SCH-03); empty for a sound plan.

    Only where every split is known, nobody of the tenant leaves, who keeps the split he has, and starts are of one tier: the next
    cycle looks at those that a higher tier came after. Parts of cards are borrowed whole.
    """
    marks, found = marked(snapshot, plan), []
    told, starting = {evict.job for evict in plan.evicts} | shrunk(plan), {start.job for start in plan.starts}
    tenants = {at: node for at, node in enumerate(snapshot.tree) if node.kind == "tenant"}
    for column, flavor in enumerate(snapshot.flavors):
        if not any(node.nominal[column] is not None for node in snapshot.tree):
            continue
        books = [Books(snapshot, plan, column, tier) for tier in (*Tier,)]
        above = [{at: max(0, each.level[at].use - each.level[at].quota) for at in tenants} for each in books]
        for at, tenant in tenants.items():
            jobs = _jobs_of(snapshot, plan, tenant)
            tiers = {tier for job, tier, _ in jobs if job in starting}
            if len(tiers) > 1 or any(unsettled or job in told for job, _, unsettled in jobs):
                continue
            for tier in Tier:
                over = above[tier][at] - (above[tier + 1][at] if tier < Tier.PRODUCTION else 0)
                borrowed = sum(marks[job, flavor.id] for job, of, _ in jobs if of == tier)
                if borrowed != over and not (_in_parts(snapshot, plan) and borrowed >= over):
                    found.append((tenant.name, flavor.name, f"{tier.label}: {borrowed} of {over}"))
    return found


def _jobs_of(snapshot: Snapshot, plan: Plan, tenant: TreeNode) -> list[tuple[Any, int, bool]]:
    """(job, tier, whether its split may stay as it is) of what the tenant runs once the plan is applied."""
    running, pending, queues = snapshot.running, snapshot.pending, snapshot.queues
    jobs = [
        (job, int(running.tier[row]), not running.split_known[row] or running.leaving_ms[row] < NEVER)
        for row, job in enumerate(running.ids)
        if int(running.queue[row]) >= 0 and queues[int(running.queue[row])].tenant == tenant.name
    ]
    starting = {start.job for start in plan.starts}
    return jobs + [
        (job, int(pending.tier[row]), False)
        for row, job in enumerate(pending.ids)
        if job in starting and queues[int(pending.queue[row])].tenant == tenant.name
    ]


def _in_parts(snapshot: Snapshot, plan: Plan) -> bool:
    started = any(pod.cards_m % 1000 for start in plan.starts for pod in start.pods)
    return started or any(amount % 1000 for amount in snapshot.pods.cards_m.tolist())
