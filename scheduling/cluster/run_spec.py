"""What a run should be, before it becomes Kubernetes documents. PURE: frozen records, filled by the control loop from rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_USER_ID = 1000
MASTER_PORT = 29500


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """One PersistentVolumeClaim of the tenant's namespace and where it is mounted."""

    claim: str
    mount: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CardShare:
    """A part of one card (SCH-13), in thousandths, with its cap on the card's memory in MiB (0 = none is known).

    `by_mps`: the flavor's cards are in shares only, served by NVIDIA's MPS; else by a device plugin that cuts cards as asked (HAMi).
    """

    cards_m: int
    vram_mib: int
    by_mps: bool


@dataclass(frozen=True, slots=True)
class RoleSpec:
    """One role: what each of its pods runs and asks for. CPU in millicores, memory in MiB; a limit of None means none beyond the request.

    `cards` counts whole cards or MIG instances of `resource_name`; 0 for CPU-only roles, 1 where a pod has a `share` of a card.
    """

    name: str
    image: str
    cpu_millicores: int
    memory_mib: int
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    image_pull: tuple[str, ...] = ()
    cards: int = 0
    resource_name: str = "nvidia.com/gpu"
    share: CardShare | None = None
    cpu_limit_millicores: int | None = None
    memory_limit_mib: int | None = None
    volumes: tuple[VolumeMount, ...] = ()
    ports: tuple[int, ...] = ()
    shm_mib: int | None = None
    run_as_user: int = DEFAULT_USER_ID
    run_as_group: int = DEFAULT_USER_ID
    fs_group: int | None = None
    gang: bool = True
    replicas: int = 0
    minimum: int = 0
    """The range of its sizes (SCH-10); 0 where it has as many pods as the run names."""


@dataclass(frozen=True, slots=True)
class PodSpec:
    """One pod of the run: its role, its index in the role, its rank in the gang (None outside it), its node and card slots.

    `sent`: a cluster has it already, as far as is known. `joined_after_s`: how long the run had been running when it joined.
    """

    role: str
    index: int
    rank: int | None
    node: str
    cards: tuple[int, ...] = ()
    sent: bool = False
    joined_after_s: int | None = None


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """Where and how often a run saves itself (seconds), and where an interrupted one goes on from."""

    path: str
    interval_s: int
    resume: bool = False
    resume_from: str | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A whole run. `proof` is the run's secret-free ownership mark; `grace_s` the tier's grace; `pods` hold every role's pods."""

    job_id: int
    run_number: int
    namespace: str
    tenant: str
    queue: str
    tier: str
    proof: str
    grace_s: int
    roles: tuple[RoleSpec, ...]
    pods: tuple[PodSpec, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    api_url: str = ""
    token: str | None = None
    checkpoint: CheckpointSpec | None = None
    priority_class: str | None = None
    expected_runtime_s: int | None = None
    master_port: int = MASTER_PORT
