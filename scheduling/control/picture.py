"""One cluster's pods as they were last listed, kept up with by what its watch tells between two lists.

A list is the truth and comes on a timer (section 6); a watch may be silent, repeat itself or tell things out of order, and is
believed only until the next list. A list that takes long goes on beside the watch, which is followed meanwhile. Must not touch the
platform's rows.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field

from django.db import connections

from berth.common import clock
from scheduling.cluster.port import (
    ChangeKind,
    ClusterPort,
    Listing,
    NodeLease,
    NodeObservation,
    PodChange,
    PodObservation,
    WatchExpiredError,
)

LIST_TIMEOUT_S = 5.0
COST_SHARE = 30
"""Lists take at most this part of the time: of few pods one a look, of thousands one every half minute."""
LONGEST_S = 60.0
LONG_S = 0.2
"""A list that took longer than this is asked for in a thread of its own from then on, where the cluster takes two calls at once."""
SILENT_AFTER_S = 16.0
"""From here on a cluster tells the last sign of life of a silent node's pods; until it was asked again we do not know it."""
Deleted = Mapping[str, PodObservation]
"""By uid, in their last state."""


@dataclass(frozen=True, slots=True)
class Seen:
    """All pods, and those deleted since the look before. A pod nothing was told of is the same object as before, unless all were
    `listed` anew: only then is it sure that what is lacking is not there."""

    pods: Listing[PodObservation]
    deleted: Deleted
    listed: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list, when it was asked for (monotonic) and how long that took."""

    pods: Listing[PodObservation]
    began: float
    took: float


def _list(port: ClusterPort) -> _Listed:
    began = clock.monotonic()
    pods = port.list_pods(timeout_s=LIST_TIMEOUT_S)
    return _Listed(pods, began, clock.monotonic() - began)


def _list_in_thread(port: ClusterPort) -> "Future[_Listed]":
    pool = ThreadPoolExecutor(1, thread_name_prefix="list")
    try:
        return pool.submit(copy_context().run, _list_apart, port)
    finally:
        pool.shutdown(wait=False)


def _list_apart(port: ClusterPort) -> _Listed:
    """Keeps no connection to the database: the clock's anchor may be read there."""
    try:
        return _list(port)
    finally:
        connections.close_all()


@dataclass(slots=True)
class Picture:
    """One process's; one look at a time uses it."""

    _pods: dict[str, PodObservation] = field(default_factory=dict)
    _versions: dict[str, int] = field(default_factory=dict)
    _listed: int = -1
    """Version of the last list: what is told of earlier ones is in it."""
    _cursor: str = ""
    _listed_at: float = 0.0
    _list_due: float = 0.0
    _took: float = 0.0
    _under_way: Future[_Listed] | None = None
    _beats: dict[str, tuple[object, float]] = field(default_factory=dict)

    def look(self, port: ClusterPort, cursor: str | None) -> Seen:
        """`cursor` is where another process's look ended. Raises ClusterUnreachableError."""
        if self._cursor:
            try:
                return self._followed(port)
            except WatchExpiredError:
                pass
        return self._begin_anew(_list(port), port, self._cursor or cursor)

    def _followed(self, port: ClusterPort) -> Seen:
        """What the watch told, on top of the list if there is a new one. Raises WatchExpiredError where it cannot be followed."""
        if self._under_way is None and clock.monotonic() >= self._list_due:
            if self._took <= LONG_S or port.capabilities().at_once <= 1:
                return self._begin_anew(_list(port), port, self._cursor)
            self._under_way = _list_in_thread(port)
        if self._under_way is None or not self._under_way.done():
            return self._kept_up(port)
        under_way, self._under_way = self._under_way, None
        before = self._begin_anew(under_way.result(), port, self._cursor)
        since = self._kept_up(port)
        return Seen(since.pods, {**before.deleted, **since.deleted}, listed=True)

    def note_nodes(self, nodes: Sequence[NodeObservation], leases: Sequence[NodeLease], *, mono: float) -> None:
        """Have the pods listed again where a node is not well: what is known of its pods' last sign of life has to be asked for."""
        for lease in leases:
            if self._beats.get(lease.node, (None, 0.0))[0] != lease.renewed_at:
                self._beats[lease.node] = (lease.renewed_at, mono)
        there = {node.name for node in nodes}
        silent = any(
            mono - beat >= SILENT_AFTER_S and self._listed_at < beat + SILENT_AFTER_S
            for name, (_renewed, beat) in self._beats.items()
            if name in there
        )
        if silent or not all(node.ready for node in nodes):
            self._list_due = 0.0

    def _begin_anew(self, listed: _Listed, port: ClusterPort, cursor: str | None) -> Seen:
        """From a list; what was deleted since `cursor` is still told with its last state."""
        version = listed.pods.resource_version
        try:
            changes = [] if cursor is None or _is_past(cursor, version) else list(port.watch_pods(cursor, timeout_s=0))
        except WatchExpiredError:
            changes = []
        self._pods = {pod.uid: pod for pod in listed.pods.items}
        self._versions.clear()
        self._listed = int(version) if version.isdigit() else -1
        self._cursor, self._listed_at, self._took = version, listed.began, listed.took
        self._list_due = listed.began + min(COST_SHARE * listed.took, LONGEST_S)
        return Seen(listed.pods, _deleted(changes), listed=True)

    def _kept_up(self, port: ClusterPort) -> Seen:
        as_of = clock.now()
        changes = list(port.watch_pods(self._cursor, timeout_s=0))
        for change in changes:
            self._cursor = change.resource_version
            if change.pod is not None and self._is_news(change.pod.uid, change.resource_version):
                self._take_in(change.kind, change.pod)
        pods = sorted(self._pods.values(), key=_address)
        return Seen(Listing(tuple(pods), self._cursor, as_of), _deleted(changes), listed=False)

    def _is_news(self, uid: str, version: str) -> bool:
        """Whether nothing newer was told of the pod. Versions that are no numbers cannot be compared: the list will tell."""
        if not version.isdigit():
            return True
        known = self._versions.get(uid, self._listed)
        self._versions[uid] = max(known, int(version))
        return int(version) > known

    def _take_in(self, kind: ChangeKind, pod: PodObservation) -> None:
        if kind is ChangeKind.DELETED:
            self._pods.pop(pod.uid, None)
        else:
            self._pods[pod.uid] = pod


def _deleted(changes: Sequence[PodChange]) -> Deleted:
    return {
        change.pod.uid: change.pod for change in changes if change.kind is ChangeKind.DELETED and change.pod is not None
    }


def _is_past(cursor: str, version: str) -> bool:
    """Whether everything up to that version was told already."""
    return cursor.isdigit() and version.isdigit() and int(cursor) >= int(version)


def _address(pod: PodObservation) -> tuple[str, str]:
    return pod.key.namespace, pod.key.name
