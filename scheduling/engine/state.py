"""The moving picture of one cycle: what is free and what is charged, now and once everybody who is leaving has left.

Two moments are kept side by side. *Now* is what holds cards and quota at this instant. *After* is the picture when every
leaving run is gone and every job that cards are kept for has started. A job may start only where both have room; a claim that
needs victims is weighed in *after*. Nothing here decides anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scheduling.engine.asks import PodAsk, total_charge
from scheduling.engine.classes import JobClass
from scheduling.engine.free import Free, Leftover, Limits, common, shifted
from scheduling.engine.nodes import NodeBook, NodeTable
from scheduling.engine.placement import Placed
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount, QuotaTree, QuotaUse
from scheduling.engine.runs import RunTable
from scheduling.engine.share import DominantShares
from scheduling.engine.snapshot import Id, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import PreemptReason

if TYPE_CHECKING:
    from scheduling.engine.reservations import KeptAside


@dataclass(frozen=True, slots=True, eq=False)
class Started:
    """A job that starts in this cycle; `borrowed` is by column, what crosses its tenant's boundary."""

    job: int
    job_class: JobClass
    placed: Placed
    amounts: tuple[Amount, ...]
    borrowed: dict[int, int]
    ends_ms: int
    backfilled: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """A job that nodes are kept for until those who leave them are gone."""

    job: int
    job_class: JobClass
    placed: Placed
    amounts: tuple[Amount, ...]
    from_ms: int


@dataclass(frozen=True, slots=True)
class IdleFor:
    """SCH-07: a job that waited too long and has no time yet; `cards_m` that are idle stay so for it."""

    job: int
    job_class: JobClass
    cards_m: int


@dataclass(frozen=True, slots=True)
class Victim:
    run: int
    for_job: Id | None
    reason: PreemptReason


@dataclass(frozen=True, slots=True)
class Shrunk:
    """What a run gives up: rows of its pods, the highest index first, why, and when they should be gone."""

    rows: tuple[int, ...]
    reason: str
    leaves_ms: int


@dataclass(frozen=True, slots=True)
class HoldBack:
    """SCH-15: over-committed work may take `room_m` milli-cards of a pool more than at the moment when `free_m` of it were free."""

    room_m: int
    free_m: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A single-pod run that goes on from node `source` to node `target` (SCH-27)."""

    run: int
    source: int
    target: int


@dataclass(slots=True)
class Head:
    """SCH-08: a blocked job's place at `at_ms`. `nodes` is what later jobs may take of its nodes, `quota` the use with it in."""

    job: int
    job_class: JobClass
    at_ms: int
    placed: Placed
    amounts: tuple[Amount, ...]
    nodes: Leftover
    quota: QuotaUse


