"""What would happen from a snapshot on if nobody else came: jobs end by a share of their declared limits, and the line moves up.

A light stand-in for the engine's cycle, for ranges only: the cycle's own order, its quota arithmetic and its placement, but no
evictions, no new reservations, and shares are not weighed again. The places that the plan promised stay promised until their jobs
start, and nobody behind a job that waited past its tier's limit passes it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from scheduling.engine.asks import Option
from scheduling.engine.classes import ClassBook, JobClass
from scheduling.engine.elastic import largest_fitting
from scheduling.engine.free import Leftover
from scheduling.engine.nodes import NodeBook
from scheduling.engine.opening import open_state
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.plan import Plan, Start
from scheduling.engine.policy import Policy
from scheduling.engine.quota import Amount, QuotaUse
from scheduling.engine.snapshot import Id, Snapshot
from scheduling.engine.starts import placed_as
from scheduling.engine.state import State
from scheduling.engine.tiers import Standing, TierRules
from scheduling.engine.topology import levels_crossed, slowdown_ppm
from scheduling.engine.units import NEVER, ONE_PPM
from scheduling.engine.vocabulary import Tier
from scheduling.simulator.promised import Promise, promises_of

GRAIN_MS = 30_000
GRAIN_PARTS = 50
"""Ends are taken together in steps of half a minute, later of a fiftieth of the distance: a range tells no more than that."""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Jobs of one class, with what a glance needs: `needs[option]` is (flavor, milli-cards of all pods, of one pod; 0 for shares)."""

    job_class: JobClass
    needs: tuple[tuple[int, int, int], ...]
    patience_ms: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A job that started in the run-out; `amounts` is what it is charged at the size it has."""

    job: int
    kind: Kind
    amounts: tuple[Amount, ...]
    placed: Placed


@dataclass(slots=True)
class Present:
    """What all futures of one snapshot share, worked out once."""

    snapshot: Snapshot
    policy: Policy
    now_ms: int
    state: State = field(init=False)
    rules: TierRules = field(init=False)
    kind_of: list[Kind | None] = field(init=False)

    def __post_init__(self) -> None:
        self.state = open_state(self.snapshot, self.policy, self.now_ms)
        self.rules = TierRules(self.snapshot, self.policy, self.state.tree)
        classes = ClassBook(self.snapshot, self.state.tree.tenant, self.state.shares)
        kinds: dict[JobClass, Kind] = {}
        pending = self.snapshot.pending
        self.kind_of = []
        for queue, shape, tier in zip(
            pending.queue.tolist(), pending.shape.tolist(), pending.tier.tolist(), strict=True
        ):
            job_class = classes.of(queue, shape, tier) if queue >= 0 else None
            self.kind_of.append(None if job_class is None else kinds.setdefault(job_class, self._kind(job_class)))

    def _kind(self, job_class: JobClass) -> Kind:
        policy = self.policy
        patience = (policy.starve_batch_ms, policy.starve_development_ms, policy.starve_production_ms)
        needs = []
        for option in job_class.options:
            largest = max(option.gang, key=lambda ask: ask.cards_m)
            total = sum(ask.cards_m * ask.count for ask in option.gang if ask.flavor == largest.flavor)
            needs.append((largest.flavor, total, largest.cards_m if largest.share is None else 0))
        return Kind(job_class, tuple(needs), patience[Tier(job_class.tier)])


class RunOut:
    """One future: `ratio_ppm` of what is left of each declared limit is really used; an expected run time, where told, wins."""

    def __init__(self, present: Present, ratio_ppm: int) -> None:
        self._present, self._ratio_ppm = present, ratio_ppm
        self._book: NodeBook = present.state.free.copy()
        self._use: QuotaUse = present.state.quota.copy()
        self._ends: list[tuple[int, int, int, Begun | None]] = []
        self._sequence = 0
        self._room: dict[tuple[int, int], int] = {}
        self._idle: dict[int, int] = {}
        self._largest: dict[int, int] = {}
        self._limit_ms = present.snapshot.pending.limit_ms.tolist()
        self._expected_ms = present.snapshot.pending.expected_ms.tolist()
        self._submit_ms = present.snapshot.pending.submit_ms.tolist()
        self._promises: list[Promise] = []
        self.starts: dict[Id, int] = {}

    def run(self, plan: Plan, order: list[int]) -> None:
        """Let time pass until everybody in `order` (indexes of pending jobs) has started or nothing more will end."""
        pending = self._present.snapshot.pending
        index = {job: place for place, job in enumerate(pending.ids)}
        self._promises = list(promises_of(self._present.state, plan))
        self._expect_running(plan)
        for start in plan.starts:
            self._follow(index[start.job], start)
        waiting = order
        while waiting and self._ends:
            at_ms = self._advance()
            waiting = self._move_up(waiting, at_ms)

    def _expect_running(self, plan: Plan) -> None:
        now_ms, running = self._present.now_ms, self._present.snapshot.running
        leaving = {evict.run: now_ms + evict.grace_ms for evict in plan.evicts}
        for run, name in enumerate(running.runs):
            left = NEVER
            if running.limit_ms[run] < NEVER:
                left = max(GRAIN_MS, int(running.start_ms[run] + running.limit_ms[run]) - now_ms)
            used = self._used_ms(left, NEVER)
            end_ms = NEVER if used >= NEVER else now_ms + used
            self._push(min(int(running.leaving_ms[run]), leaving.get(name, NEVER), end_ms), run, None)

    def _used_ms(self, limit_ms: int, expected_ms: int) -> int:
        """How long work with this limit really runs in this future; NEVER where it says nothing."""
        if expected_ms < NEVER and self._ratio_ppm < ONE_PPM:
            return min(expected_ms, limit_ms)
        return NEVER if limit_ms >= NEVER else max(1, limit_ms * self._ratio_ppm // ONE_PPM)

    def _push(self, end_ms: int, run: int, begun: Begun | None) -> None:
        if end_ms >= NEVER:
            return
        distance = max(0, end_ms - self._present.now_ms)
        grain = GRAIN_MS
        while grain * 2 * GRAIN_PARTS <= distance:
            grain *= 2
        self._sequence += 1
        at_ms = self._present.now_ms + -(-distance // grain) * grain
        heappush(self._ends, (at_ms, self._sequence, run, begun))

    def _follow(self, job: int, start: Start) -> None:
        """Charge a start of the plan itself, as it was placed."""
        snapshot, kind = self._present.snapshot, self._present.kind_of[job]
        if kind is None:
            return
        node_at = {node: place for place, node in enumerate(snapshot.nodes.ids)}
        flavor_of = {pod.role: pod.flavor for pod in start.pods}
        for option in kind.job_class.options:
            wanted = {ask.role: None if ask.flavor < 0 else snapshot.flavors[ask.flavor].id for ask in option.gang}
            if all(flavor_of.get(role) == flavor for role, flavor in wanted.items()):
                placed = placed_as(option.gang, start.pods, node_at)
                charged = self._present.state.charge_of([(ask, sum(at.values())) for ask, at in placed])
                self._begin(Begun(job, kind, charged, placed), self._present.now_ms)
                return

    def _begin(self, begun: Begun, at_ms: int) -> None:
        self._use.charge(begun.kind.job_class.leaf, begun.amounts, begun.kind.job_class.tier)
        for ask, counts in begun.placed:
            for node, pods in counts.items():
                self._book.add(node, ask, -pods)
        used = self._used_ms(self._limit_ms[begun.job], self._expected_on(begun))
        self._push(NEVER if used >= NEVER else at_ms + used, -1, begun)

    def _expected_on(self, begun: Begun) -> int:
        """The expected run time where it stands: the slowest of its cards tell (SCH-20), and the levels its pods are apart (SCH-11)."""
        expected_ms, flavors = self._expected_ms[begun.job], self._present.snapshot.flavors
        if expected_ms >= NEVER:
            return NEVER
        speed_ppm = min((flavors[ask.flavor].speed_ppm for ask, _ in begun.placed if ask.flavor >= 0), default=ONE_PPM)
        nodes = {node for _, counts in begun.placed for node in counts}
        crossed = levels_crossed(self._present.state.table, sorted(nodes)) if len(nodes) > 1 else ()
        slowed_ppm = ONE_PPM + slowdown_ppm(crossed, self._present.policy.level_slowdown_ppm)
        return max(1, int(expected_ms) * slowed_ppm // speed_ppm)

    def _advance(self) -> int:
        """To the next instant at which something ends; everything that ends there gives its cards and quota back."""
        at_ms = self._ends[0][0]
        while self._ends and self._ends[0][0] == at_ms:
            _, _, run, begun = heappop(self._ends)
            if begun is None:
                self._present.state.vacate(run, self._book, self._use)
                continue
            self._use.refund(begun.kind.job_class.leaf, begun.amounts, begun.kind.job_class.tier)
            for ask, counts in begun.placed:
                for node, pods in counts.items():
                    self._book.add(node, ask, pods)
        self._glance()
        return at_ms

    def _glance(self) -> None:
        """Free milli-cards by flavor, in total and on the freest node: saves most searches. What was remembered is forgotten."""
        self._room = {}
        table, cards = self._present.state.table, self._book.cards
        self._idle, self._largest = defaultdict(int), defaultdict(int)
        for node, flavor in enumerate(table.flavor):
            free = cards[node]
            if free > 0 and table.open[node]:
                self._idle[flavor] += free
                self._largest[flavor] = max(self._largest[flavor], free)

    def _move_up(self, waiting: list[int], at_ms: int) -> list[int]:
        """Start whoever fits, in order; who is left, in order. A class that did not fit is not tried again at this instant."""
        left: list[int] = []
        stopped: set[int] = set()
        tried: set[Kind] = set()
        kind_of = self._present.kind_of
        for job in waiting:
            kind = kind_of[job]
            if kind is None or kind in tried or kind.job_class.pool in stopped:
                left.append(job)
                continue
            begun = self._fit(job, kind, at_ms)
            if begun is None:
                tried.add(kind)
                left.append(job)
                if at_ms - self._submit_ms[job] > kind.patience_ms and self._allowed(kind.job_class):
                    stopped.add(kind.job_class.pool)
                continue
            self.starts[self._present.snapshot.pending.ids[job]] = at_ms
            self._promises = [promise for promise in self._promises if promise.job != job]
            self._begin(begun, at_ms)
            self._glance()
        return left

    def _fit(self, job: int, kind: Kind, at_ms: int) -> Begun | None:
        job_class = kind.job_class
        limits = self._promised_before(job, job_class, at_ms)
        if limits is None:
            return None
        for option, (flavor, total_m, one_m) in zip(job_class.options, kind.needs, strict=True):
            if one_m and (self._idle.get(flavor, 0) < total_m or self._largest.get(flavor, 0) < one_m):
                continue
            if not self._has_quota(job_class, option):
                continue
            placed = place_gang(self._book, option.gang, job_class.shape, pool=job_class.pool, limits=limits)
            if placed is not None:
                return Begun(job, kind, option.amounts, placed)
        if len(job_class.sizes) > 1:
            return largest_fitting(job_class.sizes[1:], lambda options: self._fit_smaller(job, kind, options, limits))
        return None

    def _fit_smaller(self, job: int, kind: Kind, options: Sequence[Option], limits: list[Leftover]) -> Begun | None:
        """SCH-10: at one of the smaller sizes."""
        job_class = kind.job_class
        for option in options:
            if self._has_quota(job_class, option):
                placed = place_gang(self._book, option.gang, job_class.shape, pool=job_class.pool, limits=limits)
                if placed is not None:
                    return Begun(job, kind, option.amounts, placed)
        return None

    def _promised_before(self, job: int, job_class: JobClass, at_ms: int) -> list[Leftover] | None:
        """What promised places leave to the job; None where one is of its own tenant's quota. A job that ends before is free."""
        limits = []
        for promise in self._promises:
            if promise.job == job or promise.pool != job_class.pool or at_ms + self._limit_ms[job] <= promise.at_ms:
                continue
            if promise.tenant == job_class.tenant and not self._is_promised(job):
                return None
            limits.append(promise.left)
        return limits

    def _is_promised(self, job: int) -> bool:
        return any(promise.job == job for promise in self._promises)

    def _allowed(self, job_class: JobClass) -> bool:
        """Quota would let it start: only cards are missing, so those that come free are kept for it (SCH-07)."""
        return any(self._has_quota(job_class, option) for option in job_class.smallest)

    def _has_quota(self, job_class: JobClass, option: Option) -> bool:
        leaf = job_class.leaf
        if any(amount > self._quota_room(leaf, column) for column, amount in option.amounts):
            return False
        if job_class.tier != Tier.PRODUCTION and self._present.policy.borrowing:
            return True
        return self._present.rules.standing(self._use, job_class, option.amounts) != Standing.BARRED

    def _quota_room(self, leaf: int, column: int) -> int:
        """What the queue may still take, remembered until something starts or ends."""
        key = (leaf, column)
        room = self._room.get(key)
        if room is None:
            room = self._room[key] = self._use.available(leaf, column)
        return room
