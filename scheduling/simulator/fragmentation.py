"""How much of the free cards cannot serve the list's own mix of demand: FGD's measure (METHODS A2), kept up node by node."""

from collections import Counter

import numpy as np

from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import NodeState
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.trace import Trace

COVERED_PCT = 95
"""Task classes are taken by popularity until they cover this share of all pods, then renormalised."""


class FragmentationMeter:
    """Free and fragmented cards of the cluster while pods come and go. Only nodes that are ready count as free."""

    def __init__(self, cluster: Cluster, trace: Trace) -> None:
        nodes = cluster.nodes
        healthy = np.bincount(cluster.cards.node[cluster.cards.healthy], minlength=len(nodes)).astype(np.int64)
        ready = nodes.state == NodeState.READY
        self._free_m: I64 = np.where(ready, healthy * CARD, 0)
        self._free_cpu_m: I64 = nodes.cpu_m.copy()
        self._node_flavor = nodes.flavor
        self._classes(cluster, trace)
        self._fragmented = np.zeros(len(nodes), dtype=np.float64)
        self.free_m = int(self._free_m.sum())
        self.fragmented_m = 0.0
        self._refresh(np.arange(len(nodes)))

    def _classes(self, cluster: Cluster, trace: Trace) -> None:
        popularity: Counter[tuple[int, int, tuple[int, ...]]] = Counter()
        for shape, jobs in Counter(trace.shape.tolist()).items():
            for role in trace.shapes[shape].roles:
                popularity[(role.cards_m, role.cpu_m, role.flavors)] += jobs * role.replicas
        kept, seen, total = [], 0, sum(popularity.values())
        for key, pods in sorted(popularity.items(), key=lambda item: (-item[1], item[0])):
            kept.append((key, pods))
            seen += pods
            if seen * 100 >= total * COVERED_PCT:
                break
        self._cards_m = np.array([key[0] for key, _ in kept], dtype=np.int64)
        self._cpu_m = np.array([key[1] for key, _ in kept], dtype=np.int64)
        self._share = np.array([pods / seen for _, pods in kept], dtype=np.float64)
        self._accepts = np.zeros((len(kept), len(cluster.flavors) + 1), dtype=np.bool_)
        for row, (key, _) in enumerate(kept):
            self._accepts[row, list(key[2])] = True

    def take(self, nodes: I64, cards_m: I64, cpu_m: I64) -> None:
        """Pods come (amounts above 0) or go (below 0) on `nodes`, which may repeat."""
        np.subtract.at(self._free_m, nodes, cards_m)
        np.subtract.at(self._free_cpu_m, nodes, cpu_m)
        self.free_m -= int(cards_m.sum())
        self._refresh(np.unique(nodes))

    def _refresh(self, nodes: I64) -> None:
        free, cpu = self._free_m[nodes], self._free_cpu_m[nodes]
        fits = (self._cards_m[:, None] > 0) & (self._cards_m[:, None] <= free) & (self._cpu_m[:, None] <= cpu)
        fits &= self._accepts[:, self._node_flavor[nodes]]
        lost = free * (self._share @ ~fits)
        self.fragmented_m += float((lost - self._fragmented[nodes]).sum())
        self._fragmented[nodes] = lost
