"""Looks at clusters and writes down what it sees: Observation rows, and nothing else (section 6, step 6).

Full lists on a timer are the truth; watches only fill in what happened between two lists. "Cannot reach" is written down as that and
as nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from berth.common import clock
from berth.common.alarm import ring
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError
from scheduling.control.clusters import port_of
from scheduling.control.heartbeats import Heartbeats
from scheduling.control.looking import LIST_TIMEOUT_S, Look, Looks
from scheduling.control.observed import LISTED, NODE, POD
from scheduling.control.observing_nodes import changed_nodes
from scheduling.control.observing_pods import Agreed, changed_pods
from scheduling.models import Node, Observation
from tenants.models import Cluster

PATIENCE_S = 1.0
"""How long a look at all clusters waits for those that answer late: they are taken in with the next one."""
LONGEST_LOOK_S = 5 * LIST_TIMEOUT_S
FRESH_WALL = timedelta(seconds=3)


@dataclass(slots=True)
class Observer:
    """What one process remembers between two looks: where each watch goes on, each node's beats, the last full list."""

    _cursors: dict[int, str] = field(default_factory=dict)
    _beats: dict[int, Heartbeats] = field(default_factory=dict)
    _listed_at: dict[int, datetime] = field(default_factory=dict)
    _agreed: dict[int, Agreed] = field(default_factory=dict)
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
            "as_of": look.seen.pods.as_of.isoformat(),
            "resource_version": look.seen.pods.resource_version,
        }
        _store([*rows, _row(cluster, LISTED, cluster.name, "", listed)])
        return len(rows)

    def _compare(self, cluster: Cluster, port: ClusterPort, look: Look) -> list[Observation]:
        beats = self._beats.setdefault(cluster.pk, Heartbeats())
        vitals = beats.note(look.leases, look.nodes, mono=look.mono, at=look.at, expected=_expected(cluster))
        listing = look.seen.pods
        last_list = self._listed_at.get(cluster.pk) or cluster.last_listed_at
        agreed = {} if look.seen.listed else self._agreed.get(cluster.pk, {})
        pods, self._agreed[cluster.pk] = changed_pods(cluster, port, look.seen, last_list, agreed)
        self._cursors[cluster.pk] = listing.resource_version
        if look.seen.listed:
            self._listed_at[cluster.pk] = listing.as_of
        nodes = changed_nodes(cluster, look.nodes, vitals, listing.items)
        return [*(_row(cluster, NODE, *node) for node in nodes), *(_row(cluster, POD, *pod) for pod in pods)]

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


def _row(cluster: Cluster, kind: str, name: str, uid: str, document: dict[str, Any]) -> Observation:
    return Observation(at=clock.now(), cluster_id=cluster.pk, kind=kind, name=name, uid=uid, document=document)


def _store(rows: Sequence[Observation]) -> None:
    Observation.objects.bulk_create(rows, batch_size=2000)
