"""What the engine sees: one immutable picture of cluster, quota tree, running and waiting work (DESIGN section 5).

Rows that number in the tens of thousands are columns of arrays; things that number in the hundreds are records. Every table is
sorted by id (files compare ids as UTF-8 bytes), so an index is also the tie-break that every order ends in (SCH-22). References
between tables are indexes; -1 means none. Arrays are read-only. Instants are milliseconds, see `units`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.instances import SEVENTHS, equivalent_ppm, instances, slices
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import CardMode, ReservationKind, TopologyMode

Id = int | str
I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

CPU, MEMORY, VRAM = "cpu", "memory", "vram"
"""Columns that follow the flavors' card columns on every quota axis."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one cluster under one sharing rule. Windows are `(from_ms, to_ms)`, half open.

    `samples_above` is how many samples of use in a row stood above `high_ppm`, the newest included, since somebody last had to
    leave for it, which was at `relieved_ms` (-1 = never); only looked at where the factor is above 1 (SCH-15). With `time_sharing`
    its jobs take turns of `quantum_ms`, whatever the policy says (SCH-27).
    """

    id: Id
    name: str
    factor_ppm: int = ONE_PPM
    high_ppm: int = 850_000
    low_ppm: int = 750_000
    samples_above: int = 0
    relieved_ms: int = -1
    draining: bool = False
    cpu_per_card_m: int | None = None
    memory_per_card_mib: int | None = None
    cpu_headroom_m: int = 0
    priority_share_ppm: int = 0
    time_sharing: bool = False
    quantum_ms: int = 1_800_000
    maintenance: tuple[tuple[int, int], ...] = ()
    reachable: bool = True


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of card of exactly one pool. `prices` are for estimates only: `(price per card-hour, currency)`."""

    id: Id
    name: str
    pool: int
    mode: CardMode = CardMode.ANY
    mig_profile: str = ""
    vram_mib: int = 0
    speed_ppm: int = ONE_PPM
    weight_ppm: int = ONE_PPM
    price: Decimal | None = None
    currency: str = ""

    @property
    def per_card(self) -> int:
        """What one card of a node counts as: a MIG card as its instances, which asks, quotas and `vram_mib` speak of, any other as one."""
        return instances(self.mig_profile) if self.mode is CardMode.MIG else 1

    @property
    def sevenths(self) -> int:
        """Sevenths of a card that an ask's one is: what it costs of a card's price and a lease holds of it."""
        return slices(self.mig_profile) if self.mode is CardMode.MIG else SEVENTHS

    @property
    def equivalent_ppm(self) -> int:
        """Card-equivalents of one card of a pod (SCH-05); a MIG instance is as many sevenths of them as its profile says."""
        return equivalent_ppm(self.weight_ppm, self.mig_profile) if self.mode is CardMode.MIG else self.weight_ppm


