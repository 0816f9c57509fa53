"""What a body asks for, in the units used inside. None stands for "not given": defaults that need a queue's pool come later."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class VolumeAsk:
    """A claim of the tenant's environment and where it is mounted."""

    claim: str
    mount: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class AfterAsk:
    """Wait for another job of the same tenant: `success`, or `any` end."""

    job: int
    on: str = "success"


@dataclass(frozen=True, slots=True)
class ArrayAsk:
    """`size` members, of which at most `limit` (None = all) hold cards at once."""

    size: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class RoleAsk:
    """One role. Cards in milli-cards a pod, CPU in millicores, memory and VRAM in MiB; `flavors` are names as written, in order."""

    name: str
    replicas: int
    minimum: int
    image: str
    cards_m: int = 0
    flavors: tuple[str, ...] = ()
    cpu_m: int | None = None
    memory_mib: int | None = None
    vram_mib: int = 0
    cpu_limit_m: int | None = None
    memory_limit_mib: int | None = None
    in_gang: bool = True
    period_s: int | None = None
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_from: tuple[str, ...] = ()
    image_pull: tuple[str, ...] = ()
    volumes: tuple[VolumeAsk, ...] = ()
    ports: tuple[int, ...] = ()
    shm_mib: int | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    fs_group: int | None = None


@dataclass(frozen=True, slots=True)
class JobAsk:
    """One job. `tier` None = the queue's default."""

    tenant: str
    queue: str
    name: str
    roles: tuple[RoleAsk, ...]
    kind: str = "training"
    tier: str | None = None
    priority: int = 500
    project: str = ""
    topology_mode: str = "none"
    topology_level: str = ""
    elastic_step: int | None = None
    elastic_cooldown_s: int | None = None
    expected_runtime_s: int | None = None
    max_runtime_s: int | None = None
    max_restarts: int = 3
    checkpoint_path: str = ""
    checkpoint_interval_s: int | None = None
    output_claim: str = ""
    output_path: str = ""
    datasets: tuple[str, ...] = ()
    objective: str = "fastest"
    deadline: datetime | None = None
    not_before: datetime | None = None
    after: tuple[AfterAsk, ...] = ()
    array: ArrayAsk | None = None
    callback_url: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
