"""Puts the demo's machines, and the pods of runs that the past left running, into the simulated cluster."""

from collections.abc import Iterable

from berth.common import clock
from berth.demo.organisation import CLUSTER
from scheduling.cluster.manifests import build_run
from scheduling.cluster.virtual import VirtualNode
from scheduling.control.run_specs import read_run_specs
from scheduling.control.simulated_cluster import SimulatedCluster
from scheduling.models import Card, Node, Run

CALL_TIMEOUT_S = 10.0


def start_machines() -> None:
    """Every node of the organisation as a virtual machine of the same shape, ready since it exists."""
    out: dict[int, set[int]] = {}
    for node_id, index in Card.objects.filter(health=Card.Health.FAILED).values_list("node_id", "index"):
        out.setdefault(node_id, set()).add(index)
    nodes = Node.objects.select_related("flavor").order_by("name")
    SimulatedCluster(CLUSTER).ensure_nodes([_machine(node, frozenset(out.get(node.pk, ()))) for node in nodes])


def start_pods() -> int:
    """Pods of all admitted runs, made at the instants the runs were admitted: dispatch will find them there. Returns the runs."""
    runs = Run.objects.filter(state="admitted").select_related("job__tenant", "job__queue", "cluster")
    ordered = sorted(runs, key=lambda run: (run.admitted_at, run.pk))
    specs = read_run_specs(ordered)
    for run in ordered:
        with clock.frozen_at(run.admitted_at):
            SimulatedCluster(CLUSTER).create_run(build_run(specs[run.pk]), timeout_s=CALL_TIMEOUT_S)
    return len(ordered)


def _machine(node: Node, unhealthy: Iterable[int]) -> VirtualNode:
    flavor = node.flavor
    return VirtualNode(
        name=node.name,
        uid=f"demo-{node.pk}",
        labels=dict(node.labels),
        resource_name=flavor.resource if flavor is not None else "",
        card_count=node.gpus,
        cpu_millicores=node.cpu_m,
        memory_mib=node.memory_mib,
        max_pods=node.max_pods,
        ready_since=node.ready_since or clock.now(),
        vram_mib=flavor.vram_mib if flavor is not None else 0,
        unhealthy_cards=frozenset(unhealthy),
    )
