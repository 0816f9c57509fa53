"""Looks at clusters over the network: what their lists and watches tell, each in its own time, so that one that hangs holds up nobody.

Must not touch the platform's rows: what was seen is compared with them by `observe`, in the process's own thread.
"""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from django.db import connections

from berth.common import clock
from scheduling.cluster.port import (
    ChangeKind,
    ClusterPort,
    Listing,
    NodeLease,
    NodeObservation,
    PodObservation,
    WatchExpiredError,
)

LIST_TIMEOUT_S = 5.0
AT_ONCE = 32
"""Looks under way side by side; each of a hanging cluster takes as long as its time-outs."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look brought. `mono` is when it was asked for leases: silence is only ever shorter than it seems from there."""

    pods: Listing[PodObservation]
    deleted: Mapping[str, PodObservation]
    nodes: tuple[NodeObservation, ...]
    leases: tuple[NodeLease, ...]
    mono: float


def take_look(port: ClusterPort, cursor: str | None) -> Look:
    """All lists of one cluster, and what its watch saw deleted since `cursor`. Raises ClusterUnreachableError."""
    listing = port.list_pods(timeout_s=LIST_TIMEOUT_S)
    deleted = {} if cursor is None else _deleted_since(port, cursor)
    nodes = port.list_nodes(timeout_s=LIST_TIMEOUT_S).items
    mono = clock.monotonic()
    leases = port.list_node_leases(timeout_s=LIST_TIMEOUT_S).items
    return Look(listing, deleted, nodes, leases, mono)


def _deleted_since(port: ClusterPort, cursor: str) -> dict[str, PodObservation]:
    """Pods that the watch saw deleted since the list before this one, by uid, in their last state."""
    try:
        changes = list(port.watch_pods(cursor, timeout_s=0))
    except WatchExpiredError:
        return {}
    return {
        change.pod.uid: change.pod for change in changes if change.kind is ChangeKind.DELETED and change.pod is not None
    }


@dataclass(slots=True)
class Looks:
    """One process's looks under way, one a cluster. A simulated cluster answers at once and is looked at on the spot."""

    _pool: ThreadPoolExecutor | None = None
    _under_way: dict[int, Future[Look]] = field(default_factory=dict)

    def begin(self, cluster_id: int, port: ClusterPort, cursor: str | None) -> None:
        """Start looking, unless the look before is still under way."""
        if cluster_id in self._under_way or not port.capabilities().real_pods:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look")
        self._under_way[cluster_id] = self._pool.submit(_look_apart, port, cursor)

    def finish(self, cluster_id: int, port: ClusterPort, cursor: str | None, *, patience_s: float) -> Look | None:
        """What the look brought; None while it goes on. Raises ClusterUnreachableError."""
        under_way = self._under_way.get(cluster_id)
        if under_way is None:
            return take_look(port, cursor)
        done, _going_on = wait([under_way], timeout=max(0.0, patience_s))
        if not done:
            return None
        return self._under_way.pop(cluster_id).result()


def _look_apart(port: ClusterPort, cursor: str | None) -> Look:
    """In a thread of its own, which keeps no connection to the database (the clock's anchor may be read there)."""
    try:
        return take_look(port, cursor)
    finally:
        connections.close_all()
