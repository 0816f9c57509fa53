"""Rows of the simulated cluster to its pure records and back, a part at a time. Only the simulated adapter uses it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from scheduling.cluster.faults import FaultKind, FaultRule
from scheduling.cluster.port import PodKey, PodPhase, RefusalCode
from scheduling.cluster.simulated import next_event
from scheduling.cluster.virtual import ClusterState, VirtualNode, VirtualPod, VirtualService
from scheduling.models import SimulatedCluster, SimulatedFault, SimulatedNode, SimulatedObject, SimulatedPod

ALIAS = "simulated"
"""The connection these tables are reached by; never the platform's own."""
SERVICE = "Service"
TRIM_EVERY = 1_000
KEPT_VERSIONS = 5_000
"""How far back a watch may go on: tombstones older than this are dropped and an older watch is told 410."""

_POD_FIELDS = (
    "uid", "run_name", "labels", "annotations", "node", "card_count", "cpu_millicores", "memory_mib", "grace_s", "created_at",
    "start_due", "duration", "outcome", "utilisation_ppm", "stop_delay", "start_at", "finished_at", "exit_code", "reason",
    "message", "deletion_asked", "deletion_grace", "stop_at", "resource_version", "removed",
)  # fmt: skip
_POD_CHANGES = (
    "annotations", "start_due", "phase", "start_at", "finished_at", "exit_code", "reason", "message", "cards", "deletion_asked",
    "deletion_grace", "stop_at", "resource_version", "removed", "next_change_at",
)  # fmt: skip
_NODE_FIELDS = (
    "name", "uid", "labels", "resource_name", "card_count", "cpu_millicores", "memory_mib", "vram_mib", "max_pods", "cordoned",
    "ready", "ready_since", "silent_since", "silent_since_wall",
)  # fmt: skip
_NODE_CHANGES = (*(name for name in _NODE_FIELDS if name not in ("name", "uid")), "unhealthy_cards")


def read_pod_row(row: SimulatedPod) -> VirtualPod:
    """The record of one row."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _POD_FIELDS}
    return VirtualPod(key=PodKey(row.namespace, row.name), phase=PodPhase(row.phase), cards=tuple(row.cards), **values)


def read_node_row(row: SimulatedNode) -> VirtualNode:
    """The record of one row."""
    values: dict[str, Any] = {name: getattr(row, name) for name in _NODE_FIELDS}
    return VirtualNode(unhealthy_cards=frozenset(row.unhealthy_cards), **values)


def read_fault_row(row: SimulatedFault) -> FaultRule:
    """The record of one row."""
    return FaultRule(
        id=row.pk,
        operation=row.operation,
        kind=FaultKind(row.kind),
        times=row.times,
        match=row.match,
        after=row.after,
        seconds=row.seconds,
        code=RefusalCode(row.code),
        message=row.message,
        retry_after_s=row.retry_after_s,
    )


def lock_cluster(name: str) -> SimulatedCluster:
    """The cluster's row, locked: its API server does one thing at a time."""
    SimulatedCluster.objects.using(ALIAS).get_or_create(name=name)
    return SimulatedCluster.objects.using(ALIAS).select_for_update().get(name=name)


def load_state(cluster: SimulatedCluster, *, nodes: Iterable[str], owners: Iterable[PodKey]) -> ClusterState:
    """The part of the cluster on `nodes`, whole, and the services `owners`."""
    names = sorted(set(nodes))
    node_rows = SimulatedNode.objects.using(ALIAS).filter(cluster=cluster.name, name__in=names)
    pod_rows = SimulatedPod.objects.using(ALIAS).filter(cluster=cluster.name, node__in=names, removed=False)
    wanted = sorted(set(owners))
    service_rows = SimulatedObject.objects.using(ALIAS).filter(
        cluster=cluster.name, kind=SERVICE, name__in=[key.name for key in wanted]
    )
    services = {PodKey(row.namespace, row.name): row.uid for row in service_rows}
    return ClusterState(
        resource_version=cluster.resource_version,
        nodes={row.name: read_node_row(row) for row in node_rows},
        pods={pod.key: pod for pod in map(read_pod_row, pod_rows)},
        services={key: VirtualService(key, services[key]) for key in wanted if key in services},
    )