@dataclass(frozen=True, slots=True)
class Nodes:
    """Columns over nodes, sorted by id. `domain[level, node]` indexes `domains[level]`, -1 where the label is missing.

    `levels` go from the widest (zone) to the narrowest (rack). `measured_ppm` is -1 where samples are missing, `max_pods` -1 where
    nothing limits them.
    """

    ids: tuple[Id, ...]
    names: tuple[str, ...]
    pool: I32
    flavor: I32
    cpu_m: I64
    memory_mib: I64
    max_pods: I32
    state: I8
    levels: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    domain: I32
    measured_ppm: I64
    cached: tuple[frozenset[str], ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Cards:
    """Columns over cards, sorted by (node, index). A card that is not healthy counts as no capacity."""

    node: I32
    index: I32
    flavor: I32
    healthy: Flags


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One node of the quota tree: cohort, tenant or queue (SCH-03). Amounts are tuples over `Snapshot.columns`.

    `effective_weight_ppm` is `weight_ppm` after SCH-06, quantised before it enters the engine. `borrow_scale_ppm` is 1 − p.
    A limit of None means no limit. `nominal` is None where this node has no line for that column.
    """

    id: Id
    name: str
    kind: str
    parent: int
    nominal: tuple[int | None, ...]
    borrowing: tuple[int | None, ...]
    lending: tuple[int | None, ...]
    weight_ppm: int = ONE_PPM
    effective_weight_ppm: int = ONE_PPM
    borrow_scale_ppm: int = ONE_PPM


@dataclass(frozen=True, slots=True)
class Queue:
    """A leaf of the tree. `pool` is the pool whose flavors its jobs may use; closed or draining queues start nothing."""

    id: Id
    name: str
    tenant: str
    node: int
    pool: int
    cohort: str = ""
    open: bool = True
    draining: bool = False
    priority_tenant: bool = False
    loan_period_ms: int = 4 * 3_600_000
    strict_expiry: bool = False
    max_pool_share_ppm: int | None = None
    budget_remaining: Decimal | None = None


@dataclass(frozen=True, slots=True)
class RoleAsk:
    """What each pod of one role asks for. `cards_m` is milli-cards a pod; `flavors` index `Snapshot.flavors`, empty = CPU only.

    Below `CARD` it is a share of one card, of MIG flavors it counts instances. `vram_mib` is the cap per card, 0 = the whole card's
    (of a share: its part of the card's). `minimum` <= `replicas` (SCH-10).
    """

    name: str
    replicas: int
    minimum: int
    cards_m: int
    flavors: tuple[int, ...]
    cpu_m: int = 0
    memory_mib: int = 0
    vram_mib: int = 0
    in_gang: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a job that decides where it fits: jobs of one shape are planned as one class (SCH-02, SCH-11)."""

    roles: tuple[RoleAsk, ...]
    topology: TopologyMode = TopologyMode.NONE
    level: str = ""
    elastic_step: int = 0
    elastic_cooldown_ms: int = 600_000
    objective: str = "fastest"
    datasets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Pending:
    """Columns over waiting jobs, sorted by id. `queue` is -1 for an unknown queue.

    `submit_ms` is the instant the order uses: the original submit (or the eviction, by policy switch). `limit_ms` is the declared
    run time, NEVER if none; `expected_ms` the expected one. `hold` is a wait code's position in `holds` (0 = may start): what the
    shell already knows to bar a start (suspended, dependency, array-limit, budget, backoff, node-lost, planner-fault ...).
    `attained_card_ms` is the service the job has had, cards x time over all its runs so far (SCH-27), in Running too, as is
    `checkpoints`: whether the job writes any.
    """

    ids: tuple[Id, ...]
    queue: I32
    shape: I32
    tier: I8
    priority: I32
    submit_ms: I64
    eligible_ms: I64
    limit_ms: I64
    expected_ms: I64
    deadline_ms: I64
    hold: I8
    backoff_ms: I64
    attained_card_ms: I64
    checkpoints: Flags

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Running:
    """Columns over jobs that hold cards, sorted by id. `queue` is -1 for foreign occupation, which is left alone.

    `leaving_ms` is the deadline of a job that is already leaving, NEVER if it is not. `last_checkpoint_ms` is -1 if none is known.
    `loan_expires_ms` is NEVER without a loan. `split_known` is False where the own/borrowed split must be derived (files).
    """

    ids: tuple[Id, ...]
    runs: tuple[Id, ...]
    queue: I32
    shape: I32
    tier: I8
    priority: I32
    submit_ms: I64
    start_ms: I64
    limit_ms: I64
    leaving_ms: I64
    last_checkpoint_ms: I64
    checkpoints: Flags
    loan_expires_ms: I64
    last_resize_ms: I64
    attained_card_ms: I64
    split_known: Flags
    had_roles: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """By row: roles outside the gang that had pods in this run, also where those have ended: they joined once and do not again."""
    wanted: Mapping[int, int] = field(default_factory=dict)
    """By row: the size that an elastic job asked for itself (SCH-10)."""
    fixed: frozenset[int] = frozenset()
    """Rows of elastic jobs that do not change their size by themselves now: pods of theirs start, leave, or have ended."""
    parts: Mapping[int, int] = field(default_factory=dict)
    """By row of pods that leave a job which goes on without them: the row of that job, with whose loans theirs stand."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Pods:
    """Columns over pods that hold a node, sorted by (run, role, rank). `cards_m` of `flavor`, of which `borrowed_m` is borrowed.

    `cards` holds the card indexes on the node, in slot order; empty where a file does not say. A share names one card, a MIG pod the
    card of each instance. `vram_mib` of a share is its cap.
    """

    run: I32
    role: I32
    rank: I32
    node: I32
    flavor: I32
    cards_m: I64
    borrowed_m: I64
    cpu_m: I64
    memory_mib: I64
    vram_mib: I64
    cards: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class LoanSide:
    """The lender side of a loan: a node of the quota tree and how much of the amount it lent."""

    node: int
    amount_m: int


@dataclass(frozen=True, slots=True)
class Loan:
    """An open loan of `amount_m` milli-cards of `flavor` to `run` (index into Running), SCH-16."""

    id: Id
    run: int
    flavor: int
    amount_m: int
    opened_ms: int
    expires_ms: int
    sides: tuple[LoanSide, ...] = ()


@dataclass(frozen=True, slots=True)
class Reservation:
    """SCH-18 and kept cards: `amount_m` of `flavor` (or whole `nodes`) for a queue, tier or job during [from_ms, to_ms).

    `pods` say what is kept for a job: (role, node, card, pods). A share's card is its index on the node, below 0 for one that the
    shares open; 0 where whole cards are kept.
    """

    id: Id
    kind: ReservationKind
    from_ms: int
    to_ms: int
    flavor: int = -1
    amount_m: int = 0
    nodes: tuple[int, ...] = ()
    queue: int = -1
    tier: int = -1
    job: Id | None = None
    cards: tuple[tuple[int, int], ...] = ()
    pods: tuple[tuple[str, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Eviction:
    """A recent (evictor queue, victim queue) pair at an instant, so that no pair flaps (SCH-17)."""

    evictor: int
    victim: int
    job: Id
    at_ms: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The engine's whole input besides policy and now. See the module docstring for conventions."""

    flavors: tuple[Flavor, ...]
    pools: tuple[Pool, ...]
    nodes: Nodes
    cards: Cards
    tree: tuple[TreeNode, ...]
    queues: tuple[Queue, ...]
    shapes: tuple[Shape, ...]
    pending: Pending
    running: Running
    pods: Pods
    loans: tuple[Loan, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    holds: tuple[str, ...] = ("",)
    demand_mix: tuple[tuple[int, int], ...] = ()
    names: Mapping[Id, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The quota axis: one card column per flavor (`gpu:<flavor>`, milli-cards), then cpu, memory, vram."""
        return (*(f"gpu:{flavor.name}" for flavor in self.flavors), CPU, MEMORY, VRAM)


__all__ = ["CARD", "NEVER", "Snapshot"]
