"""A placement contest: jobs arrive one at a time and get their cards at once or are dropped (SCH-12). No queue, no quota, no moves.

Nothing is known of later arrivals but the list's mix of demand. CPU is not kept for idle cards (SCH-02). A pod's place does not
depend on its job's other pods, so topology is not looked at. Jobs with a duration leave after it; ends come before arrivals.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.fleet import CLOSED, Fleet, OnePod, Spot
from scheduling.engine.free import NO_POD_LIMIT
from scheduling.engine.packing import Finder, Packer, Random
from scheduling.engine.packing_costs import BestFit, FragmentationGradient, Weights, Worth
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import CardMode, NodeState
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.fragmentation import demand_mix
from scheduling.simulator.meters import Meters
from scheduling.simulator.simulation import Replay
from scheduling.simulator.trace import Trace

WORTH_COVER_PPM = ONE_PPM * 99 // 100
"""Berth's own score looks at the kinds asked for most, until they are this share of all pods: rare large asks count too."""

Placed = tuple[tuple[OnePod, Spot], ...]


def place_arrivals(
    cluster: Cluster,
    trace: Trace,
    policy: Policy,
    draws: Iterator[int],
    *,
    stopwatch: Callable[[], int] = lambda: 0,
    weights: Weights | None = None,
) -> Replay:
    """Place the whole list. `draws` are whole numbers from 0 on, at least two a pod, read by `random` only."""
    fleet = open_fleet(cluster)
    finder = make_finder(cluster, trace, policy, fleet, draws, weights or Weights())
    return _Contest(cluster, trace, fleet, finder, stopwatch).run()


def open_fleet(cluster: Cluster) -> Fleet:
    """The cluster with nothing on it. Nodes are in name order already; only those that are ready are open."""
    nodes, cards = cluster.nodes, cluster.cards
    widest = int(cards.index.max()) + 1 if len(cards.index) else 0
    free_m = np.zeros((len(nodes), widest), dtype=np.int64)
    own = cards.healthy & (cards.flavor == nodes.flavor[cards.node])
    free_m[cards.node[own], cards.index[own]] = CARD
    ready = nodes.state == NodeState.READY
    return Fleet(
        flavor=nodes.flavor.astype(np.int64),
        pool=np.where(ready, nodes.pool, CLOSED).astype(np.int64),
        cpu_m=nodes.cpu_m.copy(),
        memory_mib=nodes.memory_mib.copy(),
        pods=np.where(nodes.max_pods >= 0, nodes.max_pods, NO_POD_LIMIT).astype(np.int64),
        cards_m=free_m,
    )


def make_finder(
    cluster: Cluster, trace: Trace, policy: Policy, fleet: Fleet, draws: Iterator[int], weights: Weights
) -> Finder:
    """The placement rule that the policy names, with the list's own mix of demand."""
    match policy.placement:
        case "fgd":
            return Packer(fleet, FragmentationGradient(fleet, demand_mix(cluster, trace, memory=False)))
        case "bestfit":
            return Packer(fleet, BestFit(fleet))
        case "random":
            return Random(fleet, draws)
    mix = demand_mix(cluster, trace, memory=True, cover_ppm=WORTH_COVER_PPM)
    return Packer(fleet, Worth(fleet, mix, flavor_supply(cluster, fleet), weights))


def flavor_supply(cluster: Cluster, fleet: Fleet) -> I64:
    """Milli-cards of each flavor on open nodes of an empty fleet."""
    supply_m = np.zeros(len(cluster.flavors), dtype=np.int64)
    has = (fleet.flavor >= 0) & (fleet.pool != CLOSED)
    np.add.at(supply_m, fleet.flavor[has], fleet.cards_m[has].sum(axis=1))
    return supply_m