def due_nodes(name: str, now: datetime) -> list[str]:
    """Nodes on which something is due by `now`."""
    rows = SimulatedPod.objects.using(ALIAS).filter(cluster=name, removed=False, next_change_at__lte=now)
    return sorted(set(rows.values_list("node", flat=True)))


def store_state(cluster: SimulatedCluster, before: ClusterState, after: ClusterState) -> None:
    """Write what a step changed, in one transaction that the caller holds."""
    _store_nodes(cluster.name, before, after)
    _store_pods(cluster.name, before, after)
    _store_services(cluster.name, before, after)
    if after.resource_version != before.resource_version:
        cluster.resource_version = after.resource_version
        if after.resource_version // TRIM_EVERY != before.resource_version // TRIM_EVERY:
            cluster.oldest_version = max(0, after.resource_version - KEPT_VERSIONS)
            old = SimulatedPod.objects.using(ALIAS).filter(cluster=cluster.name, removed=True)
            old.filter(resource_version__lt=cluster.oldest_version).delete()
        cluster.save(using=ALIAS, update_fields=["resource_version", "oldest_version"])


def store_nodes(name: str, nodes: Sequence[VirtualNode]) -> None:
    """Insert nodes, or bring them to the given records."""
    SimulatedNode.objects.using(ALIAS).bulk_create(
        [_node_row(name, node) for node in nodes],
        update_conflicts=True,
        unique_fields=["cluster", "name"],
        update_fields=list(_NODE_CHANGES),
    )


def _store_nodes(name: str, before: ClusterState, after: ClusterState) -> None:
    if changed := [node for node in after.nodes.values() if node != before.nodes.get(node.name)]:
        store_nodes(name, changed)


def _store_pods(name: str, before: ClusterState, after: ClusterState) -> None:
    """Also pods whose node fell silent or came back: when they change next has changed."""
    rows = []
    for key, pod in sorted(after.pods.items()):
        was = before.pods.get(key)
        if was is not None and was.uid != pod.uid:
            rows.append(_pod_row(name, _buried(was, after.resource_version), after))
        if pod != was or after.nodes.get(pod.node) != before.nodes.get(pod.node):
            rows.append(_pod_row(name, pod, after))
    if rows:
        SimulatedPod.objects.using(ALIAS).bulk_create(
            rows, update_conflicts=True, unique_fields=["uid"], update_fields=list(_POD_CHANGES)
        )


def _buried(pod: VirtualPod, version: int) -> VirtualPod:
    from dataclasses import replace

    return replace(pod, removed=True, resource_version=version)


def _store_services(name: str, before: ClusterState, after: ClusterState) -> None:
    made = [key for key in sorted(after.services) if key not in before.services]
    gone = [key for key in sorted(before.services) if key not in after.services]
    objects = SimulatedObject.objects.using(ALIAS)
    objects.bulk_create(
        [
            SimulatedObject(
                cluster=name, kind=SERVICE, namespace=key.namespace, name=key.name, uid=after.services[key].uid
            )
            for key in made
        ]
    )
    for key in gone:
        objects.filter(cluster=name, kind=SERVICE, namespace=key.namespace, name=key.name).delete()


def _pod_row(name: str, pod: VirtualPod, state: ClusterState) -> SimulatedPod:
    node = state.nodes.get(pod.node)
    event = next_event(pod, node_responds=node is not None and node.silent_since is None)
    return SimulatedPod(
        cluster=name,
        namespace=pod.key.namespace,
        name=pod.key.name,
        phase=pod.phase.value,
        cards=list(pod.cards),
        next_change_at=None if event is None else event[0],
        **{field: getattr(pod, field) for field in _POD_FIELDS},
    )


def _node_row(name: str, node: VirtualNode) -> SimulatedNode:
    return SimulatedNode(
        cluster=name,
        unhealthy_cards=sorted(node.unhealthy_cards),
        **{field: getattr(node, field) for field in _NODE_FIELDS},
    )
