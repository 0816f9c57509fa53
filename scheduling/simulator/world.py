"""Everything that changes while a trace is replayed: who waits, who holds what, how far each job has come. Knows no clock."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scheduling.engine.elastic import is_elastic
from scheduling.engine.plan import LoanChange, LoanOpen, Move, Plan, Recharge, Resize, Start
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import I64, Eviction, Loan, LoanSide, Nodes, Pending, Reservation, Running, Snapshot
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import PreemptReason, ReservationKind
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.frozen import frozen
from scheduling.simulator.held import (
    FLAVOR,
    ROLE,
    Held,
    hold,
    join_pods,
    number_loans,
    resized,
    with_borrowed,
    with_moved,
)
from scheduling.simulator.pool_watch import PoolWatch
from scheduling.simulator.trace import Trace
from scheduling.simulator.turn_times import TurnTimes


@dataclass(slots=True)
class World:
    """Job indexes are the trace's; `waiting` and `running` are kept sorted, so that columns come out sorted by id."""

    cluster: Cluster
    trace: Trace
    policy: Policy
    waiting: list[int] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    held: dict[int, Held] = field(default_factory=dict)
    leaving: set[int] = field(default_factory=set)
    kept: tuple[Reservation, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    order_ms: I64 = field(init=False)
    progress_ms: I64 = field(init=False)
    start_ms: I64 = field(init=False)
    leaving_ms: I64 = field(init=False)
    attained_card_ms: I64 = field(init=False)
    resize_ms: I64 = field(init=False)
    mark_ms: I64 = field(init=False)
    """From when on a running job has made progress at its present size, after its restart."""
    ran_ms: I64 = field(init=False)
    """Progress that the present run had made by then."""
    runs: I64 = field(init=False)
    _index: dict[str, int] = field(init=False)
    _roles: list[list[str]] = field(init=False)
    _cards_m: I64 = field(init=False)
    _elastic: list[bool] = field(init=False)
    _speeds_differ: bool = field(init=False)
    _loans_opened: int = 0
    watch: PoolWatch = field(init=False)
    turns: TurnTimes = field(init=False)
    _nodes: Nodes = field(init=False)
    """The cluster's, without what a file says of measured use: that is of one moment, and a replay is of many."""

    def __post_init__(self) -> None:
        self.watch = PoolWatch(self.cluster, self.policy)
        self.turns = TurnTimes.of(self.cluster, self.policy)
        self._nodes = replace(self.cluster.nodes, measured_ppm=frozen(np.full(len(self.cluster.nodes), -1, np.int64)))
        size = len(self.trace)
        self.order_ms = self.trace.submit_ms.copy()
        self.progress_ms, self.start_ms = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.leaving_ms = np.full(size, NEVER, np.int64)
        self.attained_card_ms, self.runs = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.resize_ms = np.full(size, -1, np.int64)
        self.mark_ms, self.ran_ms = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._index = {name: i for i, name in enumerate(self.trace.ids)}
        self._roles = [[role.name for role in shape.roles] for shape in self.trace.shapes]
        self._cards_m = self.trace.cards_m
        self._elastic = [is_elastic(shape) for shape in self.trace.shapes]
        self._speeds_differ = any(flavor.speed_ppm != ONE_PPM for flavor in self.cluster.flavors)

    def number(self, job: object) -> int:
        """The trace's index of a job id."""
        return self._index[str(job)]

    def arrive(self, job: int) -> None:
        """A job joins the line."""
        insort(self.waiting, job)

    def is_like_one_waiting(self, job: int) -> bool:
        """True where a job of the same queue, shape and tier waits that asks for no more time and has no place promised.

        Asked before the job joins, and only while nothing came free since the last decision: then it cannot start either.
        """
        trace = self.trace
        others = np.array(self.waiting, dtype=np.int64)
        same = (trace.queue[others] == trace.queue[job]) & (trace.shape[others] == trace.shape[job])
        same &= (trace.tier[others] == trace.tier[job]) & (trace.priority[others] >= trace.priority[job])
        shorter = self._limits(others, self._restart_ms(others, 0)) <= self._limits(
            np.array([job]), np.zeros(1, np.int64)
        )
        promised = {str(reservation.job) for reservation in self.kept}
        return any(trace.ids[other] not in promised for other in others[same & shorter].tolist())

    def begin(self, start: Start, now_ms: int) -> int:
        """A job takes its cards; returns its index."""
        job = self.number(start.job)
        del self.waiting[bisect_left(self.waiting, job)]
        insort(self.running, job)
        roles = self._roles[self.trace.shape[job]]
        held = hold(start, roles, self.cluster.node_index, self.cluster.flavor_index)
        self.held[job] = replace(held, loans=self._open(start.loans, now_ms))
        self._run_anew(job, now_ms)
        return job

    def _run_anew(self, job: int, now_ms: int) -> None:
        self.start_ms[job], self.leaving_ms[job] = now_ms, NEVER
        self.runs[job] += 1
        self.resize_ms[job], self.ran_ms[job] = -1, 0
        self.mark_ms[job] = now_ms + self.restart_ms(job)

    def release(self, job: int, now_ms: int) -> Held:
        """A run gives its cards back; what it has attained is kept."""
        del self.running[bisect_left(self.running, job)]
        held = self.held.pop(job)
        self.leaving.discard(job)
        self.attained_card_ms[job] += (
            held.cards_m * (now_ms - max(int(self.start_ms[job]), int(self.resize_ms[job]))) // CARD
        )
        return held

    def move(self, moves: Sequence[Move], now_ms: int) -> tuple[int, Held, Held]:
        """A run goes on elsewhere: stopped and restarted at once, at the cost of both. The job, what it held, what it holds now."""
        job = self.number(moves[0].job)
        self.stop(job, now_ms)
        old = self.release(job, now_ms)
        roles = self._roles[self.trace.shape[job]]
        nodes = self.cluster.node_index
        self.held[job] = with_moved(
            old, {(roles.index(move.role), move.index): (nodes[str(move.target)], move.cards) for move in moves}
        )
        insort(self.running, job)
        self._run_anew(job, now_ms)
        return job, old, self.held[job]

    def stop(self, job: int, now_ms: int) -> None:
        """A run is told to leave: it keeps its progress less the policy's cost, and gives its cards back after `stop_ms`."""
        ran = self._ran_ms(job, now_ms)
        self.progress_ms[job] = max(0, int(self.progress_ms[job]) + ran - self.policy.preemption_cost_ms)
        self.leaving_ms[job] = now_ms + self.policy.stop_ms
        self.leaving.add(job)
        if not self.policy.evicted_keep_place:
            self.order_ms[job] = now_ms

    def restart_ms(self, job: int) -> int:
        """Card time before progress goes on: only runs after the first pay it."""
        return self.policy.restart_cost_ms if self.runs[job] > 1 else 0

    def ends_ms(self, job: int) -> int:
        """When the current run ends if its size stays what it is: its work is done or its limit reached; NEVER for an endless one."""
        duration, limit = int(self.trace.duration_ms[job]), int(self.trace.limit_ms[job])
        by_limit = NEVER if limit >= NEVER else int(self.start_ms[job]) + limit
        if duration >= NEVER:
            return by_limit
        rest = max(0, duration - int(self.progress_ms[job]) - int(self.ran_ms[job]))
        full, pace = self._pace(job)
        return min(by_limit, int(self.mark_ms[job]) - (-rest * full // pace))

    def _ran_ms(self, job: int, now_ms: int) -> int:
        """Progress of the current run: a smaller size makes it in proportion to its pods, cards by their speed (SCH-20)."""
        full, pace = self._pace(job)
        return int(self.ran_ms[job]) + max(0, now_ms - int(self.mark_ms[job])) * pace // full

    def _pace(self, job: int) -> tuple[int, int]:
        """How the run goes on, as a fraction: what it would be at full size on cards of speed 1, and what it is."""
        full, pods = self._size(job)
        if not self._speeds_differ:
            return full, pods
        flavors = self.held[job].block[FLAVOR]
        speeds = [self.cluster.flavors[flavor].speed_ppm for flavor in flavors[flavors >= 0].tolist()]
        return full * ONE_PPM, pods * min(speeds, default=ONE_PPM)

    def _size(self, job: int) -> tuple[int, int]:
        """Pods of the gang at full size, and those that run."""
        shape = int(self.trace.shape[job])
        if not self._elastic[shape]:
            return 1, 1
        roles = self.trace.shapes[shape].roles
        gang = [place for place, role in enumerate(roles) if role.in_gang]
        running = self.held[job].block[ROLE].tolist()
        return sum(roles[place].replicas for place in gang), sum(running.count(place) for place in gang)

    def resize(self, resize: Resize, now_ms: int) -> tuple[Held, Held]:
        """Pods come and go at once; what the job held before and holds now. Progress goes on at the new size."""
        job = self.number(resize.job)
        before = self.held[job]
        self.ran_ms[job], self.mark_ms[job] = self._ran_ms(job, now_ms), max(int(self.mark_ms[job]), now_ms)
        self.attained_card_ms[job] += before.cards_m * (now_ms - self._since_ms(job)) // CARD
        roles = self._roles[self.trace.shape[job]]
        after = resized(before, resize, roles, self.cluster.node_index, self.cluster.flavor_index)
        opened = self._open(resize.loans, now_ms)
        kept = [loan for loan in after.loans if loan.flavor not in {new.flavor for new in opened}]
        self.held[job] = replace(after, loans=(*kept, *opened)) if opened else after
        self.resize_ms[job] = now_ms
        return before, self.held[job]

    def _since_ms(self, job: int) -> int:
        """Since when the job holds what it holds."""
        return max(int(self.start_ms[job]), int(self.resize_ms[job]))

    def cooldowns_ms(self) -> list[int]:
        """When running elastic jobs below their full size may grow again."""
        found = []
        for job in self.running:
            full, pods = self._size(job)
            if pods < full:
                found.append(self._since_ms(job) + self.trace.shapes[self.trace.shape[job]].elastic_cooldown_ms)
        return found

    def turns_end_ms(self, now_ms: int) -> list[int]:
        """Where runs take turns (SCH-27): the next instants on which somebody's may be over."""
        if not self.turns.anywhere or not self.running:
            return []
        running = np.array(self.running, dtype=np.int64)
        return self.turns.next_ms(self.trace.queue[running], self.start_ms[running], now_ms)

    def record(self, plan: Plan, now_ms: int) -> None:
        """What a plan changes besides starts and stops: kept cards, loans, own/borrowed splits, recent evictions."""
        self.kept = self._kept(plan)
        for change in plan.loans:
            self._change_loan(change)
        for recharge in plan.recharges:
            self._recharge(recharge, now_ms)
        for evict in plan.evicts:
            if evict.reason is PreemptReason.WATERMARK:
                queue = int(self.trace.queue[self.number(evict.job)])
                self.watch.relieve(self.cluster.queues[queue].pool, now_ms)
        self.watch.look(self.held.values(), now_ms)
        recent = [eviction for eviction in self.evictions if eviction.at_ms > now_ms - self.policy.flap_window_ms]
        for evict in plan.evicts:
            if evict.for_job is not None:
                pair = (
                    int(self.trace.queue[self.number(evict.for_job)]),
                    int(self.trace.queue[self.number(evict.job)]),
                )
                recent.append(Eviction(pair[0], pair[1], evict.job, now_ms))
        self.evictions = tuple(recent)

    def _kept(self, plan: Plan) -> tuple[Reservation, ...]:
        """Cards kept for those that others were evicted for, until they start; backfill reservations are made anew."""
        nodes = self.cluster.node_index
        kept = [
            Reservation(
                id=f"kept-{reserve.job}",
                kind=reserve.kind,
                from_ms=reserve.from_ms,
                to_ms=reserve.to_ms,
                nodes=tuple(sorted(nodes[str(node)] for node in reserve.nodes)),
                queue=int(self.trace.queue[self.number(reserve.job)]),
                job=reserve.job,
                cards=tuple((nodes[str(node)], amount) for node, amount in reserve.cards),
                pods=tuple((role, nodes[str(node)], card, pods) for role, node, card, pods in reserve.pods),
            )
            for reserve in plan.reserves
            if reserve.kind is ReservationKind.KEPT_FOR_JOB
        ]
        return tuple(sorted(kept, key=lambda reservation: str(reservation.id)))

    def _open(self, loans: tuple[LoanOpen, ...], now_ms: int) -> tuple[Loan, ...]:
        opened = []
        tree = {str(node.id): i for i, node in enumerate(self.cluster.tree)}
        for loan in loans:
            self._loans_opened += 1
            sides = tuple(LoanSide(tree[str(side)], amount) for _, side, amount in loan.sides)
            name = f"loan-{self._loans_opened:09d}"
            flavor = self.cluster.flavor_index[str(loan.flavor)]
            opened.append(Loan(name, -1, flavor, loan.amount_m, now_ms, loan.expires_ms, sides))
        return tuple(opened)

    def _change_loan(self, change: LoanChange) -> None:
        for job, held in self.held.items():
            if any(loan.id == change.loan for loan in held.loans):
                others = tuple(loan for loan in held.loans if loan.id != change.loan)
                same = next(loan for loan in held.loans if loan.id == change.loan)
                if change.expires_ms is not None:
                    others = (*others, replace(same, expires_ms=change.expires_ms))
                self.held[job] = replace(held, loans=tuple(sorted(others, key=lambda loan: str(loan.id))))
                return

    def _recharge(self, recharge: Recharge, now_ms: int) -> None:
        job = self.number(recharge.job)
        held = self.held.get(job)
        if held is None:
            return
        roles = self._roles[self.trace.shape[job]]
        amounts = {(roles.index(role), rank): amount for role, rank, amount in recharge.borrowed_m}
        changed = with_borrowed(held, amounts)
        self.held[job] = replace(changed, loans=(*held.loans, *self._open(recharge.loans, now_ms)))

    def snapshot(self, now_ms: int, *, first: int | None = None) -> Snapshot:
        """The engine's picture of this moment; `first` shows it only so many of the waiting, by submit time.

        Tables that do not change are shared between cycles.
        """
        runs = [self.held[job] for job in self.running]
        self.watch.look(runs, now_ms)
        return Snapshot(
            flavors=self.cluster.flavors,
            pools=self.watch.pools(now_ms),
            nodes=self._nodes,
            cards=self.cluster.cards,
            tree=self.cluster.tree,
            queues=self.cluster.queues,
            shapes=self.trace.shapes,
            pending=self._pending(first),
            running=self._running(runs, now_ms),
            pods=join_pods(runs),
            loans=number_loans(runs),
            reservations=self.kept,
            evictions=self.evictions,
        )

    def of_all_jobs(self) -> Snapshot:
        """The empty cluster with every job of the trace waiting: what is worked out from shapes and ids alone can be had from it."""
        return replace(self.snapshot(0), pending=self._columns(np.arange(len(self.trace))))

    def limit_ms(self, job: int) -> int:
        """The run time of a waiting job that the scheduler may count on; NEVER without any."""
        jobs = np.array([job])
        return int(self._limits(jobs, self._restart_ms(jobs, 0))[0])

    def _pending(self, first: int | None) -> Pending:
        jobs = np.array(self.waiting, dtype=np.int64)
        if first is not None and first < len(jobs):
            jobs = np.sort(jobs[np.lexsort((jobs, self.order_ms[jobs]))[:first]])
        return self._columns(jobs)

    def _columns(self, jobs: I64) -> Pending:
        trace, size = self.trace, len(jobs)
        return Pending(
            ids=tuple([trace.ids[job] for job in jobs.tolist()]),
            queue=frozen(trace.queue[jobs]),
            shape=frozen(trace.shape[jobs]),
            tier=frozen(trace.tier[jobs]),
            priority=frozen(trace.priority[jobs]),
            submit_ms=frozen(self.order_ms[jobs]),
            eligible_ms=frozen(trace.submit_ms[jobs]),
            limit_ms=frozen(self._limits(jobs, self._restart_ms(jobs, 0))),
            expected_ms=frozen(np.full(size, NEVER, np.int64)),
            deadline_ms=frozen(np.full(size, NEVER, np.int64)),
            hold=frozen(np.zeros(size, np.int8)),
            backoff_ms=frozen(np.zeros(size, np.int64)),
            attained_card_ms=frozen(self.attained_card_ms[jobs]),
            checkpoints=frozen(np.ones(size, np.bool_)),
        )

    def _running(self, runs: list[Held], now_ms: int) -> Running:
        jobs = np.array(self.running, dtype=np.int64)
        trace, start = self.trace, self.start_ms[jobs]
        ids = tuple([trace.ids[job] for job in self.running])
        expiries = [min((loan.expires_ms for loan in held.loans), default=NEVER) for held in runs]
        size = len(jobs)
        return Running(
            ids=ids,
            runs=ids,
            queue=frozen(trace.queue[jobs]),
            shape=frozen(trace.shape[jobs]),
            tier=frozen(trace.tier[jobs]),
            priority=frozen(trace.priority[jobs]),
            submit_ms=frozen(self.order_ms[jobs]),
            start_ms=frozen(start),
            limit_ms=frozen(self._limits(jobs, self._restart_ms(jobs, 1))),
            leaving_ms=frozen(self.leaving_ms[jobs]),
            last_checkpoint_ms=frozen(np.maximum(start, now_ms - self.policy.preemption_cost_ms)),
            checkpoints=frozen(np.ones(size, np.bool_)),
            loan_expires_ms=frozen(np.array(expiries, dtype=np.int64)),
            last_resize_ms=frozen(self.resize_ms[jobs]),
            attained_card_ms=frozen(self.attained_card_ms[jobs] + self._cards_m[jobs] * (now_ms - start) // CARD),
            split_known=frozen(np.ones(size, np.bool_)),
        )

    def _restart_ms(self, jobs: I64, runs: int) -> I64:
        """What the restart costs jobs that have had more than `runs` runs."""
        return np.where(self.runs[jobs] > runs, self.policy.restart_cost_ms, 0).astype(np.int64)

    def _limits(self, jobs: I64, restart_ms: I64) -> I64:
        """Run time that the scheduler may count on: the declared limit, and the true rest where the policy knows durations."""
        declared = self.trace.limit_ms[jobs]
        if self.policy.durations != "known":
            return declared
        duration = self.trace.duration_ms[jobs]
        rest = np.where(duration >= NEVER, NEVER, duration - self.progress_ms[jobs] + restart_ms)
        return np.minimum(declared, rest)