@dataclass(slots=True)
class _Contest:
    cluster: Cluster
    trace: Trace
    fleet: Fleet
    finder: Finder
    stopwatch: Callable[[], int]
    meters: Meters = field(init=False)
    placed: dict[int, Placed] = field(default_factory=dict)
    ends: list[tuple[int, int]] = field(default_factory=list)
    plan_ns: list[int] = field(default_factory=list)
    last_nodes: list[tuple[str, ...]] = field(init=False)
    first_start_ms: I64 = field(init=False)
    end_ms: I64 = field(init=False)
    _pods: dict[tuple[int, int], list[OnePod]] = field(default_factory=dict)
    _tenants: list[int] = field(init=False)

    def __post_init__(self) -> None:
        size = len(self.trace)
        self.meters = Meters(self.cluster, self.trace)
        self.last_nodes = [()] * size
        self.first_start_ms, self.end_ms = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        tenants = sorted({queue.tenant for queue in self.cluster.queues})
        self._tenants = [tenants.index(queue.tenant) for queue in self.cluster.queues]

    def run(self) -> Replay:
        submit = self.trace.submit_ms.tolist()
        for job in self.trace.arrivals():
            self._leave(submit[job])
            self.meters.advance(submit[job])
            placed = self._place(job)
            if placed:
                self._begin(job, placed, submit[job])
            self.meters.step([job])
        self._leave(NEVER - 1)
        return self._result()

    def _place(self, job: int) -> Placed:
        """A spot for every pod of the job, each seeing those before it; empty where one has none."""
        placed: list[tuple[OnePod, Spot]] = []
        took_ns = 0
        for pod in self._pods_of(job):
            begun = self.stopwatch()
            spot = self.finder.find(pod)
            took_ns += self.stopwatch() - begun
            if spot is None:
                break
            self._put(pod, spot)
            placed.append((pod, spot))
        self.plan_ns.append(took_ns)
        if len(placed) == len(self._pods_of(job)):
            return tuple(placed)
        for pod, spot in placed:
            self._remove(pod, spot)
        return ()

    def _put(self, pod: OnePod, spot: Spot) -> None:
        self.fleet.take(pod, spot)
        if pod.is_share:
            left_m = int(self.fleet.cards_m[spot.node, spot.cards[0]])
            self.meters.take_share(spot.node, pod.cpu_m, left_m + pod.cards_m, left_m)
        else:
            self.meters.take(np.array([spot.node]), np.array([pod.cards_m]), np.array([pod.cpu_m]), 0)

    def _remove(self, pod: OnePod, spot: Spot) -> None:
        self.fleet.give_back(pod, spot)
        if pod.is_share:
            left_m = int(self.fleet.cards_m[spot.node, spot.cards[0]])
            self.meters.take_share(spot.node, -pod.cpu_m, left_m - pod.cards_m, left_m)
        else:
            self.meters.take(np.array([spot.node]), np.array([-pod.cards_m]), np.array([-pod.cpu_m]), 0)

    def _pods_of(self, job: int) -> list[OnePod]:
        key = int(self.trace.shape[job]), int(self.trace.queue[job])
        if key not in self._pods:
            shape, queue = self.trace.shapes[key[0]], self.cluster.queues[key[1]]
            self._pods[key] = [
                OnePod(
                    cards_m=role.cards_m,
                    cpu_m=role.cpu_m,
                    memory_mib=role.memory_mib,
                    flavors=self._flavors_for(role.cards_m, role.flavors),
                    pool=queue.pool,
                    tenant=self._tenants[key[1]] if 0 < role.cards_m < CARD else 0,
                )
                for role in shape.roles
                for _ in range(role.replicas)
            ]
        return self._pods[key]

    def _flavors_for(self, cards_m: int, flavors: tuple[int, ...]) -> tuple[int, ...]:
        """Shares go on cards that may be shared, whole cards on those that may be whole (SCH-13)."""
        modes = {CardMode.ANY, CardMode.SHARED if cards_m < CARD else CardMode.WHOLE}
        return tuple(flavor for flavor in flavors if self.cluster.flavors[flavor].mode in modes)

    def _begin(self, job: int, placed: Placed, now_ms: int) -> None:
        self.placed[job] = placed
        self.first_start_ms[job] = now_ms
        names = self.cluster.nodes.names
        self.last_nodes[job] = tuple(names[node] for node in sorted({spot.node for _, spot in placed}))
        length = min(int(self.trace.duration_ms[job]), int(self.trace.limit_ms[job]))
        if length < NEVER:
            heapq.heappush(self.ends, (now_ms + length, job))

    def _leave(self, now_ms: int) -> None:
        """Everybody whose time is up by now gives back what he holds."""
        while self.ends and self.ends[0][0] <= now_ms:
            at_ms, job = heapq.heappop(self.ends)
            self.meters.advance(at_ms)
            for pod, spot in self.placed.pop(job):
                self._remove(pod, spot)
            self.end_ms[job] = at_ms
            self.meters.mark()

    def _result(self) -> Replay:
        began, ended = self.first_start_ms, self.end_ms
        until = np.where(ended >= 0, ended, max(self.meters.now_ms, 0))
        return Replay(
            trace=self.trace,
            first_start_ms=began,
            end_ms=ended,
            held_ms=np.where(began >= 0, until - began, 0),
            preemptions=np.zeros(len(self.trace), dtype=np.int64),
            last_nodes=tuple(self.last_nodes),
            meters=self.meters,
            plan_ns=tuple(self.plan_ns),
            dropped=int(np.count_nonzero(began < 0)),
        )
