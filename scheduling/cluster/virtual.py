"""Records of the simulated cluster: virtual nodes, pods and services, and the commands that act on them.

PURE. A node here is what a machine with a kubelet would be; nothing knows the platform's tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from scheduling.cluster import names
from scheduling.cluster.mig import instances_of
from scheduling.cluster.port import PodKey, PodPhase, RunManifests, RunResult, WriteResult

WHOLE_CARD_M: Final = 1000


class NodeFailure(StrEnum):
    """How a node fails: `silent` stops every sign of life, `not-ready` says itself that it is not ready."""

    SILENT = "silent"
    NOT_READY = "not-ready"


@dataclass(frozen=True, slots=True)
class VirtualNode:
    """A machine. `silent_since` is business time, `silent_since_wall` the same instant in wall time (heartbeats are wall time)."""

    name: str
    uid: str
    labels: Mapping[str, str]
    resource_name: str
    card_count: int
    cpu_millicores: int
    memory_mib: int
    max_pods: int
    ready_since: datetime
    vram_mib: int = 0
    unhealthy_cards: frozenset[int] = frozenset()
    cordoned: bool = False
    ready: bool = True
    silent_since: datetime | None = None
    silent_since_wall: datetime | None = None

    @property
    def per_card(self) -> int:
        """MIG instances that each of its cards is cut into; one of cards that are not."""
        return instances_of(self.resource_name)


@dataclass(frozen=True, slots=True)
class VirtualPod:
    """A pod. `stop_at` is when it leaves after a delete that its kubelet has seen; None while unseen or stuck.

    `card_count` counts cards or MIG instances. `cards` are what the device plugin gave it at admission, one for each of them. `removed` marks a tombstone: its object is gone.
    """

    key: PodKey
    uid: str
    run_name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node: str
    card_count: int
    cpu_millicores: int
    memory_mib: int
    grace_s: int
    created_at: datetime
    start_due: datetime | None
    duration: timedelta | None
    outcome: str
    utilisation_ppm: int
    stop_delay: timedelta | None
    phase: PodPhase = PodPhase.PENDING
    start_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    cards: tuple[int, ...] = ()
    deletion_asked: datetime | None = None
    deletion_grace: timedelta | None = None
    stop_at: datetime | None = None
    resource_version: int = 0
    removed: bool = False

    @property
    def card_share_m(self) -> int:
        """Thousandths that it uses of each of its cards or MIG instances."""
        share = self.annotations.get(names.CARD_SHARE, "")
        return (int(share) if share.isdigit() else 0) or WHOLE_CARD_M

    @property
    def live(self) -> bool:
        """True while it holds its node: admitted, not ended, not removed."""
        return self.phase is PodPhase.RUNNING and not self.removed


@dataclass(frozen=True, slots=True)
class VirtualService:
    """The owner of a run's pods."""

    key: PodKey
    uid: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What a step works on. It may be a part of the cluster, if it holds every pod of each node it holds."""

    resource_version: int = 0
    nodes: Mapping[str, VirtualNode] = field(default_factory=dict)
    pods: Mapping[PodKey, VirtualPod] = field(default_factory=dict)
    services: Mapping[PodKey, VirtualService] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateRun:
    run: RunManifests


@dataclass(frozen=True, slots=True)
class DeleteRun:
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """`grace` None means the pod's own; `force` removes the object at once."""

    key: PodKey
    uid: str
    grace: timedelta | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class AnnotatePod:
    key: PodKey
    uid: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FailNode:
    node: str
    failure: NodeFailure


@dataclass(frozen=True, slots=True)
class RecoverNode:
    node: str


@dataclass(frozen=True, slots=True)
class CordonNode:
    node: str
    cordoned: bool


@dataclass(frozen=True, slots=True)
class SetCardHealth:
    node: str
    index: int
    healthy: bool


Command = CreateRun | DeleteRun | DeletePod | AnnotatePod | FailNode | RecoverNode | CordonNode | SetCardHealth
Outcome = WriteResult | RunResult


@dataclass(frozen=True, slots=True)
class Step:
    """The state after a step, and one outcome a command in order."""

    state: ClusterState
    outcomes: tuple[Outcome, ...]
