"""A trace replayed on a virtual clock: arrivals, ends and departures drive the engine's own cycle. No wall clock, no randomness.

Ideal: the engine decides at every instant. Here it decides only at instants where its answer can differ: after an arrival, an
end or a departure, and when time alone matters (a job reaches its starvation limit, a loan expires) while somebody waits. An
arrival alone is no such instant where a job just like it waits already and the last decision changed nothing: nothing came
free since that one was refused. Where jobs take turns (SCH-27) it is one: time alone may have ended somebody's turn. And where the
answer is plain (`plain`) the engine is not asked.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from scheduling.engine.elastic import is_elastic
from scheduling.engine.plan import Move, Plan, Resize
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import I64, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import WaitCode
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.held import CARDS, CPU, Held
from scheduling.simulator.meters import Meters
from scheduling.simulator.plain import PlainInstants
from scheduling.simulator.trace import Trace
from scheduling.simulator.world import World

Decide = Callable[[Snapshot, Policy, int], Plan]
NS_PER_MS = 1_000_000
MOST_CYCLES_AT_ONCE = 10_000
"""More decisions at one instant than this is a circle of starts and evictions, which SCH-17 rules out."""
END, LEAVE = 0, 1
FRONT = 64
"""How many of a strict line the engine is shown first."""


class EndlessInstantError(Exception):
    """The engine kept changing its mind at one instant; carries the instant."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What the simulator may not own: the engine's door (reasons and shares are not read), a stopwatch in ns for `plan_ms`, and somebody who wants to know.

    `ask_always`: the engine is asked also where the answer is plain; it takes longer and changes nothing.
    """

    decide: Decide
    stopwatch: Callable[[], int] = lambda: 0
    progress: Callable[[int, int, int], None] = lambda _ended, _waiting, _now_ms: None
    ask_always: bool = False


@dataclass(frozen=True, slots=True)
class Replay:
    """What happened, as columns over the trace's jobs (-1 = never); amounts are integrals over virtual time."""

    trace: Trace
    first_start_ms: I64
    end_ms: I64
    held_ms: I64
    preemptions: I64
    last_nodes: tuple[tuple[str, ...], ...]
    meters: Meters
    plan_ns: tuple[int, ...]
    dropped: int | None = None
    """Jobs that fitted nowhere when they came, where nothing queues."""


def replay(cluster: Cluster, trace: Trace, policy: Policy, tools: Tools) -> Replay:
    """Run the whole trace; ends when nothing can happen any more, also where jobs are left that can never start."""
    return _Replayer(cluster, trace, policy, tools).run()


