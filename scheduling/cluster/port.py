"""The cluster port: what the control loop asks of a cluster, and every answer a cluster may give.

PURE: a protocol and frozen records, written against what a Kubernetes API server does (answers get lost, lists are stale, watches
expire). It must not know which adapter stands behind it, and holds no I/O and no clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from scheduling.cluster.space_port import SpacePort

Manifest = Mapping[str, Any]


class ClusterError(Exception):
    """A question the cluster did not answer. `message` is the cluster's own text, shown to people as it is."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ClusterUnreachableError(ClusterError):
    """Nothing was learnt: refused connection, timeout, TLS error, 5xx. Never evidence that anything died (section 6)."""


class WatchExpiredError(ClusterError):
    """410 Gone: the resource version is too old to watch from. A full list has to follow."""


class ResultKind(StrEnum):
    """How a write ended. `UNKNOWN` may have happened: it is read before it is repeated. `UNSENT` certainly did not: the time of the
    whole call was over before it could be tried."""

    CREATED = "created"
    EXISTS = "exists"
    ACCEPTED = "accepted"
    GONE = "gone"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"
    UNSENT = "unsent"


class RefusalCode(StrEnum):
    """Why a cluster said no to a write that it understood."""

    QUOTA = "quota"
    NAMESPACE_TERMINATING = "namespace-terminating"
    NAMESPACE_MISSING = "namespace-missing"
    ADMISSION = "admission"
    INVALID = "invalid"
    CONFLICT = "conflict"
    THROTTLED = "throttled"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The outcome of one write. `uid` is set when the object is known to exist; `retry_after_s` when the cluster named a delay."""

    kind: ResultKind
    name: str
    uid: str | None = None
    code: RefusalCode | None = None
    message: str = ""
    retry_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of `create_run`: one result for the owning Service, then one a pod, in the order asked for."""

    service: WriteResult
    pods: tuple[WriteResult, ...]

    @property
    def whole(self) -> bool:
        """True when the owner and every pod are known to exist."""
        return all(result.kind in (ResultKind.CREATED, ResultKind.EXISTS) for result in (self.service, *self.pods))

    @property
    def refusal(self) -> WriteResult | None:
        """The first refusal, or None."""
        return next((result for result in (self.service, *self.pods) if result.kind is ResultKind.REFUSED), None)


@dataclass(frozen=True, slots=True, order=True)
class PodKey:
    """A pod's address in one cluster. The uid is apart from it: a name may be used again, a uid never."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class RunManifests:
    """All objects of one run, as plain documents. The Service owns the rest, so deleting it removes the rest."""

    namespace: str
    name: str
    service: Manifest
    pods: tuple[Manifest, ...]
    secret: Manifest | None = None


class PodPhase(StrEnum):
    """A pod's phase, as Kubernetes counts them."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"

    @property
    def ended(self) -> bool:
        return self in (PodPhase.SUCCEEDED, PodPhase.FAILED)


@dataclass(frozen=True, slots=True)
class PodObservation:
    """What the cluster says about one pod, in its own times (aware UTC).

    `last_sign` is the latest instant at which the pod is known to have been there: for a pod on a silent node the node's last sign of
    life, else the instant of the observation. `deletion_at` is the deletion timestamp: the end of the grace asked for.
    """

    key: PodKey
    uid: str
    labels: Mapping[str, str]
    node: str
    phase: PodPhase
    created_at: datetime
    last_sign: datetime
    start_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    deletion_at: datetime | None = None
    proof: str = ""
    """The run's mark of ownership that the pod bears: labels alone prove nothing."""


@dataclass(frozen=True, slots=True)
class NodeObservation:
    """What the cluster says about one node. `ready` is None when the node's controller does not know (Ready=Unknown).

    `barred_by` is a taint that lets nothing new start, as kubectl writes it. `allocatable_cards` counts those that its device plugin
    would give out, None where it is not told: fewer than `card_count` are a fault of cards that may have no name.
    """

    name: str
    uid: str
    ready: bool | None
    ready_since: datetime
    unschedulable: bool
    labels: Mapping[str, str]
    resource_name: str
    card_count: int
    unhealthy_cards: tuple[int, ...]
    cpu_millicores: int
    memory_mib: int
    max_pods: int
    barred_by: str = ""
    allocatable_cards: int | None = None


@dataclass(frozen=True, slots=True)
class NodeLease:
    """A node's heartbeat. Only a *change* of `renewed_at` means anything to us: clocks of nodes are not ours."""

    node: str
    renewed_at: datetime


@dataclass(frozen=True, slots=True)
class CardUse:
    """What one pod's cards report at one instant: utilisation in ppm of its cards, VRAM in MiB on the fullest of them."""

    key: PodKey
    uid: str
    node: str
    at: datetime
    utilisation_ppm: int
    vram_mib: int


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    """A full list. `as_of` is our business time when it was asked for; `resource_version` is where a watch may go on.

    A cache may serve it late: what it lacks is no proof until a read of the object itself agrees.
    """

    items: tuple[Item, ...]
    resource_version: str
    as_of: datetime


