"""What the demo organisation is, as data: nodes, flavors, tenants, queues, quota, people, list prices."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

CURRENCY: Final = "CNY"
BILLING_ZONE: Final = "Asia/Shanghai"
CLUSTER: Final = "berth-sim"
REAL_CLUSTER: Final = "berth-kube"
CARDS_A_NODE: Final = 8
NODE_CPU_CORES: Final = 128
NODE_MEMORY_GIB: Final = 1024


@dataclass(frozen=True, slots=True)
class FlavorSpec:
    """A kind of card, how it is handed out, and its list price per card-hour."""

    name: str
    pool: str
    card_model: str
    vram_gib: int
    price: Decimal
    weight: Decimal = Decimal(1)
    speed: Decimal = Decimal(1)
    mode: str = "any"
    mig_profile: str = ""
    resource: str = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """`count` like nodes named by `name` with the running number, `per_rack` to a rack. `cards_out` are out of service."""

    name: str
    count: int
    flavor: str
    rack: str = "r{rack}"
    per_rack: int = 8
    gpus: int = CARDS_A_NODE
    cards_out: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaSpec:
    """Cards of one flavor: nominal, borrowing and lending limits (None = no limit)."""

    flavor: str
    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class QueueSpec:
    name: str
    environment: str
    tier: str
    pool: str
    quota: tuple[QuotaSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantSpec:
    slug: str
    name: str
    cost_centre: str
    queues: tuple[QueueSpec, ...]
    cohort: str = ""
    isolation: str = "shared"
    service_tier: str = "standard"


@dataclass(frozen=True, slots=True)
class Organisation:
    """Everything that exists before the first job."""

    flavors: tuple[FlavorSpec, ...]
    nodes: tuple[NodeSpec, ...]
    tenants: tuple[TenantSpec, ...]
    cohorts: tuple[str, ...] = ()
    partitions: tuple[tuple[str, str], ...] = ()
    pools: tuple[str, ...] = field(default=("shared",))
    factors: tuple[tuple[str, Decimal], ...] = ()
    """Pools that are granted more than they have (SCH-15)."""


A100: Final = FlavorSpec("a100-80g", "shared", "NVIDIA A100 80GB", 80, Decimal("12.50"))
H800: Final = FlavorSpec(
    "h800-80g", "shared", "NVIDIA H800 80GB", 80, Decimal("21.00"), Decimal("1.6"), Decimal("1.8"), mode="whole"
)
A100_EXT: Final = FlavorSpec("a100-80g@ext-d", "ext-d", "NVIDIA A100 80GB", 80, Decimal("12.50"))

A100_WHOLE: Final = replace(A100, mode="whole")
A100_SHARED: Final = replace(A100, name="a100-80g-shared", mode="shared")
A100_MIG: Final = replace(
    A100,
    name="a100-80g-mig",
    vram_gib=10,
    price=Decimal("14.00"),
    speed=Decimal("0.15"),
    mode="mig",
    mig_profile="1g.10gb",
)
"""Seven instances a card; an hour of one is 2.00."""
ASCEND: Final = FlavorSpec(
    "ascend-910", "ascend", "Huawei Ascend 910", 32, Decimal("6.80"), Decimal("0.5"), Decimal("0.6"), mode="whole",
    resource="huawei.com/Ascend910",
)  # fmt: skip
"""In a pool of its own: nothing that was built for the other cards may land on it."""

NOTHING_OWN: Final = tuple(QuotaSpec(name, 0) for name in ("a100-80g", "h800-80g", "a100-80g-shared", "a100-80g-mig"))

ALGO_A: Final = TenantSpec(
    "algo-a",
    "Algorithm A: pre-training",
    "CC-1001",
    (
        QueueSpec(
            "prod",
            "prod",
            "production",
            "shared",
            (
                QuotaSpec("a100-80g", 128, borrowing=0),
                QuotaSpec("h800-80g", 8, borrowing=0),
                QuotaSpec("a100-80g-shared", 2),
                QuotaSpec("a100-80g-mig", 14, borrowing=0),
            ),
        ),
        QueueSpec(
            "dev",
            "dev",
            "development",
            "shared",
            NOTHING_OWN,
        ),
    ),
    cohort="research",
    service_tier="priority",
)
ALGO_B: Final = TenantSpec(
    "algo-b",
    "Algorithm B: fine-tuning",
    "CC-1002",
    (
        QueueSpec(
            "dev",
            "dev",
            "development",
            "shared",
            (
                QuotaSpec("a100-80g", 64, borrowing=64, lending=64),
                QuotaSpec("h800-80g", 8, borrowing=8),
                QuotaSpec("a100-80g-shared", 4),
                QuotaSpec("a100-80g-mig", 21, borrowing=14),
            ),
        ),
        QueueSpec(
            "prod",
            "prod",
            "production",
            "shared",
            NOTHING_OWN,
        ),
        QueueSpec("ascend", "dev", "development", "ascend", (QuotaSpec("ascend-910", 4),)),
    ),
    cohort="research",
)
DATA_C: Final = TenantSpec(
    "data-c",
    "Data C: preparation and evaluation",
    "CC-1003",
    (
        QueueSpec(
            "batch",
            "dev",
            "batch",
            "shared",
            (
                QuotaSpec("a100-80g", 64, borrowing=64),
                QuotaSpec("h800-80g", 0),
                QuotaSpec("a100-80g-shared", 2),
                QuotaSpec("a100-80g-mig", 14),
            ),
        ),
        QueueSpec(
            "prod",
            "prod",
            "production",
            "shared",
            NOTHING_OWN,
        ),
        QueueSpec("ascend", "dev", "batch", "ascend", (QuotaSpec("ascend-910", 4),)),
    ),
    cohort="research",
)
EXT_D: Final = TenantSpec(
    "ext-d",
    "External customer D",
    "EXT-2001",
    (
        QueueSpec("prod", "prod", "production", "ext-d", (QuotaSpec("a100-80g@ext-d", 16, borrowing=0),)),
        QueueSpec("dev", "dev", "development", "ext-d", (QuotaSpec("a100-80g@ext-d", 0),)),
    ),
    isolation="partition",
)

FULL: Final = Organisation(
    flavors=(A100_WHOLE, A100_SHARED, A100_MIG, H800, A100_EXT, ASCEND),
    nodes=(
        NodeSpec("n{i:03d}", 32, "a100-80g"),
        NodeSpec("h{i:03d}", 2, "h800-80g", rack="r4"),
        NodeSpec("m{i:03d}", 1, "a100-80g-mig", rack="r4"),
        NodeSpec("s{i:03d}", 1, "a100-80g-shared", rack="r4"),
        NodeSpec("d{i:03d}", 1, "ascend-910", rack="r6"),
        NodeSpec("x{i:03d}", 2, "a100-80g@ext-d", rack="r5"),
    ),
    tenants=(ALGO_A, ALGO_B, DATA_C, EXT_D),
    cohorts=("research",),
    partitions=(("ext-d", "ext-d"),),
    pools=("shared", "ascend"),
    factors=(("shared", Decimal("1.2")),),
)
"""The demo: three teams that share 256 A100 in one cohort, and an outside customer on its own partition."""


def _small(slug: str, nominal: int | None) -> TenantSpec:
    """One queue for everybody. `nominal` None: no quota at all, so that only cards can be short."""
    quota = () if nominal is None else (QuotaSpec("a100-80g", nominal),)
    return TenantSpec(slug, slug, "", (QueueSpec("main", "dev", "development", "shared", quota),), cohort="research")


LENDING: Final = Organisation(
    (A100,), (NodeSpec("node{n}", 2, "a100-80g"),), (_small("lender", 8), _small("borrower", 8)), ("research",)
)
"""Two tenants of 8 + 8 cards on two nodes, one cohort."""

GANG: Final = Organisation((A100,), (NodeSpec("node{n}", 4, "a100-80g"),), (_small("team", None),), ("research",))
"""One tenant without a quota on four nodes; one node is half used when the scenario opens."""

PLACEMENT: Final = Organisation(
    (A100,),
    (NodeSpec("node{n}", 4, "a100-80g", cards_out=((2, (6, 7)), (3, (2, 3)))),),
    (_small("a", 16), _small("b", 8), _small("c", 8)),
    ("research",),
)
"""Four nodes; two cards on node2 and two on node3 are out of service, so that 4 on node3 and 8 on node4 are free."""

EMPTY: Final = Organisation((A100,), (NodeSpec("node{n}", 4, "a100-80g"),), (_small("team", 32),), ("research",))
"""A quiet cluster with one tenant and no jobs."""

SCENARIOS: Final = {"empty": EMPTY, "lending": LENDING, "gang": GANG, "placement": PLACEMENT}
