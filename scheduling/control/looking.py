"""Looks at clusters over the network: what their lists and watches tell, each in its own time, so that one that hangs holds up nobody.

Must not touch the platform's rows: what was seen is compared with them by `observe`, in the process's own thread.
"""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connections

from berth.common import clock
from scheduling.cluster.port import ClusterPort, NodeLease, NodeObservation
from scheduling.control.picture import LIST_TIMEOUT_S, Picture, Seen

FEW_NODES = 100
NODES_SHARE, NODES_LONGEST_S = 8, 5.0
"""More nodes than a few are listed at most this part of the time, but this often: their Leases, far smaller, tell silence sooner."""
AT_ONCE = 32
"""Looks under way side by side; each of a hanging cluster takes as long as its time-outs."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look brought. `mono` and `at` (business time) are when it was asked for leases: silence is only ever shorter than it seems from there."""

    seen: Seen
    nodes: tuple[NodeObservation, ...]
    leases: tuple[NodeLease, ...]
    mono: float
    at: datetime


@dataclass(slots=True)
class Eye:
    """What one process keeps of one cluster from one look to the next."""

    picture: Picture = field(default_factory=Picture)
    _nodes: tuple[NodeObservation, ...] = ()
    _nodes_due: float = 0.0

    def look(self, port: ClusterPort, cursor: str | None) -> Look:
        """Its pods, nodes and leases, and what its watch saw deleted since `cursor`. Raises ClusterUnreachableError."""
        nodes = self._listed_nodes(port)
        mono, at = clock.monotonic(), clock.now()
        leases = port.list_node_leases(timeout_s=LIST_TIMEOUT_S).items
        self.picture.note_nodes(nodes, leases, mono=mono)
        # Last, so that it is as new as can be when it is compared.
        return Look(self.picture.look(port, cursor), nodes, leases, mono, at)

    def _listed_nodes(self, port: ClusterPort) -> tuple[NodeObservation, ...]:
        began = clock.monotonic()
        if began >= self._nodes_due:
            self._nodes = port.list_nodes(timeout_s=LIST_TIMEOUT_S).items
            pause = min(NODES_SHARE * (clock.monotonic() - began), NODES_LONGEST_S)
            self._nodes_due = began + (pause if len(self._nodes) > FEW_NODES else 0.0)
        return self._nodes


@dataclass(slots=True)
class Looks:
    """One process's looks under way, one a cluster. A simulated cluster answers at once and is looked at on the spot."""

    _pool: ThreadPoolExecutor | None = None
    _under_way: dict[int, Future[Look]] = field(default_factory=dict)
    _eyes: dict[int, Eye] = field(default_factory=dict)

    def begin(self, cluster_id: int, port: ClusterPort, cursor: str | None) -> None:
        """Start looking, unless the look before is still under way."""
        if cluster_id in self._under_way or not port.capabilities().real_pods:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look")
        self._under_way[cluster_id] = self._pool.submit(_look_apart, port, self._eye(cluster_id), cursor)

    def finish(self, cluster_id: int, port: ClusterPort, cursor: str | None, *, patience_s: float) -> Look | None:
        """What the look brought; None while it goes on. Raises ClusterUnreachableError."""
        under_way = self._under_way.get(cluster_id)
        if under_way is None:
            return self._eye(cluster_id).look(port, cursor)
        done, _going_on = wait([under_way], timeout=max(0.0, patience_s))
        if not done:
            return None
        return self._under_way.pop(cluster_id).result()

    def _eye(self, cluster_id: int) -> Eye:
        return self._eyes.setdefault(cluster_id, Eye())


def _look_apart(port: ClusterPort, eye: Eye, cursor: str | None) -> Look:
    """In a thread of its own, which keeps no connection to the database (the clock's anchor may be read there)."""
    try:
        return eye.look(port, cursor)
    finally:
        connections.close_all()
