"""Looks at clusters and writes down what it sees: Observation rows, and nothing else (section 6, step 6).

Full lists on a timer are the truth; watches only fill in what happened between two lists. What a list lacks is read once more
before it is called gone, so a stale list never ends a run (F20). "Cannot reach" is written down as that and as nothing more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from berth.common import clock
from berth.common.alarm import ring
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, PodObservation
from scheduling.control.clusters import port_of
from scheduling.control.heartbeats import Heartbeats
from scheduling.control.looking import LIST_TIMEOUT_S, Look, Looks
from scheduling.control.observed import LISTED, NODE, POD, gone_document, pod_document
from scheduling.control.observing_nodes import changed_nodes
from scheduling.models import Node, Observation, Pod
from scheduling.states import RunState
from tenants.models import Cluster

PATIENCE_S = 1.0
"""How long a look at all clusters waits for those that answer late: they are taken in with the next one."""
LONGEST_LOOK_S = 5 * LIST_TIMEOUT_S
FRESH_WALL = timedelta(seconds=3)
OPEN_PHASES = (Pod.Phase.PLANNED, Pod.Phase.PENDING, Pod.Phase.RUNNING)
_FACTS = ("uid", "phase", "started_at", "finished_at", "exit_code", "reason")


@dataclass(slots=True)
class Observer:
    """What one process remembers between two looks: where each watch goes on, each node's beats, the last full list."""

    _cursors: dict[int, str] = field(default_factory=dict)
    _beats: dict[int, Heartbeats] = field(default_factory=dict)
    _listed_at: dict[int, datetime] = field(default_factory=dict)
    _looks: Looks = field(default_factory=Looks)

    def observe_all(self) -> int:
        """One look at every cluster, side by side; returns how many changes were written. Rings the loop if there were any.

        A cluster that hangs is waited for a second in all: its look goes on, and the others are looked at again meanwhile.
        """
        clusters = list(Cluster.objects.order_by("pk"))
        for cluster in clusters:
            self._looks.begin(cluster.pk, port_of(cluster), self._cursor(cluster))
        until = clock.monotonic() + PATIENCE_S
        written = sum(self._take_in(cluster, patience_s=until - clock.monotonic()) for cluster in clusters)
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
        """One whole look at one cluster; returns how many changes were written."""
        return self._take_in(cluster, patience_s=LONGEST_LOOK_S)

    def _take_in(self, cluster: Cluster, *, patience_s: float) -> int:
        port = port_of(cluster)
        try:
            look = self._looks.finish(cluster.pk, port, self._cursor(cluster), patience_s=patience_s)
            if look is None:
                return 0
            rows = self._compare(cluster, port, look)
        except ClusterUnreachableError as error:
            document = {"reachable": False, "error": error.message[:500]}
            changed = cluster.reachable or cluster.last_error != error.message[:500]
            _store([_row(cluster, LISTED, cluster.name, "", document)] if changed else [])
            return int(changed)
        listed = {
            "reachable": True,
            "as_of": look.pods.as_of.isoformat(),
            "resource_version": look.pods.resource_version,
        }
        _store([*rows, _row(cluster, LISTED, cluster.name, "", listed)])
        return len(rows)

    def _compare(self, cluster: Cluster, port: ClusterPort, look: Look) -> list[Observation]:
        beats = self._beats.setdefault(cluster.pk, Heartbeats())
        vitals = beats.note(look.leases, look.nodes, mono=look.mono, at=look.pods.as_of, expected=_expected(cluster))
        last_list = self._listed_at.get(cluster.pk) or cluster.last_listed_at
        pods = _changed_pods(cluster, port, look.pods.items, look.deleted, last_list, as_of=look.pods.as_of)
        self._cursors[cluster.pk] = look.pods.resource_version
        self._listed_at[cluster.pk] = look.pods.as_of
        nodes = changed_nodes(cluster, look.nodes, vitals, look.pods.items)
        return [*(_row(cluster, NODE, *node) for node in nodes), *pods]

    def _cursor(self, cluster: Cluster) -> str | None:
        return self._cursors.get(cluster.pk) or _stored_cursor(cluster)


def _expected(cluster: Cluster) -> frozenset[str]:
    """Nodes that a real cluster has to have; those of a simulated one are put there by us."""
    if cluster.kind != Cluster.Kind.KUBERNETES:
        return frozenset()
    rows = Node.objects.filter(cluster=cluster).exclude(state=Node.State.LOST)
    return frozenset(rows.values_list("name", flat=True))


def _stored_cursor(cluster: Cluster) -> str | None:
    """Where the last look of any process ended: what was deleted while nobody looked is still told with its own times."""
    rows = Observation.objects.filter(cluster_id=cluster.pk, kind=LISTED, document__reachable=True)
    document = rows.order_by("-at", "-id").values_list("document", flat=True).first()
    return None if document is None else document.get("resource_version")


def _changed_pods(
    cluster: Cluster,
    port: ClusterPort,
    listed: Sequence[PodObservation],
    deleted: Mapping[str, PodObservation],
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


def _row(cluster: Cluster, kind: str, name: str, uid: str, document: dict[str, Any]) -> Observation:
    return Observation(at=clock.now(), cluster_id=cluster.pk, kind=kind, name=name, uid=uid, document=document)


def _store(rows: Sequence[Observation]) -> None:
    Observation.objects.bulk_create(rows, batch_size=2000)