class ChangeKind(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class PodChange:
    """One watch event. May come twice or out of order; DELETED carries the pod's last state. `pod` is None for a bookmark."""

    kind: ChangeKind
    pod: PodObservation | None
    resource_version: str


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """One object that Berth's field manager owns: identity and the manifest as the cluster keeps it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class LogTail:
    """The newest of a pod's output; `truncated` when there was more before it. `available` is False when the cluster has none
    (yet, or any more), and `message` is its own word on that."""

    text: str
    available: bool
    truncated: bool
    message: str = ""
    broken_off: bool = False
    """Of a followed log: the pod may have written more than was heard."""


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the cluster answers, and its own words when it does not."""

    reachable: bool
    message: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can do beyond the common part, so that pages and tests need not ask for its class.

    `at_once` is how many calls it takes side by side, from threads that share it; 1: only from the thread that made it.
    """

    real_pods: bool
    real_logs: bool
    settable_faults: bool
    reports_card_use: bool
    at_once: int = 1


class ClusterPort(Protocol):
    """One cluster. Every call has a deadline in wall seconds; none is made inside a database transaction of the platform.

    Writes answer with results and never raise for what a cluster may say; reads raise `ClusterUnreachableError` when nothing was learnt.
    """

    @property
    def name(self) -> str:
        """The cluster's name, as in `Cluster.name`."""
        ...

    @property
    def spaces(self) -> "SpacePort | None":
        """Tenants' namespaces; None for a cluster that has no such thing and takes runs anyhow."""
        ...

    def health(self, *, timeout_s: float) -> Health:
        """Whether the cluster answers now. Never raises."""
        ...

    def capabilities(self) -> Capabilities:
        """What this adapter can do; needs no call."""
        ...

    def create_run(self, run: RunManifests, *, timeout_s: float) -> RunResult:
        """Create the owner, then its pods, all within `timeout_s`: what it does not suffice for is `UNSENT`. Safe to repeat: what
        exists answers `EXISTS` with its uid. Pods are not tried when the owner was not made; they then carry the owner's result."""
        ...

    def read_run(self, namespace: str, name: str, *, timeout_s: float) -> tuple[PodObservation, ...]:
        """The run's pods as they stand, read past every cache. Empty when there are none. Raises `ClusterUnreachableError`."""
        ...

    def delete_run(self, namespace: str, name: str, *, timeout_s: float) -> WriteResult:
        """Delete the owner; the cluster removes the rest. `GONE` when it was not there."""
        ...

    def delete_pod(self, key: PodKey, *, uid: str, grace_s: int, timeout_s: float) -> WriteResult:
        """Ask one pod to stop within `grace_s`. `GONE` when no pod of that uid is there; a second call never shortens a grace
        that runs already unless it asks for less."""
        ...

    def force_delete_pod(self, key: PodKey, *, uid: str, timeout_s: float) -> WriteResult:
        """Remove one pod's object at once, whatever its node says."""
        ...

    def annotate_pod(
        self, key: PodKey, *, uid: str, annotations: Mapping[str, str], condition: str | None, timeout_s: float
    ) -> WriteResult:
        """Set annotations and, if given, a true condition of that type (an eviction notice). `GONE` when the pod is not there."""
        ...

    def set_cordon(self, node: str, *, cordoned: bool, timeout_s: float) -> WriteResult:
        """Let a node take nothing new, or take work again. `GONE` when there is no such node."""
        ...

    def set_card_health(self, node: str, index: int, *, healthy: bool, timeout_s: float) -> WriteResult:
        """Say of one card that it is out of service, or in service again. `GONE` when there is no such node."""
        ...

    def list_pods(self, *, timeout_s: float) -> Listing[PodObservation]:
        """Every pod that carries Berth's labels, in all namespaces."""
        ...

    def list_nodes(self, *, timeout_s: float) -> Listing[NodeObservation]:
        """Every node."""
        ...

    def list_node_leases(self, *, timeout_s: float) -> Listing[NodeLease]:
        """Every node's heartbeat."""
        ...

    def list_card_use(self, *, timeout_s: float) -> Listing[CardUse]:
        """What the cards of running pods report; empty when the adapter has no such source."""
        ...

    def watch_pods(self, resource_version: str, *, timeout_s: float) -> Iterator[PodChange]:
        """Changes since `resource_version`, for at most `timeout_s`; 0 drains what is there. Raises `WatchExpiredError` (410) or
        `ClusterUnreachableError`. Duplicates, gaps and reordering are possible."""
        ...

    def apply_objects(self, manifests: Sequence[Manifest], *, timeout_s: float) -> tuple[WriteResult, ...]:
        """Server-side apply under Berth's field manager, one result each, in order."""
        ...

    def list_managed(self, *, kinds: Iterable[str], timeout_s: float) -> Listing[ManagedObject]:
        """Every object of these kinds that Berth's field manager owns."""
        ...

    def read_logs(self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float) -> LogTail:
        """The last `tail_lines` lines of a pod's output, of these the newest `most_bytes`. Raises `ClusterUnreachableError`."""
        ...

    def follow_logs(
        self, key: PodKey, *, tail_lines: int, most_bytes: int, timeout_s: float, opened: Callable[[], None]
    ) -> LogTail:
        """The same, and everything the pod writes until it ends, for at most `timeout_s`. `opened` is called as soon as nothing
        can be missed: a pod may be deleted after that."""
        ...
