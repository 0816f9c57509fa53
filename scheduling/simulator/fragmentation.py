"""How much of the free cards cannot serve the list's own mix of demand: FGD's measure (METHODS A2), kept up node by node."""

from collections import Counter

import numpy as np

from scheduling.engine.fragmentation import PUBLISHED_COVER_PPM, DemandMix, Pictures, PodKind
from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import NodeState
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.trace import Trace


def demand_mix(cluster: Cluster, trace: Trace, *, memory: bool, cover_ppm: int = PUBLISHED_COVER_PPM) -> DemandMix:
    """The kinds of pods that the list asks for, alike in cards, CPU, flavors and, with `memory`, memory."""
    asked: Counter[PodKind] = Counter()
    for shape, jobs in Counter(trace.shape.tolist()).items():
        for role in trace.shapes[shape].roles:
            kind = PodKind(role.cards_m, role.cpu_m, role.memory_mib if memory else 0, tuple(sorted(role.flavors)))
            asked[kind] += jobs * role.replicas
    return DemandMix(asked, len(cluster.flavors), cover_ppm)


class FragmentationMeter:
    """Free and fragmented cards of the cluster while pods come and go. Only nodes that are ready count as free."""

    def __init__(self, cluster: Cluster, trace: Trace) -> None:
        nodes = cluster.nodes
        healthy = np.bincount(cluster.cards.node[cluster.cards.healthy], minlength=len(nodes)).astype(np.int64)
        ready = nodes.state == NodeState.READY
        self._mix = demand_mix(cluster, trace, memory=False)
        self._flavor: I64 = nodes.flavor.astype(np.int64)
        per_card = np.array([flavor.per_card for flavor in cluster.flavors] or [1], dtype=np.int64)[nodes.flavor]
        self._free_m: I64 = np.where(ready, healthy * CARD * per_card, 0)
        self._free_cpu_m: I64 = nodes.cpu_m.copy()
        self._usable_m: I64 = np.repeat(self._free_m[:, None], len(self._mix.sizes), axis=1)
        self._lost: I64 = np.zeros(len(nodes), dtype=np.int64)
        self._lost_sum = 0
        self.free_m = int(self._free_m.sum())
        self._refresh(np.arange(len(nodes)))

    @property
    def fragmented_m(self) -> float:
        """Milli-cards that are free and of no use, weighed by how often each kind of pod is asked for."""
        return self._lost_sum / max(1, self._mix.pods)

    def take(self, nodes: I64, cards_m: I64, cpu_m: I64) -> None:
        """Pods on whole cards, or on none, come (amounts above 0) or go (below 0) on `nodes`, which may repeat."""
        np.subtract.at(self._free_m, nodes, cards_m)
        np.subtract.at(self._usable_m, nodes, cards_m[:, None])
        np.subtract.at(self._free_cpu_m, nodes, cpu_m)
        self.free_m -= int(cards_m.sum())
        self._refresh(np.unique(nodes) if len(nodes) > 1 else nodes)

    def take_share(self, node: int, cpu_m: int, before_m: int, after_m: int) -> None:
        """A share comes or goes: what was free on its card before, and what is after."""
        self._free_m[node] += after_m - before_m
        self._usable_m[node] += self._mix.usable_of[after_m] - self._mix.usable_of[before_m]
        self._free_cpu_m[node] -= cpu_m
        self.free_m += after_m - before_m
        self._refresh(np.array([node]))

    def _refresh(self, nodes: I64) -> None:
        view = Pictures(
            flavor=self._flavor[nodes],
            cpu_m=self._free_cpu_m[nodes],
            memory_mib=self._free_cpu_m[nodes],
            free_m=self._free_m[nodes],
            usable_m=self._usable_m[nodes],
            fitting_m=self._usable_m[nodes],
        )
        lost = self._mix.fragmented(view)
        self._lost_sum += int((lost - self._lost[nodes]).sum())
        self._lost[nodes] = lost
