"""SCH-12: what it costs to put a pod on a node. `Worth` is Berth's own, `FragmentationGradient` (FGD) and `BestFit` are published ones.

Integers only. The published rules and figures are those of docs/placement-benchmark.md.
"""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from scheduling.engine.fleet import Fleet, OnePod, Options
from scheduling.engine.fragmentation import DemandMix, Pictures
from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD

LARGEST_CPU_M, LARGEST_CARDS_M = 128_000, 8 * CARD
"""Published best fit measures what a node has left by the largest node of its experiments."""
FINE = 1000
"""What a node is worth is kept in this part of a pod of the mix, so that scarcity is not rounded away in a short list."""


class BestFit:
    """100 x (1 - the mean of what CPU and cards are left, each as a part of the largest node's), rounded down; tightest card."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def of(self, pod: OnePod, options: Options) -> I64:
        fleet, nodes = self._fleet, options.node
        cpu_m = fleet.cpu_m[nodes] - pod.cpu_m
        cards_m = fleet.cards_m[nodes].sum(axis=1) - pod.cards_m
        whole = 2 * LARGEST_CPU_M * LARGEST_CARDS_M
        score = (whole - cpu_m * LARGEST_CARDS_M - cards_m * LARGEST_CPU_M) * 100 // whole
        left_on_card = np.where(options.card >= 0, fleet.cards_m[nodes, options.card], 0)
        cost: I64 = left_on_card - score * 2 * CARD
        return cost


class FragmentationGradient:
    """FGD: floor(100 x sigmoid(cards that the pod takes out of fragmentation, less those it puts in)), from 0 to 100."""

    def __init__(self, fleet: Fleet, mix: DemandMix) -> None:
        self._mix = mix
        self._views = Views(fleet, mix)
        self._fragmented: I64 = mix.fragmented(self._views.before(np.arange(len(fleet))))
        self._least = np.array([_least_gain(score, mix.pods) for score in range(1, 100)], dtype=np.int64)

    def of(self, pod: OnePod, options: Options) -> I64:
        changed = self._views.refresh()
        if len(changed):
            self._fragmented[changed] = self._mix.fragmented(self._views.before(changed))
        gain = self._fragmented[options.node] - self._mix.fragmented(self._views.after(pod, options))
        return -np.searchsorted(self._least, gain, side="right").astype(np.int64)


def _least_gain(score: int, pods: int) -> int:
    """The least gain, in milli-cards x pods of the mix, that is worth `score`: the sigmoid the other way round, rounded up."""
    odds = (Decimal(score) / (100 - score)).ln()
    return int((odds * CARD * pods).to_integral_value(rounding="ROUND_CEILING"))


@dataclass(frozen=True, slots=True)
class Weights:
    """In tenths: what counts of a free card that a kind of pod can start on, of one that the kind could fill, and of its flavor's scarcity.

    docs/placement-benchmark.md says how much the outcome depends on them.
    """

    reach: int = 7
    fill: int = 3
    scarcity: int = 3


class Worth:
    """Berth's own: how much less the node's free part is worth to the mix of demand once the pod is on it.

    To a kind of pod a node is worth the free cards it could start on (FGD's measure, with memory) and those it could fill alone
    before CPU, memory or cards run out: the second sees a node go out of balance long before the first pod finds no room. Kinds
    count by how often they are asked for. Cards of a flavor that few others can stand in for are worth more to everybody.
    """

    def __init__(self, fleet: Fleet, mix: DemandMix, supply_m: I64, weights: Weights | None = None) -> None:
        """`supply_m` is what the fleet has of each flavor, free or not."""
        self._mix = mix
        self._weights = weights or Weights()
        self._views = Views(fleet, mix)
        self._scarcity = scarcity(mix, supply_m) * self._weights.scarcity
        self._worth: I64 = self._sum(self._views.before(np.arange(len(fleet))))

    def of(self, pod: OnePod, options: Options) -> I64:
        changed = self._views.refresh()
        if len(changed):
            self._worth[changed] = self._sum(self._views.before(changed))
        return self._worth[options.node] - self._sum(self._views.after(pod, options))

    def _sum(self, nodes: Pictures) -> I64:
        reached, filled = self._mix.reach_and_fill(nodes)
        kinds = reached * (self._weights.reach * FINE) + filled * (self._weights.fill * FINE)
        return kinds + nodes.free_m * self._scarcity[nodes.flavor]


def scarcity(mix: DemandMix, supply_m: I64) -> I64:
    """By flavor: cards asked of it for each that it has, if every kind spreads evenly over what it accepts.

    In FINE parts of a pod of the mix: a flavor in as much demand as all cards together has FINE x the pods that want cards. The
    last place is for nodes without a flavor.
    """
    asked = (mix.counts * mix.asked_m).tolist()
    accepts = mix.accepts[:-1]
    pods, capacity, total = int(mix.counts.sum()), int(supply_m.sum()), sum(asked)
    found = [0] * (len(accepts) + 1)
    for kind, asked_m in enumerate(asked):
        flavors = np.flatnonzero(accepts[:, kind])
        accepted_m = int(supply_m[flavors].sum())
        for flavor in flavors.tolist():
            found[flavor] += FINE * pods * capacity * asked_m // (accepted_m * total) if accepted_m else 0
    return np.array(found, dtype=np.int64)


class Views:
    """Pictures of a fleet's nodes by the sizes of a mix; a node's row is made anew after it changed."""

    def __init__(self, fleet: Fleet, mix: DemandMix) -> None:
        self._fleet, self._mix = fleet, mix
        self._usable_m: I64 = mix.usable_of[fleet.cards_m].sum(axis=1)
        self._fitting_m: I64 = mix.fitting_of[fleet.cards_m].sum(axis=1)
        self._free_m: I64 = fleet.cards_m.sum(axis=1)
        self._seen = len(fleet.log)

    def refresh(self) -> I64:
        """The nodes that changed since the last call; their rows are up to date now."""
        log = self._fleet.log
        changed = np.array(sorted(set(log[self._seen :])), dtype=np.int64)
        self._seen = len(log)
        if len(changed):
            cards_m = self._fleet.cards_m[changed]
            self._usable_m[changed] = self._mix.usable_of[cards_m].sum(axis=1)
            self._fitting_m[changed] = self._mix.fitting_of[cards_m].sum(axis=1)
            self._free_m[changed] = cards_m.sum(axis=1)
        return changed

    def before(self, nodes: I64) -> Pictures:
        """The nodes as they are."""
        fleet = self._fleet
        return Pictures(
            flavor=fleet.flavor[nodes],
            cpu_m=fleet.cpu_m[nodes],
            memory_mib=fleet.memory_mib[nodes],
            free_m=self._free_m[nodes],
            usable_m=self._usable_m[nodes],
            fitting_m=self._fitting_m[nodes],
        )

    def after(self, pod: OnePod, options: Options) -> Pictures:
        """The nodes with the pod on them, each as its option says."""
        mix, now = self._mix, self.before(options.node)
        usable_m, fitting_m = now.usable_m, now.fitting_m
        if pod.is_share:
            old_m = self._fleet.cards_m[options.node, options.card]
            new_m = old_m - pod.cards_m
            usable_m = usable_m + mix.usable_of[new_m] - mix.usable_of[old_m]
            fitting_m = fitting_m + mix.fitting_of[new_m] - mix.fitting_of[old_m]
        elif pod.cards_m:
            usable_m = usable_m - pod.cards_m
            fitting_m = fitting_m - pod.cards_m // CARD * mix.fitting_of[CARD]
        return Pictures(
            flavor=now.flavor,
            cpu_m=now.cpu_m - pod.cpu_m,
            memory_mib=now.memory_mib - pod.memory_mib,
            free_m=now.free_m - pod.cards_m,
            usable_m=usable_m,
            fitting_m=fitting_m,
        )
