"""Keeps simulated clusters furnished: every node of the platform stands there as a virtual machine.

The other way round to a real cluster, where nodes are found and not made.
"""

from berth.common import clock
from scheduling.cluster.virtual import VirtualNode
from scheduling.control.clusters import port_of
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.models import Card, Node, SimulatedNode
from scheduling.services.supply import record_nodes
from tenants.models import Cluster


def furnish_simulated_clusters() -> int:
    """Put nodes that the platform has and the simulated cluster lacks there; returns how many. Nodes that stand are left alone.

    A node that is put up is new to the books of supply as well.
    """
    made = 0
    for cluster in Cluster.objects.filter(kind=Cluster.Kind.SIMULATED).order_by("pk"):
        there = set(SimulatedNode.objects.filter(cluster=cluster.name).values_list("name", flat=True))
        rows = Node.objects.filter(cluster=cluster).exclude(name__in=there).select_related("flavor").order_by("pk")
        missing = [_virtual(node, _failed_cards(node)) for node in rows]
        if missing:
            port = port_of(cluster)
            assert isinstance(port, SimulatedCluster)  # noqa: S101 - what settings name for this kind
            port.ensure_nodes(missing)
            made += len(missing)
            record_nodes([node.pk for node in rows], at=clock.now())
    return made


def _failed_cards(node: Node) -> frozenset[int]:
    failed = Card.objects.filter(node=node, health=Card.Health.FAILED)
    return frozenset(failed.values_list("index", flat=True))


def _virtual(node: Node, failed: frozenset[int]) -> VirtualNode:
    flavor = node.flavor
    return VirtualNode(
        name=node.name,
        uid=node.uid or f"sim-{node.name}",
        labels={str(key): str(value) for key, value in node.labels.items()},
        resource_name=flavor.resource if flavor is not None else "",
        card_count=node.gpus,
        cpu_millicores=node.cpu_m,
        memory_mib=node.memory_mib,
        max_pods=node.max_pods,
        ready_since=node.ready_since or clock.now(),
        vram_mib=flavor.vram_mib if flavor is not None else 0,
        unhealthy_cards=failed,
        cordoned=node.cordoned,
    )