@dataclass(slots=True)
class State:
    snapshot: Snapshot
    policy: Policy
    now_ms: int
    tree: QuotaTree
    table: NodeTable
    shares: DominantShares
    free: NodeBook
    usable: NodeBook
    after: NodeBook
    quota: QuotaUse
    quota_after: QuotaUse
    runs: RunTable
    leaving_ms: list[int]
    holds_parts: bool
    """Whether any run holds a share of a card."""
    started: list[Started] = field(default_factory=list)
    borrowers: list[Started] = field(default_factory=list)
    """Those of `started` that borrow, in the same order: few, and looked through for every claim on nominal that lacks quota."""
    kept: dict[int, Kept] = field(default_factory=dict)
    victims: list[Victim] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    idle_for: list[IdleFor] = field(default_factory=list)
    touched: set[int] = field(default_factory=set)
    """Tenants whose use in the picture of after changed since somebody last looked."""
    thinned: set[int] = field(default_factory=set)
    """Those of `touched` of whom somebody leaves since then."""
    leaving: set[int] = field(default_factory=set)
    leaves_on: dict[int, int] = field(default_factory=dict)
    """When the last of those who leave a node should be gone."""
    held_back: dict[int, HoldBack] = field(default_factory=dict)
    """Pools that were relieved lately (SCH-15)."""
    loosened: dict[int, Free] = field(default_factory=dict)
    """What could be used of nodes before decisions of this cycle gave more of them than they took (see `has_loosened`)."""
    late: set[JobClass] = field(default_factory=set)
    """Classes that found quota now but none once those have come whom places are kept for: somebody's leaving may give it back."""
    shrunk: dict[int, Shrunk] = field(default_factory=dict)
    """Runs that give pods up for claims of this cycle (SCH-10)."""
    kept_aside: "KeptAside | None" = None
    """What reservations and pools' fractions keep from some of the waiting jobs; None where nothing is (SCH-18)."""

    def settle(self, node: int) -> None:
        """What may start on a node now: free, and not needed by anyone who waits for those who leave."""
        free, after = self.free.free(node), self.after.free(node)
        if free != after:
            free = (min(free[0], after[0]), min(free[1], after[1]), min(free[2], after[2]), min(free[3], after[3]))
        self.usable.put(node, free)
        if self.free.slots or self.after.slots or self.usable.slots:
            spare = self.free.cards[node] - free[0], self.after.cards[node] - free[0]
            self.usable.put_slots(node, common(self.free.slots.get(node, {}), self.after.slots.get(node, {}), spare))

    def _loosen(self, node: int) -> None:
        """Settle a node that somebody leaves, and note where more of it can be used at once."""
        before = self.usable.free(node)
        self.settle(node)
        if self.usable.free(node) != before:
            self.loosened.setdefault(node, before)

    def has_loosened(self) -> tuple[bool, bool]:
        """Whether more of any node can be used now than when a decision of this cycle last made somebody leave it: (with cards, without)."""
        with_cards = without = False
        for node, before in self.loosened.items():
            now = self.usable.free(node)
            if any(amount > then for amount, then in zip(now, before, strict=True)):
                without = True
                with_cards = with_cards or now[0] > 0 or node in self.usable.slots
        return with_cards, without

    def vacate(self, run: int, book: NodeBook, use: QuotaUse, sign: int = 1) -> None:
        """Take a run out of one picture (sign -1: put it back)."""
        runs = self.runs
        self.vacate_nodes(run, book, sign)
        if runs.leaf[run] >= 0:
            change = use.refund if sign > 0 else use.charge
            change(runs.leaf[run], runs.held(run), runs.tier[run])

    def vacate_nodes(self, run: int, book: NodeBook, sign: int = 1) -> None:
        """The same for its nodes alone."""
        runs = self.runs
        for node, held in runs.footprint(run):
            book.shift(node, held, sign)
        for hold in runs.shares.get(run, ()) if runs.shares else ():
            book.shift_hold(hold, sign)

    def start(self, started: Started) -> None:
        """Charge a start and take note of it."""
        self.occupy(started.job_class, started.amounts, started.placed, started.ends_ms)
        self.note(started)

    def note(self, started: Started) -> None:
        """Take note of a start that is charged already."""
        self.started.append(started)
        if any(started.borrowed.values()):
            self.borrowers.append(started)

    def retract(self, started: Started) -> None:
        """Take back a start of this cycle, which nobody has seen yet."""
        leaf, tier = started.job_class.leaf, started.job_class.tier
        self.started.remove(started)
        if any(started.borrowed.values()):
            self.borrowers.remove(started)
        self.quota.refund(leaf, started.amounts, tier)
        self.quota_after.refund(leaf, started.amounts, tier)
        self.shares.add(leaf, self.shares.vector(started.amounts), -1)
        self.touched.add(started.job_class.tenant)
        for ask, counts in started.placed:
            for node, pods in counts.items():
                self.free.add(node, ask, pods)
                self.after.add(node, ask, pods)
                self._loosen(node)
        self._charge_heads(started.job_class, started.amounts, started.placed, started.ends_ms, -1)

    def occupy(self, job_class: JobClass, amounts: Sequence[Amount], placed: Placed, ends_ms: int) -> None:
        """Charge pods in both pictures and in those of the heads that they outlast."""
        leaf, tier = job_class.leaf, job_class.tier
        self.quota.charge(leaf, amounts, tier)
        self.quota_after.charge(leaf, amounts, tier)
        self.shares.add(leaf, self.shares.vector(amounts))
        self.touched.add(job_class.tenant)
        for ask, counts in placed:
            for node, pods in counts.items():
                self.free.add(node, ask, -pods)
                self.after.add(node, ask, -pods)
                self.settle(node)
        self._charge_heads(job_class, amounts, placed, ends_ms, 1)

    def keep(self, kept: Kept) -> None:
        """Charge a job that starts once others have left: only in the picture of then, and in its queue's share."""
        self._promise(kept, 1)
        self.kept[kept.job] = kept

    def forget(self, job: int) -> Kept:
        """Take a kept job's promise back, to weigh it again."""
        kept = self.kept.pop(job)
        self._promise(kept, -1)
        return kept

    def _promise(self, kept: Kept, sign: int) -> None:
        leaf, tier = kept.job_class.leaf, kept.job_class.tier
        change = self.quota_after.charge if sign > 0 else self.quota_after.refund
        change(leaf, kept.amounts, tier)
        self.touched.add(kept.job_class.tenant)
        self.shares.add(leaf, self.shares.vector(kept.amounts), sign)
        for ask, counts in kept.placed:
            for node, pods in counts.items():
                self.after.add(node, ask, -sign * pods)
                self.settle(node)
        length = int(self.snapshot.pending.limit_ms[kept.job])
        ends_ms = NEVER if length >= NEVER else kept.from_ms + length
        self._charge_heads(kept.job_class, kept.amounts, kept.placed, ends_ms, sign)

    def _charge_heads(
        self, job_class: JobClass, amounts: Sequence[Amount], placed: Placed, ends_ms: int, sign: int
    ) -> None:
        """Pods that are still there when a head's time comes take from what its reservation leaves (sign -1: give back)."""
        for head in self.heads:
            if ends_ms > head.at_ms:
                change = head.quota.charge if sign > 0 else head.quota.refund
                change(job_class.leaf, amounts, job_class.tier)
                for ask, counts in placed:
                    for node, pods in counts.items():
                        if node in head.nodes:
                            head.nodes.move(node, ask, -sign * pods)

    def vacate_head_nodes(self, run: int, sign: int = 1) -> None:
        """A run that would still be there when a head's time comes leaves its nodes to others (sign -1: it stays after all)."""
        for head in self.heads:
            if self.runs.ends_ms[run] > head.at_ms:
                for node, held in self.runs.footprint(run):
                    if node in head.nodes:
                        head.nodes[node] = shifted(head.nodes[node], held, sign)
                for hold in self.runs.shares.get(run, ()):
                    if hold.node in head.nodes:
                        head.nodes.move_hold(hold, sign)

    def vacate_head_quota(self, run: int, sign: int = 1) -> None:
        """The same for its quota."""
        runs = self.runs
        for head in self.heads:
            if runs.ends_ms[run] > head.at_ms and runs.leaf[run] >= 0:
                change = head.quota.refund if sign > 0 else head.quota.charge
                change(runs.leaf[run], runs.held(run), runs.tier[run])

    def evict(self, victim: Victim, leaves_ms: int) -> None:
        """Give notice: the run's cards and quota count as free in the picture of after."""
        self.vacate(victim.run, self.after, self.quota_after)
        self.vacate_head_nodes(victim.run)
        self.give_notice(victim, leaves_ms)

    def give_notice(self, victim: Victim, leaves_ms: int) -> None:
        """The rest of an eviction, for a run that is out of the picture of after and of the heads' nodes already."""
        self.vacate_head_quota(victim.run)
        for node, _ in self.runs.footprint(victim.run):
            self._loosen(node)
        self._note_leaving(victim.run, leaves_ms)
        if self.runs.leaf[victim.run] >= 0:
            self.touched.add(self.tree.tenant[self.runs.leaf[victim.run]])
            self.thinned.add(self.tree.tenant[self.runs.leaf[victim.run]])
        self.victims.append(victim)

    def shift_moved(self, moved: Moved, sign: int = 1) -> None:
        """What a move does to the picture of after (sign -1: undone); its quota stays what it is."""
        for _, held in self.runs.footprint(moved.run):
            self.after.shift(moved.source, held, sign)
            self.after.shift(moved.target, held, -sign)

    def move(self, moved: Moved) -> None:
        """A run goes on elsewhere at once: its old place is free in the picture of after, and nobody asks it to leave as well."""
        self.shift_moved(moved)
        self._note_leaving(moved.run, self.now_ms)
        self.settle(moved.source)
        self.settle(moved.target)
        tenant = self.tree.tenant[self.runs.leaf[moved.run]]
        self.touched.add(tenant)
        self.thinned.add(tenant)
        self.moves.append(moved)

    def _note_leaving(self, run: int, leaves_ms: int) -> None:
        self.leaving_ms[run] = leaves_ms
        self.leaving.add(run)
        for node, _ in self.runs.footprint(run):
            self.leaves_on[node] = max(leaves_ms, self.leaves_on.get(node, self.now_ms))

    def find_leaving(self) -> None:
        """Take those who had notice before this cycle out of the picture of after."""
        for run, leaves_ms in enumerate(self.leaving_ms):
            if leaves_ms < NEVER:
                self.vacate(run, self.after, self.quota_after)
                self._note_leaving(run, leaves_ms)
                for node, _ in self.runs.footprint(run):
                    self.settle(node)

    def freed_ms(self, placed: Placed) -> int:
        """When the last of those who leave these nodes should be gone; now where nobody has to."""
        nodes = (node for _, counts in placed for node in counts)
        return max((self.leaves_on.get(node, self.now_ms) for node in nodes), default=self.now_ms)

    def deals_in_parts(self) -> bool:
        """True where shares of cards are held or start in this cycle: then a tenant's nominal may end inside of a card."""
        return self.holds_parts or any(ask.share is not None for each in self.started for ask, _ in each.placed)

    def charge_of(self, pods: list[tuple[PodAsk, int]]) -> tuple[Amount, ...]:
        return total_charge(pods, len(self.snapshot.flavors))

    def limits_for(self, job_class: JobClass, ends_ms: int) -> Limits:
        """The same for a start of the class, with the nodes that are kept whole from it (SCH-18)."""
        if self.kept_aside is None:
            return self.limits(ends_ms)
        return [*self.limits(ends_ms), *self.kept_aside.limits(job_class)]

    def limits(self, ends_ms: int) -> list[Leftover]:
        """What heads leave of their nodes to a job that ends then."""
        return [head.nodes for head in self.heads if ends_ms > head.at_ms]
