"""Looks at clusters and writes down what it sees: Observation rows, and nothing else (section 6, step 6).

Full lists on a timer are the truth; watches only fill in what happened between two lists. What a list lacks is read once more
before it is called gone, so a stale list never ends a run (F20). "Cannot reach" is written down as that and as nothing more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from berth.common import clock
from berth.common.alarm import ring
from scheduling.cluster.names import is_ours
from scheduling.cluster.port import (
    ChangeKind,
    ClusterPort,
    ClusterUnreachableError,
    NodeObservation,
    PodObservation,
    WatchExpiredError,
)
from scheduling.control.adopting import flavor_for
from scheduling.control.clusters import port_of
from scheduling.control.heartbeats import Heartbeats, Loss
from scheduling.control.observed import LISTED, NODE, POD, gone_document, node_document, pod_document
from scheduling.models import Card, Node, Observation, Pod
from scheduling.states import RunState
from tenants.models import Cluster

LIST_TIMEOUT_S = 5.0
FRESH_WALL = timedelta(seconds=3)
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)
_FACTS = ("uid", "phase", "started_at", "finished_at", "exit_code", "reason")


@dataclass(slots=True)
class Observer:
    """What one process remembers between two looks: where each watch goes on, each node's beats, the last full list."""

    _cursors: dict[int, str] = field(default_factory=dict)
    _beats: dict[int, Heartbeats] = field(default_factory=dict)
    _listed_at: dict[int, datetime] = field(default_factory=dict)

    def observe_all(self) -> int:
        """One look at every cluster; returns how many changes were written. Rings the loop if there were any."""
        written = sum(self.observe(cluster) for cluster in Cluster.objects.order_by("pk"))
        if written:
            ring("scheduling.cycle")
        return written

    def observe_if_due(self) -> int:
        """One look, unless some process finished one a moment ago (wall time)."""
        newest = Observation.objects.filter(kind=LISTED).order_by("-at", "-id").values_list("at", flat=True).first()
        if newest is not None and clock.now() - newest < FRESH_WALL * clock.scale():
            return 0
        return self.observe_all()

    def observe(self, cluster: Cluster) -> int:
        """One look at one cluster; returns how many changes were written."""
        port = port_of(cluster)
        try:
            rows = self._look(cluster, port)
        except ClusterUnreachableError as error:
            document = {"reachable": False, "error": error.message[:500]}
            changed = cluster.reachable or cluster.last_error != error.message[:500]
            _store([_row(cluster, LISTED, cluster.name, "", document)] if changed else [])
            return int(changed)
        listed = {
            "reachable": True,
            "as_of": self._listed_at[cluster.pk].isoformat(),
            "resource_version": self._cursors[cluster.pk],
        }
        _store([*rows, _row(cluster, LISTED, cluster.name, "", listed)])
        return len(rows)

    def _look(self, cluster: Cluster, port: ClusterPort) -> list[Observation]:
        listing = port.list_pods(timeout_s=LIST_TIMEOUT_S)
        deleted = self._deleted_since(cluster, port)
        nodes = port.list_nodes(timeout_s=LIST_TIMEOUT_S).items
        leases = port.list_node_leases(timeout_s=LIST_TIMEOUT_S).items
        beats = self._beats.setdefault(cluster.pk, Heartbeats())
        losses = beats.note(leases, nodes, mono=clock.monotonic(), at=listing.as_of)
        last_list = self._listed_at.get(cluster.pk) or cluster.last_listed_at
        pods = _changed_pods(cluster, port, listing.items, deleted, last_list, as_of=listing.as_of)
        self._cursors[cluster.pk] = listing.resource_version
        self._listed_at[cluster.pk] = listing.as_of
        return [*_changed_nodes(cluster, nodes, losses, listing.items), *pods]

    def _deleted_since(self, cluster: Cluster, port: ClusterPort) -> dict[str, PodObservation]:
        """Pods that the watch saw deleted since the list before this one, by uid, in their last state."""
        cursor = self._cursors.get(cluster.pk) or _stored_cursor(cluster)
        if cursor is None:
            return {}
        try:
            changes = list(port.watch_pods(cursor, timeout_s=0))
        except WatchExpiredError:
            return {}
        return {
            change.pod.uid: change.pod
            for change in changes
            if change.kind is ChangeKind.DELETED and change.pod is not None
        }


def _stored_cursor(cluster: Cluster) -> str | None:
    """Where the last look of any process ended: what was deleted while nobody looked is still told with its own times."""
    rows = Observation.objects.filter(cluster_id=cluster.pk, kind=LISTED, document__reachable=True)
    document = rows.order_by("-at", "-id").values_list("document", flat=True).first()
    return None if document is None else document.get("resource_version")


