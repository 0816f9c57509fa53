"""Pools, flavors, nodes and quota trees at random, as rows of a `World`, with the books of what running jobs take of the nodes."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from scheduling.engine.instances import instances
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import NodeState
from tests.unit.engine.assembly import NOW_MS

HOUR_MS = 3_600_000
MODES = ("any", "any", "any", "whole", "shared", "mig:1g.10gb", "mig:3g.40gb")
STATES = (NodeState.READY,) * 8 + (NodeState.CORDONED, NodeState.NOT_READY, NodeState.LOST)
WEIGHTS = (1, 1, 1, 2, 0.5, 0)


@dataclass(frozen=True)
class Row:
    """A call of the `World` builder: `World.<call>(*args, **fields)`."""

    call: str
    args: tuple[Any, ...]
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class Card:
    """Pods on one card: one whole one, shares of one tenant, or MIG instances."""

    instances: int = 0
    shares_m: int = 0
    vram: int = 0
    tenant: str = ""
    whole: bool = False

    @property
    def unused(self) -> bool:
        return not (self.instances or self.shares_m or self.whole)


@dataclass
class Spot:
    """A node: what is left of it while jobs are put on it."""

    name: str
    pool: str
    flavor: str
    cpu: int
    memory: int
    cards: dict[int, Card]


@dataclass
class Kind:
    """A flavor: how its cards are handed out. `per_card` instances of MIG, 1 of any other."""

    name: str
    pool: str
    mode: str
    vram: int
    per_card: int


@dataclass
class Ground:
    """What jobs are drawn for."""

    rows: list[Row]
    kinds: list[Kind]
    spots: list[Spot]
    queues: dict[str, str]
    """Pool by queue path."""
    levels: tuple[str, ...]
    with_cpu: bool


def draw_ground(random: Random) -> Ground:
    """One or two pools of one or two flavors each, 2-6 nodes, cohorts up to four deep, 2-5 tenants of one or two queues."""
    pools = ["main", "other"][: random.choice((1, 1, 2))]
    rows = [Row("pool", (pool,), _pool(random)) for pool in pools]
    kinds = [_kind(random, name, pool) for pool in pools for name in _names(random, pool)]
    rows += [
        Row("flavor", (each.name,), {
            "pool": each.pool, "vram": each.vram, "weight": random.choice((1, 1, 2, 0.5)),
            **({"mig": each.mode.partition(":")[2]} if each.mode.startswith("mig") else {"mode": each.mode}),
        })
        for each in kinds
    ]  # fmt: skip
    ground = Ground(rows, kinds, [], {}, random.choice(((), ("rack",), ("zone", "rack"))), random.random() < 0.5)
    for index in range(random.randint(2, 6)):
        _draw_node(random, ground, f"n{index}")
    cohorts = _draw_cohorts(random, ground)
    for index in range(random.randint(2, 5)):
        _draw_tenant(random, ground, f"t{index}", cohorts)
    return ground


def _names(random: Random, pool: str) -> list[str]:
    names = ["a100", "b200"] if pool == "main" else ["c300", "d400"]
    return names[: random.choice((1, 1, 2))]


def _pool(random: Random) -> dict[str, Any]:
    hour = (NOW_MS - HOUR_MS, NOW_MS + HOUR_MS)
    return {
        "factor_ppm": random.choice((ONE_PPM, ONE_PPM, 1_200_000, 1_500_000)),
        "samples_above": random.choice((0, 0, 1, 2, 5)),
        "relieved_ms": random.choice((-1, -1, -1, NOW_MS - 60_000, NOW_MS - HOUR_MS)),
        "priority_share_ppm": random.choice((0, 0, 0, 300_000)),
        "maintenance": random.choice(((),) * 30 + ((hour,),)),
        "draining": random.random() < 0.02,
        "reachable": random.random() < 0.98,
        "cpu_headroom_m": random.choice((0, 0, 0, 2000)),
    }


def _kind(random: Random, name: str, pool: str) -> Kind:
    mode = random.choice(MODES)
    per_card = instances(mode.partition(":")[2]) if mode.startswith("mig") else 1
    return Kind(name, pool, mode, random.choice((0, 40)), per_card)


def _draw_node(random: Random, ground: Ground, name: str) -> None:
    kind = random.choice(ground.kinds)
    gpus = random.choice((1, 2) if kind.per_card > 1 else (1, 2, 4, 8)) if random.random() < 0.92 else 0
    state = random.choice(STATES)
    bad = [index for index in range(gpus) if random.random() < 0.06]
    size = 4 * gpus + 8 if ground.with_cpu else 0
    labels = {level: f"{level[0]}{random.randint(0, 1)}" for level in ground.levels if random.random() < 0.9}
    ground.rows.append(
        Row("node", (name,), {
            "gpus": gpus, "flavor": kind.name, "pool": kind.pool, "state": state, "bad": bad, "labels": labels,
            "cpu": size, "memory": 2 * size, "max_pods": random.choice((-1, -1, -1, 4)),
            "measured": random.choice((None, None, 0.7, 0.95)),
        })
    )  # fmt: skip
    if state != NodeState.LOST:
        cards = {index: Card() for index in range(gpus) if index not in bad}
        ground.spots.append(Spot(name, kind.pool, kind.name, size, 2 * size, cards))


def _draw_cohorts(random: Random, ground: Ground) -> list[str]:
    """A tree of cohorts, each with limits of its own."""
    names = ["root"]
    ground.rows.append(Row("cohort", ("root",), _quota(random, ground, ground.kinds, most=8, likely=0.5)))
    for index in range(random.choice((0, 1, 2, 3))):
        parent, name = random.choice(names), f"co{index}"
        fields = {"parent": parent, "weight": random.choice(WEIGHTS)}
        ground.rows.append(
            Row("cohort", (name,), {**fields, **_quota(random, ground, ground.kinds, most=6, likely=0.5)})
        )
        names.append(name)
    return names


def _draw_tenant(random: Random, ground: Ground, name: str, cohorts: list[str]) -> None:
    cohort = random.choice((*cohorts, *cohorts, *cohorts, None))
    paths = [f"{name}/{queue}" for queue in ("main", "side")[: random.choice((1, 1, 2))]]
    ground.rows.append(Row("tenant", (name,), {"cohort": cohort, "weight": random.choice(WEIGHTS), "queues": ()}))
    priority = random.random() < 0.2
    for path in paths:
        pool = random.choice(ground.kinds).pool
        kinds = [kind for kind in ground.kinds if kind.pool == pool]
        fields = {
            "open": random.random() < 0.98, "draining": random.random() < 0.02, "priority_tenant": priority,
            "strict_expiry": random.random() < 0.2, "max_pool_share_ppm": random.choice((None,) * 9 + (400_000,)),
        }  # fmt: skip
        quota = _quota(random, ground, kinds, most=8, likely=1)
        weight = random.choice(WEIGHTS)
        ground.rows.append(Row("queue", (path,), {"pool": pool, "weight": weight, "fields": fields, **quota}))
        ground.queues[path] = pool


def _quota(random: Random, ground: Ground, kinds: list[Kind], *, most: int, likely: float) -> dict[str, Any]:
    """Lines of cards by flavor; limits are there in a third of them, of CPU in few."""
    nominal = {kind.name: random.randint(0, most * min(2, kind.per_card)) for kind in kinds if random.random() < likely}
    quota: dict[str, Any] = {"nominal": nominal}
    for limit in ("borrowing", "lending"):
        quota[limit] = {name: random.randint(0, 4) for name in nominal if random.random() < 0.33}
    if ground.with_cpu and random.random() < 0.25 * likely:
        quota["cpu"] = (random.randint(0, 24), *(random.choice((None, None, 4)) for _ in range(2)))
    return quota
