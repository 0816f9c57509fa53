"""Turns what a test's `World` collected into the engine's sorted tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scheduling.engine.snapshot import (
    Cards,
    Eviction,
    Loan,
    LoanSide,
    Nodes,
    Pending,
    Pods,
    Queue,
    Reservation,
    RoleAsk,
    Running,
    Shape,
    Snapshot,
    TreeNode,
)
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import ReservationKind, Tier, TopologyMode

if TYPE_CHECKING:
    from tests.unit.engine.builders import World

NOW_S = 1_000_000
NOW_MS = NOW_S * 1000
GIB = 1024
TIERS = {tier.label: tier for tier in Tier}


@dataclass
class Role:
    """One role of a job, as people write it."""

    name: str = "worker"
    replicas: int = 1
    gpu: float = 0
    cpu: float = 0
    memory: float = 0
    flavors: Sequence[str] = ()
    in_gang: bool = True
    minimum: int | None = None
    nodes: Sequence[str] = ()
    vram: float = 0
    cards: Sequence[int | Sequence[int]] = ()


@dataclass
class Job:
    id: str
    queue: str
    tier: str
    priority: int
    submitted: float
    roles: list[Role]
    topology: tuple[str, str]
    limit: float | None
    elastic: tuple[int, float]
    extra: dict[str, Any] = field(default_factory=dict)


class Assembly:
    """Turns a world's names into sorted tables."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.flavor_names = sorted(world.flavors)
        self.pool_names = sorted(world.pools)
        self.node_names = sorted(world.nodes_rows)
        self.tree_names = sorted(world.tree_rows)
        self.queue_names = sorted(world.queues_rows)
        self.shapes: list[Shape] = []
        self.shape_of: dict[Shape, int] = {}
        self.running = [world.running_rows[job] for job in sorted(world.running_rows)]
        self.pending = [world.pending_rows[job] for job in sorted(world.pending_rows)]

    def snapshot(self) -> Snapshot:
        pods = self._pods()
        running, pending = self._running(), self._pending()
        return Snapshot(
            flavors=tuple(
                replace(self.world.flavors[name], pool=self.pool_names.index(self.world.pool_of_flavor[name]))
                for name in self.flavor_names
            ),
            pools=tuple(self.world.pools[name] for name in self.pool_names),
            nodes=self._nodes(), cards=self._cards(), tree=self._tree(), queues=self._queues(), shapes=tuple(self.shapes),
            pending=pending, running=running, pods=pods, loans=self._loans(), reservations=self._reservations(),
            evictions=tuple(
                Eviction(self.queue_names.index(evictor), self.queue_names.index(victim), job, NOW_MS - int(ago * 1000))
                for evictor, victim, job, ago in self.world.evictions_rows
            ),
            holds=("", *sorted({job.extra["hold"] for job in self.pending if "hold" in job.extra})),
        )  # fmt: skip

    def _nodes(self) -> Nodes:
        rows = [self.world.nodes_rows[name] for name in self.node_names]
        levels = tuple(level for level in ("zone", "block", "rack") if any(level in row["labels"] for row in rows))
        domains = tuple(
            tuple(sorted({row["labels"][level] for row in rows if level in row["labels"]})) for level in levels
        )
        domain = [
            [names.index(row["labels"][level]) if level in row["labels"] else -1 for row in rows]
            for level, names in zip(levels, domains, strict=True)
        ]
        return Nodes(
            ids=tuple(self.node_names), names=tuple(self.node_names),
            pool=_i32([self.pool_names.index(row["pool"]) for row in rows]),
            flavor=_i32([self.flavor_names.index(row["flavor"]) if row["flavor"] else -1 for row in rows]),
            cpu_m=_i64([int(row["cpu"] * 1000) for row in rows]), memory_mib=_i64([int(row["memory"] * GIB) for row in rows]),
            max_pods=_i32([row["max_pods"] for row in rows]), state=_i8([row["state"] for row in rows]), levels=levels, domains=domains,
            domain=np.asarray(domain, dtype=np.int32).reshape(len(levels), len(rows)), measured_ppm=_i64([row["measured"] for row in rows]),
        )  # fmt: skip

    def _cards(self) -> Cards:
        rows = [
            (place, index, self.flavor_names.index(row["flavor"]), index not in row["bad"])
            for place, row in enumerate(self.world.nodes_rows[name] for name in self.node_names)
            for index in range(row["gpus"])
        ]
        node, index, flavor, healthy = zip(*rows, strict=True) if rows else ((), (), (), ())
        return Cards(_i32(node), _i32(index), _i32(flavor), np.asarray(healthy, dtype=np.bool_))

    def _tree(self) -> tuple[TreeNode, ...]:
        nodes = []
        for name in self.tree_names:
            row = self.world.tree_rows[name]
            parent = self.tree_names.index(row["parent"]) if row["parent"] else -1
            weight = int(row["weight"] * ONE_PPM)
            nodes.append(
                TreeNode(
                    id=name,
                    name=name.split("/")[-1],
                    kind=row["kind"],
                    parent=parent,
                    nominal=self._line(row["quota"], "nominal", 0),
                    borrowing=self._line(row["quota"], "borrowing", 1),
                    lending=self._line(row["quota"], "lending", 2),
                    weight_ppm=weight,
                    effective_weight_ppm=weight,
                )
            )
        return tuple(nodes)

    def _line(self, quota: Mapping[str, Any], kind: str, place: int) -> tuple[int | None, ...]:
        given = quota.get(kind)
        cards: Mapping[str, Any] = given if isinstance(given, Mapping) else {next(iter(self.world.flavors)): given}
        amounts: list[int | None] = [
            None if cards.get(name) is None else int(cards[name] * CARD) for name in self.flavor_names
        ]
        for resource, unit in (("cpu", 1000), ("memory", GIB), ("vram", GIB)):
            triple = quota.get(resource)
            value = triple[place] if isinstance(triple, tuple) else (triple if place == 0 else None)
            amounts.append(None if value is None else int(value * unit))
        return tuple(amounts)

    def _queues(self) -> tuple[Queue, ...]:
        queues = []
        for path in self.queue_names:
            fields = dict(self.world.queues_rows[path])
            tenant, name = path.split("/")
            pool = self.pool_names.index(fields.pop("pool"))
            cohort = self.world.tree_rows[tenant]["parent"] or ""
            queues.append(
                Queue(
                    id=path,
                    name=name,
                    tenant=tenant,
                    node=self.tree_names.index(path),
                    pool=pool,
                    cohort=cohort,
                    **fields,
                )
            )
        return tuple(queues)

    def _shape(self, job: Job) -> int:
        roles = tuple(
            RoleAsk(
                name=role.name,
                replicas=role.replicas,
                minimum=role.replicas if role.minimum is None else role.minimum,
                cards_m=round(role.gpu * CARD),
                cpu_m=int(role.cpu * 1000),
                memory_mib=int(role.memory * GIB),
                vram_mib=int(role.vram * GIB),
                in_gang=role.in_gang,
                flavors=tuple(self.flavor_names.index(name) for name in (role.flavors or list(self.world.flavors)))
                if role.gpu
                else (),
            )
            for role in job.roles
        )
        step, cooldown = job.elastic
        shape = Shape(
            roles=roles, topology=TopologyMode(job.topology[0]), level=job.topology[1], elastic_step=step,
            elastic_cooldown_ms=int(cooldown * 1000),
        )  # fmt: skip
        if shape not in self.shape_of:
            self.shape_of[shape] = len(self.shapes)
            self.shapes.append(shape)
        return self.shape_of[shape]

    def _queue(self, job: Job) -> int:
        return self.queue_names.index(job.queue) if job.queue in self.queue_names else -1

    def _pending(self) -> Pending:
        jobs = self.pending
        holds = ["", *sorted({job.extra["hold"] for job in jobs if "hold" in job.extra})]
        return Pending(
            ids=tuple(job.id for job in jobs), queue=_i32([self._queue(job) for job in jobs]),
            shape=_i32([self._shape(job) for job in jobs]), tier=_i8([TIERS[job.tier] for job in jobs]),
            priority=_i32([job.priority for job in jobs]), submit_ms=_i64([_ago(job.submitted) for job in jobs]),
            eligible_ms=_i64([NOW_MS + int(job.extra.get("eligible_in", -job.submitted) * 1000) for job in jobs]),
            limit_ms=_i64([_length(job.limit) for job in jobs]), expected_ms=_i64([_length(job.limit) for job in jobs]),
            deadline_ms=_i64([NEVER] * len(jobs)), hold=_i8([holds.index(job.extra.get("hold", "")) for job in jobs]),
            backoff_ms=_i64([NOW_MS + int(job.extra["backoff_in"] * 1000) if "backoff_in" in job.extra else 0 for job in jobs]),
            attained_card_ms=_attained(jobs), checkpoints=_writes(jobs),
        )  # fmt: skip

    def _running(self) -> Running:
        jobs = self.running
        soon = [_in(job.extra.get("loan_expires_in")) for job in jobs]
        return Running(
            ids=tuple(job.id for job in jobs), runs=tuple(f"{job.id}-1" for job in jobs), queue=_i32([self._queue(job) for job in jobs]),
            shape=_i32([self._shape(job) for job in jobs]), tier=_i8([TIERS[job.tier] for job in jobs]),
            priority=_i32([job.priority for job in jobs]), submit_ms=_i64([_ago(job.submitted) for job in jobs]),
            start_ms=_i64([_ago(job.extra.get("started", 3600)) for job in jobs]), limit_ms=_i64([_length(job.limit) for job in jobs]),
            leaving_ms=_i64([_in(job.extra.get("leaving_in")) for job in jobs]),
            last_checkpoint_ms=_i64([_ago(job.extra["checkpoint"]) if "checkpoint" in job.extra else -1 for job in jobs]),
            checkpoints=_writes(jobs), loan_expires_ms=_i64(soon),
            last_resize_ms=_i64([_ago(job.extra["resized"]) if "resized" in job.extra else 0 for job in jobs]), attained_card_ms=_attained(jobs),
            split_known=np.asarray(["borrowed" in job.extra for job in jobs], dtype=np.bool_),
            had_roles={row: frozenset(job.extra["had"]) for row, job in enumerate(jobs) if "had" in job.extra},
            wanted={row: job.extra["wanted"] for row, job in enumerate(jobs) if "wanted" in job.extra},
        )  # fmt: skip

    def _pods(self) -> Pods:
        rows: list[tuple[Any, ...]] = []
        indexes: list[tuple[int, ...]] = []
        for run, job in enumerate(self.running):
            borrowed = int(job.extra.get("borrowed", 0) * CARD)
            total = sum(round(role.gpu * CARD) * role.replicas for role in job.roles)
            own = total - borrowed
            for place, role in enumerate(job.roles):
                cards = round(role.gpu * CARD)
                names = role.flavors or list(self.world.flavors)
                flavor = self.flavor_names.index(names[0]) if cards else -1
                vram = int(role.vram * GIB) or cards * self.world.flavors[names[0]].vram_mib // CARD if cards else 0
                for rank, node in enumerate(role.nodes):
                    given = role.cards[rank] if role.cards else ()
                    indexes.append((given,) if isinstance(given, int) else tuple(given))
                    mine = min(cards, own)
                    own -= mine
                    rows.append((
                        run, place, rank, self.node_names.index(node), flavor, cards, cards - mine,
                        int(role.cpu * 1000), int(role.memory * GIB), vram,
                    ))  # fmt: skip
        columns = list(zip(*rows, strict=True)) if rows else [()] * 10
        small, large = [_i32(column) for column in columns[:5]], [_i64(column) for column in columns[5:]]
        in_order: list[Any] = [*small, *large, tuple(indexes)]
        return Pods(*in_order)

    def _loans(self) -> tuple[Loan, ...]:
        ids = [job.id for job in self.running]
        return tuple(
            Loan(
                id=row["id"],
                run=ids.index(row["run"]),
                flavor=self.flavor_names.index(row["flavor"]),
                amount_m=int(row["amount"] * CARD),
                opened_ms=NOW_MS - 3_600_000,
                expires_ms=NOW_MS + int(row["expires_in"] * 1000),
                sides=tuple(
                    LoanSide(self.tree_names.index(name), int(part * CARD))
                    for name, part in sorted(row["sides"].items())
                ),
            )
            for row in sorted(self.world.loans_rows, key=lambda each: each["id"])
        )

    def _reservations(self) -> tuple[Reservation, ...]:
        return tuple(sorted((*self._kept(), *self._reserved()), key=lambda row: str(row.id)))

    def _reserved(self) -> list[Reservation]:
        return [
            Reservation(
                id=name,
                kind=ReservationKind(kind),
                from_ms=NOW_MS - int(ago * 1000),
                to_ms=NOW_MS + int(lasts * 1000),
                flavor=self.flavor_names.index(flavor) if gpu else -1,
                amount_m=int(gpu * CARD),
                nodes=tuple(sorted(self.node_names.index(node) for node in nodes)),
                queue=self.queue_names.index(queue if "/" in queue else f"{queue}/main") if queue else -1,
                tier=Tier[tier.upper()] if tier else -1,
            )
            for name, queue, tier, gpu, nodes, kind, ago, lasts, flavor in self.world.reserved_rows
        ]

    def _kept(self) -> tuple[Reservation, ...]:
        return tuple(
            Reservation(
                id=name,
                kind=ReservationKind.KEPT_FOR_JOB,
                from_ms=NOW_MS,
                to_ms=NEVER,
                job=job,
                nodes=tuple(self.node_names.index(node) for node in sorted(nodes)),
                pods=tuple((role, self.node_names.index(node), card, count) for role, node, card, count in pods),
            )
            for name, job, nodes, pods in sorted(self.world.kept_rows)
        )


def _i8(values: Any) -> Any:
    return np.asarray(list(values), dtype=np.int8)


def _i32(values: Any) -> Any:
    return np.asarray(list(values), dtype=np.int32)


def _i64(values: Any) -> Any:
    return np.asarray(list(values), dtype=np.int64)


def _writes(jobs: Sequence[Job]) -> Any:
    return np.asarray(["checkpoint" in job.extra for job in jobs], dtype=np.bool_)


def _attained(jobs: Sequence[Job]) -> Any:
    return _i64([int(job.extra.get("attained", 0) * 3_600_000) for job in jobs])


def _ago(seconds: float) -> int:
    return NOW_MS - int(seconds * 1000)


def _in(seconds: float | None) -> int:
    return NEVER if seconds is None else NOW_MS + int(seconds * 1000)


def _length(seconds: float | None) -> int:
    return NEVER if seconds is None else int(seconds * 1000)