def _changed_pods(
    cluster: Cluster,
    port: ClusterPort,
    listed: Sequence[PodObservation],
    deleted: dict[str, PodObservation],
    last_list: datetime | None,
    *,
    as_of: datetime,
) -> list[Observation]:
    """Rows for pods of ours that are not as our rows say; strangers are left to `reconcile`."""
    known = {(row["run__namespace"], row["name"]): row for row in _open_pods(cluster)}
    seen = {(pod.key.namespace, pod.key.name): pod for pod in listed}
    rows = [
        _row(cluster, POD, pod.key.name, pod.uid, pod_document(pod, gone=False))
        for key, pod in sorted(seen.items())
        if key in known and _differs(known[key], pod)
    ]
    for pod in sorted(deleted.values(), key=lambda pod: pod.key):
        row = known.get((pod.key.namespace, pod.key.name))
        still = seen.get((pod.key.namespace, pod.key.name))
        if row is not None and row["uid"] in ("", pod.uid) and (still is None or still.uid != pod.uid):
            rows.append(_row(cluster, POD, pod.key.name, pod.uid, pod_document(pod, gone=True)))
    told = {row.uid for row in rows}
    missing = [
        row
        for key, row in sorted(known.items())
        if key not in seen and row["uid"] and row["uid"] not in told and not _younger(row, as_of)
    ]
    return rows + _confirmed_gone(cluster, port, missing, last_list)


def _open_pods(cluster: Cluster) -> Iterable[dict[str, Any]]:
    """Pods that a cluster may still say something new about: of live runs, and of ended ones that are not gone yet."""
    live = ~Q(run__state=RunState.ENDED.value)
    left = Q(run__state=RunState.ENDED.value, phase__in=OPEN_PHASES)
    return (
        Pod.objects.filter(live | left, run__cluster=cluster)
        .exclude(phase=Pod.Phase.GONE)
        .values("name", "created_at", "run__namespace", "run__job_id", "run__number", "last_sign_at", *_FACTS)
    )


def _differs(row: dict[str, Any], pod: PodObservation) -> bool:
    if row["uid"] not in ("", pod.uid):
        return False
    facts = (pod.uid, pod.phase.value.lower(), pod.start_at, pod.finished_at, pod.exit_code, pod.reason[:60])
    return facts != tuple(row[name] for name in _FACTS)


def _younger(row: dict[str, Any], as_of: datetime) -> bool:
    """Made after the list was: its absence means nothing (F20)."""
    return row["created_at"] is not None and row["created_at"] > as_of


def _confirmed_gone(
    cluster: Cluster, port: ClusterPort, missing: Sequence[dict[str, Any]], last_list: datetime | None
) -> list[Observation]:
    """A list may be stale: only a read of the run itself makes an absence a fact."""
    rows, read = [], {}
    for row in missing:
        run = (row["run__namespace"], f"j{row['run__job_id']}-r{row['run__number']}")
        if run not in read:
            read[run] = {pod.uid for pod in port.read_run(*run, timeout_s=LIST_TIMEOUT_S)}
        if row["uid"] not in read[run] and row["phase"] not in (Pod.Phase.SUCCEEDED, Pod.Phase.FAILED):
            document = gone_document(row["run__namespace"], last_list or row["last_sign_at"])
            rows.append(_row(cluster, POD, row["name"], row["uid"], document))
    return rows


def _changed_nodes(
    cluster: Cluster, nodes: Sequence[NodeObservation], losses: Sequence[Loss], pods: Sequence[PodObservation]
) -> list[Observation]:
    lost = {loss.node: loss for loss in losses}
    signs: dict[str, datetime] = {}
    for pod in pods:
        if pod.node in lost and not pod.phase.ended:
            signs[pod.node] = min(pod.last_sign, signs.get(pod.node, pod.last_sign))
    bad: dict[int, set[int]] = {}
    for node_id, index in Card.objects.filter(node__cluster=cluster, health="failed").values_list("node_id", "index"):
        bad.setdefault(node_id, set()).add(index)
    known = {row.name: row for row in Node.objects.filter(cluster=cluster)}
    rows = []
    for node in sorted({each.name: each for each in nodes}.values(), key=lambda each: each.name):
        row, loss = known.get(node.name), lost.get(node.name)
        if row is None:
            if _is_to_be_adopted(cluster, node):
                document = node_document(node, lost="", last_sign=None, new=True)
                rows.append(_row(cluster, NODE, node.name, node.uid, document))
            continue
        if not _node_differs(row, node, loss, bad.get(row.pk, set())):
            continue
        sign = None if loss is None else signs.get(node.name, loss.last_sign)
        document = node_document(node, lost="" if loss is None else loss.why, last_sign=sign)
        rows.append(_row(cluster, NODE, node.name, node.uid, document))
    return rows


def _is_to_be_adopted(cluster: Cluster, node: NodeObservation) -> bool:
    """A node of a real cluster that shows life, was given to Berth, and is of a flavor that somebody defined."""
    if not node.ready or cluster.kind != Cluster.Kind.KUBERNETES or not is_ours(node.labels):
        return False
    return flavor_for(cluster, node.labels, node.resource_name, node.card_count) is not None


def _node_differs(row: Node, node: NodeObservation, loss: Loss | None, bad_cards: set[int]) -> bool:
    state = Node.State.LOST if loss is not None else Node.State.READY if node.ready else Node.State.NOT_READY
    return (row.state, row.cordoned, row.uid, bad_cards) != (
        state,
        node.unschedulable,
        node.uid,
        set(node.unhealthy_cards),
    )


def _row(cluster: Cluster, kind: str, name: str, uid: str, document: dict[str, Any]) -> Observation:
    return Observation(at=clock.now(), cluster_id=cluster.pk, kind=kind, name=name, uid=uid, document=document)


def _store(rows: Sequence[Observation]) -> None:
    Observation.objects.bulk_create(rows, batch_size=2000)
