"""Compares a cluster's nodes with our rows, and writes down those that are not as the rows say. One look's worth, no calls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from scheduling.cluster.names import is_ours
from scheduling.cluster.port import NodeObservation, PodObservation
from scheduling.control.adopting import Flavors
from scheduling.control.heartbeats import Ailment, Vitals
from scheduling.control.observed import node_document
from scheduling.engine.data_near import data_labels
from scheduling.models import Card, Node
from tenants.models import Cluster

Changed = tuple[str, str, dict[str, Any]]
"""A node's name, uid and document."""
LEAST_TOLD_AGAIN = 10


def changed_nodes(
    cluster: Cluster, nodes: Sequence[NodeObservation], vitals: Vitals, pods: Sequence[PodObservation]
) -> list[Changed]:
    """By name: nodes that are not as their rows say, and new ones that were given to Berth."""
    there = {node.name: node for node in nodes}
    rows = {row.name: row for row in Node.objects.filter(cluster=cluster)}
    changed = [
        (node.name, node.uid, node_document(node, lost="", last_sign=None, new=True))
        for node in _to_be_adopted(cluster, [there[name] for name in sorted(there.keys() - rows.keys())])
    ]
    signs, bad, told_again = _signs(pods) if vitals.ailing else {}, _bad_cards(cluster), 0
    for name in sorted(rows):
        row, ailment = rows[name], vitals.ailing.get(name)
        node = there.get(name)
        if node is None and (ailment is None or not ailment.lost):
            continue
        if row.state == Node.State.LOST and name in vitals.settling and row.went_at:
            # Unless an administrator said that it is well: then nothing is held against it any more.
            continue
        if ailment is not None and ailment.lost and row.state == Node.State.NOT_READY:
            # More than may be lost at once say so again with every look: a few of them are enough.
            told_again += 1
            if told_again > max(LEAST_TOLD_AGAIN, len(rows) // 2):
                continue
        node = _as_row_tells(row) if node is None else node
        if ailment is not None:
            node = replace(node, ready=False)
        short = cards_short(row, node)
        caches = _new_data_labels(cluster, row, node)
        if caches is None and not _differs(row, node, ailment, bad.get(row.pk, set()), short):
            continue
        sign = None if ailment is None else _last_sign(ailment, signs)
        lost = ailment.why if ailment is not None and ailment.lost else ""
        changed.append((name, node.uid, node_document(node, lost=lost, last_sign=sign, short=short, caches=caches)))
    return changed


def _new_data_labels(cluster: Cluster, row: Node, node: NodeObservation) -> dict[str, str] | None:
    """What a real node's labels say of data where it is not what the row says (SCH-19); a simulated one has its labels from us."""
    told = data_labels(node.labels)
    return told if cluster.kind == Cluster.Kind.KUBERNETES and told != data_labels(row.labels) else None


def cards_short(row: Node, node: NodeObservation) -> int:
    """How many more cards the device plugin does not give out than are named as bad."""
    if node.allocatable_cards is None or not row.gpus:
        return 0
    return max(0, row.gpus - node.allocatable_cards - len(_named(row, node)))


def _named(row: Node, node: NodeObservation) -> set[int]:
    return {index for index in node.unhealthy_cards if index < row.gpus}


def _to_be_adopted(cluster: Cluster, nodes: Sequence[NodeObservation]) -> list[NodeObservation]:
    """Nodes of a real cluster that show life, were given to Berth, and are of a flavor that somebody defined."""
    if cluster.kind != Cluster.Kind.KUBERNETES:
        return []
    given = [node for node in nodes if node.ready and is_ours(node.labels)]
    if not given:
        return []
    flavors = Flavors(cluster)
    return [node for node in given if flavors.find(node.labels, node.resource_name, node.card_count) is not None]


def _as_row_tells(row: Node) -> NodeObservation:
    """A node that was deleted: nothing about it is new but that."""
    failed = Card.objects.filter(node=row, health=Card.Health.FAILED).values_list("index", flat=True)
    return NodeObservation(
        name=row.name,
        uid=row.uid,
        ready=False,
        ready_since=row.ready_since or row.last_sign_at,  # type: ignore[arg-type]
        unschedulable=row.cordoned,
        labels=row.labels,
        resource_name="",
        card_count=row.gpus,
        unhealthy_cards=tuple(failed),
        cpu_millicores=row.cpu_m,
        memory_mib=row.memory_mib,
        max_pods=row.max_pods,
        barred_by=row.barred_by,
    )


def _signs(pods: Sequence[PodObservation]) -> Mapping[str, datetime]:
    """The earliest last sign of life among the pods of each node that have not ended."""
    signs: dict[str, datetime] = {}
    for pod in pods:
        if not pod.phase.ended:
            signs[pod.node] = min(pod.last_sign, signs.get(pod.node, pod.last_sign))
    return signs


def _last_sign(ailment: Ailment, signs: Mapping[str, datetime]) -> datetime:
    return signs.get(ailment.node, ailment.last_sign) if ailment.why == "silent" else ailment.last_sign


def _bad_cards(cluster: Cluster) -> dict[int, set[int]]:
    bad: dict[int, set[int]] = {}
    for node_id, index in Card.objects.filter(node__cluster=cluster, health="failed").values_list("node_id", "index"):
        bad.setdefault(node_id, set()).add(index)
    return bad


def _differs(row: Node, node: NodeObservation, ailment: Ailment | None, bad: set[int], short: int) -> bool:
    lost = ailment is not None and ailment.lost
    state = Node.State.LOST if lost else Node.State.READY if node.ready else Node.State.NOT_READY
    if (row.state, row.uid) != (state, node.uid):
        return True
    if lost:
        return False
    named = _named(row, node)
    cards_are_told = named <= bad and len(bad) == min(row.gpus, len(named) + short)
    cordoned = node.unschedulable or bool(node.barred_by)
    return (row.cordoned, row.barred_by) != (cordoned, node.barred_by) or not cards_are_told