@dataclass(slots=True)
class _Replayer:
    cluster: Cluster
    trace: Trace
    policy: Policy
    tools: Tools
    world: World = field(init=False)
    meters: Meters = field(init=False)
    plain: PlainInstants = field(init=False)
    events: list[tuple[int, int, int, int]] = field(default_factory=list)
    plan_ns: list[int] = field(default_factory=list)
    last_nodes: list[tuple[str, ...]] = field(init=False)
    first_start_ms: I64 = field(init=False)
    end_ms: I64 = field(init=False)
    held_ms: I64 = field(init=False)
    preemptions: I64 = field(init=False)
    ended: int = 0
    settled: bool = False
    moved: bool = False
    window: int | None = None
    elastic: bool = False
    made_room: bool = False
    """Pods of elastic jobs went in the last decision, as runs that moved on did: whoever they went for starts at the same instant."""

    def __post_init__(self) -> None:
        size = len(self.trace)
        self.world = World(self.cluster, self.trace, self.policy)
        if self.policy.block == "head" and self.policy.order == "submit" and len(self.cluster.pools) == 1:
            self.window = FRONT
        self.elastic = any(is_elastic(shape) for shape in self.trace.shapes)
        self.meters = Meters(self.cluster, self.trace)
        self.plain = PlainInstants(self.world, ask_always=self.tools.ask_always)
        self.last_nodes = [()] * size
        self.first_start_ms, self.end_ms = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        self.held_ms, self.preemptions = np.zeros(size, np.int64), np.zeros(size, np.int64)

    def run(self) -> Replay:
        arrivals = self.trace.arrivals()
        submit = self.trace.submit_ms.tolist()
        arrived, wake_ms, at_once, last_ms = 0, NEVER, 0, -1
        sharing = self.policy.time_sharing or self.world.turns.anywhere
        while True:
            next_arrival = submit[arrivals[arrived]] if arrived < len(arrivals) else NEVER
            now_ms = min(next_arrival, self.events[0][0] if self.events else NEVER, wake_ms)
            if now_ms >= NEVER:
                break
            at_once = at_once + 1 if now_ms == last_ms else 0
            if at_once > MOST_CYCLES_AT_ONCE:
                raise EndlessInstantError(f"the engine did not settle at {now_ms} ms")
            last_ms = now_ms
            self.meters.advance(now_ms)
            matters = self._happen(now_ms) or now_ms == wake_ms or not self.settled
            first = arrived
            while arrived < len(arrivals) and submit[arrivals[arrived]] == now_ms:
                matters = matters or sharing or not self.world.is_like_one_waiting(arrivals[arrived])
                self.world.arrive(arrivals[arrived])
                arrived += 1
            if matters:
                self._cycle(now_ms)
            self.meters.step(arrivals[first:arrived])
            wake_ms = now_ms if self.made_room or self.moved else self._next_wake(now_ms)
            self.tools.progress(self.ended, len(self.world.waiting), now_ms)
        return self._result()

    def _happen(self, now_ms: int) -> bool:
        """Ends and departures of this instant; those of runs that are gone by now are stale. False where nothing came free."""
        freed = False
        while self.events and self.events[0][0] == now_ms:
            _, kind, job, run = heapq.heappop(self.events)
            if job not in self.world.held or run != self.world.runs[job]:
                continue
            if kind == END and (self.world.leaving_ms[job] < NEVER or self.world.ends_ms(job) != now_ms):
                continue
            held = self.world.release(job, now_ms)
            self._give_back(job, held, now_ms)
            freed = True
            if kind == END:
                self.end_ms[job] = now_ms
                self.ended += 1
                self.meters.mark()
            else:
                self.world.arrive(job)
        return freed

    def _give_back(self, job: int, held: Held, now_ms: int) -> None:
        self.held_ms[job] += now_ms - int(self.world.start_ms[job])
        self.plain.gave(job, held)
        self.meters.take(held.nodes, -held.block[CARDS], -held.block[CPU], -held.borrowed_m)

    def _cycle(self, now_ms: int) -> None:
        """Decide, once. Where the head of one line blocks everybody, the engine is shown the front of the line until someone is
        blocked: whoever stands behind cannot start."""
        while (self.world.waiting or self.world.running) and not self._decide(now_ms):
            self.window = 2 * (self.window or 0)

    def _decide(self, now_ms: int) -> bool:
        """One decision and what follows from it; False where the line has to be looked at further back."""
        hidden = self.window is not None and len(self.world.waiting) > self.window
        begun = self.tools.stopwatch()
        plan = self.plain.plan(now_ms)
        if plan is not None:
            hidden = False
        else:
            snapshot = self.world.snapshot(now_ms, first=self.window)
            begun = self.tools.stopwatch()
            plan = self.tools.decide(snapshot, self.policy, now_ms)
        self.plan_ns.append(self.tools.stopwatch() - begun)
        self._follow(plan, now_ms)
        return not hidden or bool(plan.order) or any(wait.code is not WaitCode.IMPOSSIBLE for wait in plan.waits)

    def _follow(self, plan: Plan, now_ms: int) -> None:
        self.settled = not (plan.starts or plan.evicts or plan.resizes or plan.moves)
        self.made_room = any(resize.removed for resize in plan.resizes)
        for evict in plan.evicts:
            self._evict(self.world.number(evict.job), now_ms)
        for resize in plan.resizes:
            self._resize(resize, now_ms)
        self.moved = bool(plan.moves)
        for _, moves in groupby(plan.moves, key=lambda move: move.job):
            self._move(list(moves), now_ms)
        for start in plan.starts:
            self._begin(self.world.begin(start, now_ms), now_ms)
        recharged = [self.world.number(recharge.job) for recharge in plan.recharges]
        recharged = [job for job in recharged if job in self.world.held]
        before = sum(self.world.held[job].borrowed_m for job in recharged)
        self.world.record(plan, now_ms)
        for job in recharged:
            self.plain.recharged(job, self.world.held[job])
        self.meters.borrow(sum(self.world.held[job].borrowed_m for job in recharged) - before)
        self.plain.settled(self.world.number(start.job) for start in plan.starts)

    def _evict(self, job: int, now_ms: int) -> None:
        if self.world.leaving_ms[job] < NEVER:
            return
        self.world.stop(job, now_ms)
        self.preemptions[job] += 1
        heapq.heappush(self.events, (int(self.world.leaving_ms[job]), LEAVE, job, int(self.world.runs[job])))

    def _move(self, moves: list[Move], now_ms: int) -> None:
        """A stop and a start at once, with the cost of a restart; it counts as a preemption."""
        began_ms = int(self.world.start_ms[self.world.number(moves[0].job)])
        job, old, _ = self.world.move(moves, now_ms)
        self.held_ms[job] += now_ms - began_ms
        self.meters.take(old.nodes, -old.block[CARDS], -old.block[CPU], -old.borrowed_m)
        self.preemptions[job] += 1
        self._begin(job, now_ms)

    def _begin(self, job: int, now_ms: int) -> None:
        held = self.world.held[job]
        if self.first_start_ms[job] < 0:
            self.first_start_ms[job] = now_ms
        names = self.cluster.nodes.names
        self.last_nodes[job] = tuple(dict.fromkeys(names[node] for node in sorted(held.nodes.tolist())))
        self.plain.took(job, held)
        self.meters.take(held.nodes, held.block[CARDS], held.block[CPU], held.borrowed_m)
        self._expect_end(job)

    def _resize(self, resize: Resize, now_ms: int) -> None:
        before, after = self.world.resize(resize, now_ms)
        self.meters.take(before.nodes, -before.block[CARDS], -before.block[CPU], -before.borrowed_m)
        self.meters.take(after.nodes, after.block[CARDS], after.block[CPU], after.borrowed_m)
        self._expect_end(self.world.number(resize.job))

    def _expect_end(self, job: int) -> None:
        """At its present size; an end that was expected at another one is stale by then."""
        ends_ms = self.world.ends_ms(job)
        if ends_ms < NEVER:
            heapq.heappush(self.events, (ends_ms, END, job, int(self.world.runs[job])))

    def _next_wake(self, now_ms: int) -> int:
        """The next instant at which time alone can change a decision; where nobody waits only over-committed pools have any."""
        world = self.world
        cooldowns = [at_ms for at_ms in world.cooldowns_ms() if at_ms > now_ms] if self.elastic else []
        watch_ms = min([world.watch.next_ms(now_ms), *cooldowns])
        if not world.waiting:
            return watch_ms
        limits = (self.policy.starve_batch_ms, self.policy.starve_development_ms, self.policy.starve_production_ms)
        jobs = np.array(world.waiting, dtype=np.int64)
        aged = world.order_ms[jobs] + np.array(limits, dtype=np.int64)[self.trace.tier[jobs]]
        expiries = [loan.expires_ms for held in world.held.values() for loan in held.loans]
        later = [int(at) for at in aged[aged > now_ms]] + [at for at in expiries if at > now_ms]
        return min([*later, *world.turns_end_ms(now_ms), watch_ms, self._guard_ends_ms(now_ms)])

    def _guard_ends_ms(self, now_ms: int) -> int:
        """When the next run has had its minimum time: from then on it may have to leave. Turns have a time of their own (SCH-27)."""
        if not self.policy.preemption or self.policy.time_sharing or not self.world.running:
            return NEVER
        ends = self.world.start_ms[np.array(self.world.running, dtype=np.int64)] + self.policy.minimum_run_ms
        return int(ends[ends > now_ms].min(initial=NEVER))

    def _result(self) -> Replay:
        last_ms = self.meters.now_ms
        for job in self.world.running:
            self.held_ms[job] += last_ms - int(self.world.start_ms[job])
        return Replay(
            trace=self.trace,
            first_start_ms=self.first_start_ms,
            end_ms=self.end_ms,
            held_ms=self.held_ms,
            preemptions=self.preemptions,
            last_nodes=tuple(self.last_nodes),
            meters=self.meters,
            plan_ns=tuple(self.plan_ns),
        )
