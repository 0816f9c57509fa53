"""Rigs that put one adapter each behind the contract tests of the cluster port: its own cluster, time, faults and nodes.

A new adapter joins by adding a rig to `RIGS`; the tests say nothing that a real Kubernetes would not do.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections

from scheduling.cluster.faults import FaultRule
from scheduling.cluster.port import ClusterPort
from scheduling.cluster.virtual import FailNode, NodeFailure, RecoverNode, SetCardHealth, VirtualNode
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.models import SimulatedCluster as ClusterRow
from scheduling.models import SimulatedNode, SimulatedObject, SimulatedPod
from tests.kubernetes.rig import kubernetes_rig

_numbers = itertools.count(1)
NODES = ("n0", "n1")


class SimulatedRig:
    """The simulated cluster on a clock that the test moves."""

    slack = timedelta(0)

    def __init__(self, name: str) -> None:
        self._at = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
        self._adapter = SimulatedCluster(name, now=self.now, wall=self.now)
        self.port: ClusterPort = self._adapter
        self._adapter.ensure_nodes([self._node(each) for each in NODES])

    def now(self) -> datetime:
        return self._at

    def pass_time(self, seconds: float) -> None:
        """Let time go on."""
        self._at += timedelta(seconds=seconds)

    def wait_until(self, happened: Callable[[], bool], *, within: float) -> None:
        """Let all the time go by in which it has to happen."""
        self.pass_time(within)

    def plan_fault(self, rule: FaultRule) -> None:
        """Let the next fitting call go wrong."""
        self._adapter.faults.add(rule)

    def silence(self, node: str) -> None:
        """Cut a node off."""
        self._adapter.act(FailNode(node, NodeFailure.SILENT))

    def stop_being_ready(self, node: str) -> None:
        """Let a node say that it is not ready."""
        self._adapter.act(FailNode(node, NodeFailure.NOT_READY))

    def recover(self, node: str) -> None:
        """Bring a node back."""
        self._adapter.act(RecoverNode(node))

    def break_card(self, node: str, index: int) -> None:
        """Take one card out of service."""
        self._adapter.act(SetCardHealth(node, index, healthy=False))

    def _node(self, name: str) -> VirtualNode:
        return VirtualNode(
            name=name,
            uid=f"uid-{name}",
            labels={"topology.kubernetes.io/zone": "z1"},
            resource_name="nvidia.com/gpu",
            card_count=8,
            cpu_millicores=128_000,
            memory_mib=1_048_576,
            max_pods=110,
            ready_since=self._at,
        )


@contextmanager
def simulated_rig() -> Iterator[SimulatedRig]:
    """A rig on a cluster of its own; its rows are gone afterwards."""
    name = f"contract-{next(_numbers)}"
    try:
        yield SimulatedRig(name)
    finally:
        for model in (SimulatedPod, SimulatedNode, SimulatedObject):
            model.objects.using("simulated").filter(cluster=name).delete()
        ClusterRow.objects.using("simulated").filter(name=name).delete()
        connections["simulated"].close()


RIGS: dict[str, Callable[[], Any]] = {"simulated": simulated_rig, "kubernetes": kubernetes_rig}
WITH_KUBELETS = ("simulated",)
"""Where a node itself admits or refuses a pod; pretended nodes take whatever names them."""
