"""Clusters small enough to try everything on: 1-3 nodes of 1-4 whole cards, 2-3 tenants of one queue each, few runs and waiting jobs."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from scheduling.engine.units import ONE_PPM
from tests.unit.engine.builders import Role, World

BATCH, DEVELOPMENT, PRODUCTION = range(3)
TIERS = ("batch", "development", "production")
ROLES = ("worker", "second")


@dataclass(frozen=True)
class Tenant:
    """Whole cards; None = no limit. `cohort`: it lends to the others and borrows from them. `share_ppm`: its queue's most of the pool."""

    name: str
    nominal: int
    borrowing: int | None = None
    lending: int | None = None
    weight: float = 1
    cohort: bool = True
    share_ppm: int | None = None


@dataclass(frozen=True)
class Work:
    """A job, running where it has `nodes`. `roles` are (pods, cards a pod); times in seconds, `started` and `saved` before now."""

    name: str
    tenant: str
    tier: int
    roles: tuple[tuple[int, int], ...]
    priority: int = 500
    submitted: int = 60
    limit: int | None = None
    together: str = ""
    """Level of a required topology: `host`, `rack`, or none."""
    nodes: tuple[str, ...] = ()
    """By pod, in the roles' order."""
    started: int = 3000
    saved: int | None = None
    leaving: int | None = None

    @property
    def pods(self) -> tuple[int, ...]:
        """Cards of each."""
        return tuple(cards for count, cards in self.roles for _ in range(count))

    @property
    def cards(self) -> int:
        return sum(self.pods)

    @property
    def lost(self) -> int:
        """Card-seconds that leaving would throw away (SCH-17)."""
        return self.cards * (self.started if self.saved is None else min(self.saved, self.started))


@dataclass(frozen=True)
class Tiny:
    """A scene. `racks` is the rack of each node, `kept` the nodes by pod of places that earlier cycles kept, `pool_nominal` the cohort's own."""

    nodes: dict[str, int]
    racks: dict[str, str]
    tenants: dict[str, Tenant]
    runs: tuple[Work, ...]
    jobs: tuple[Work, ...]
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    factor_ppm: int = ONE_PPM
    pool_nominal: int = 0

    def world(self) -> World:
        world = World().pool("main", factor_ppm=self.factor_ppm).cohort("root", nominal=self.pool_nominal)
        for name, cards in self.nodes.items():
            world.node(name, gpus=cards, labels={"rack": self.racks[name]})
        for tenant in self.tenants.values():
            world.tenant(tenant.name, cohort="root" if tenant.cohort else None, weight=tenant.weight, queues=())
            world.queue(
                f"{tenant.name}/main", nominal=tenant.nominal, borrowing=tenant.borrowing, lending=tenant.lending,
                fields={"max_pool_share_ppm": tenant.share_ppm},
            )  # fmt: skip
        for run in self.runs:
            times: dict[str, Any] = {"started": run.started, "leaving_in": run.leaving}
            saved: dict[str, Any] = {} if run.saved is None else {"checkpoint": run.saved}
            world.running(run.name, run.tenant, **_asked(run), **times, **saved)
        for job in self.jobs:
            world.pending(job.name, job.tenant, **_asked(job), submitted=job.submitted)
            if job.name in self.kept:
                world.kept(
                    f"k-{job.name}", job.name, sorted(set(self.kept[job.name])), _seats(job, self.kept[job.name])
                )
        return world


def _asked(work: Work) -> dict[str, Any]:
    roles, at = [], 0
    for name, (count, cards) in zip(ROLES, work.roles, strict=False):
        roles.append(Role(name, replicas=count, gpu=cards, nodes=work.nodes[at : at + count]))
        at += count
    topology = ("required", work.together) if work.together else ("none", "")
    return {
        "tier": TIERS[work.tier],
        "priority": work.priority,
        "limit": work.limit,
        "roles": roles,
        "topology": topology,
    }


def _seats(job: Work, nodes: tuple[str, ...]) -> list[tuple[str, str, int, int]]:
    """(role, node, card, pods) of a kept place."""
    roles = [name for name, (count, _) in zip(ROLES, job.roles, strict=False) for _ in range(count)]
    pairs = list(zip(roles, nodes, strict=True))
    return [(role, node, 0, pairs.count((role, node))) for role, node in sorted(set(pairs))]


def draw_tiny(seed: int) -> Tiny:
    """The scene of a number, with 2-8 waiting jobs, and in some a place that an earlier cycle kept for one of them.

    In every third scene cards are plenty and quota is short.
    """
    random = Random(seed)
    scene = _ground(random, "", random.randint(0, 5))
    if random.random() < 0.33:
        nodes, few = dict.fromkeys(scene.nodes, 4), {name: random.randint(0, 4) for name in scene.tenants}
        tenants = {name: replace(each, nominal=few[name]) for name, each in scene.tenants.items()}
        scene = replace(scene, nodes=nodes, tenants=tenants, runs=scene.runs[:1])
    jobs = tuple(_work(random, f"j{place}", sorted(scene.tenants)) for place in range(random.randint(2, 8)))
    scene = replace(scene, jobs=jobs)
    return replace(scene, kept=_kept(random, scene))


def draw_claim(seed: int) -> Tiny:
    """One job that waits, others on most cards, and in many scenes all of one rank."""
    random = Random(seed)
    scene = _ground(random, "a", random.randint(1, 8))
    tenants = {**scene.tenants, "a": replace(scene.tenants["a"], nominal=random.randint(1, 6))}
    job = replace(_work(random, "j0", ["a"]), tier=random.choice((BATCH,) + (DEVELOPMENT, PRODUCTION) * 5))
    scene = replace(scene, tenants=tenants, jobs=(job,))
    if random.random() < 0.5:
        alike = {
            name: getattr(_running(random, "", ["b"]), name)
            for name in ("tenant", "tier", "priority", "started", "saved")
        }
        scene = replace(scene, runs=tuple(replace(run, **alike) for run in scene.runs))
    return scene


def _ground(random: Random, few: str, most: int) -> Tiny:
    """All but what waits: `most` runs, those that find cards, of the tenant `few` less than of the others."""
    nodes = {f"n{place}": random.choice((1, 2, 3, 4, 4)) for place in range(random.randint(1, 3))}
    racks = {name: random.choice(("r0", "r1")) for name in nodes}
    tenants = {name: _tenant(random, name) for name in ("a", "b", "c")[: random.choice((2, 2, 3))]}
    names = [name for name in tenants for _ in range(1 if name == few else 4)]
    free, runs = dict(nodes), list[Work]()
    for place in range(most):
        run = _seated(_running(random, f"r{place}", names), free, random)
        if run is not None:
            runs.append(run)
            for node, cards in zip(run.nodes, run.pods, strict=True):
                free[node] -= cards
    factor = random.choice((ONE_PPM,) * 4 + (1_500_000,))
    return Tiny(nodes, racks, tenants, tuple(runs), (), factor_ppm=factor, pool_nominal=random.choice((0, 0, 2)))


def _tenant(random: Random, name: str) -> Tenant:
    return Tenant(
        name, random.choice((0, 1, 2, 3, 4, 6)), borrowing=random.choice((None, None, None, 0, 2)), lending=random.choice((None, None, None, 0, 2)),
        weight=random.choice((1, 1, 1, 2, 0.5, 0)), cohort=random.random() < 0.9, share_ppm=random.choice((None,) * 7 + (500_000,)),
    )  # fmt: skip


def _work(random: Random, name: str, tenants: list[str]) -> Work:
    roles = [(random.choice((1, 1, 1, 1, 2, 2, 3)), random.choice((1, 1, 1, 2, 2, 3, 4)))]
    if random.random() < 0.1:
        roles.append((random.choice((1, 2)), random.choice((1, 2))))
    return Work(
        name, random.choice(tenants), random.choice((0, 1, 1, 2)), tuple(roles), random.choice((100, 500, 500, 950)),
        submitted=random.randint(1, 3000), limit=random.choice((None, None, 200, 2000)), together=random.choice(("",) * 6 + ("host", "rack")),
    )  # fmt: skip


def _running(random: Random, name: str, tenants: list[str]) -> Work:
    work, started = _work(random, name, tenants), random.choice((60, 900, 900, 3000))
    limit = None if work.limit is None else started + work.limit
    saved, leaving = random.choice((None, None, 0, 50)), random.choice((None,) * 14 + (20, 250))
    return replace(work, together="", started=started, saved=saved, leaving=leaving, limit=limit)


def _seated(work: Work, free: dict[str, int], random: Random) -> Work | None:
    """On cards that are free, wherever; None where the pods find none."""
    left, nodes = dict(free), list[str]()
    for cards in work.pods:
        able = [name for name, count in left.items() if count >= cards]
        if not able:
            return None
        nodes.append(random.choice(able))
        left[nodes[-1]] -= cards
    return replace(work, nodes=tuple(nodes))


def _kept(random: Random, scene: Tiny) -> dict[str, tuple[str, ...]]:
    """A place for one job in some scenes, wherever its pods could stand if nobody were there who leaves."""
    free = dict(scene.nodes)
    for run in scene.runs:
        if run.leaving is None:
            for node, cards in zip(run.nodes, run.pods, strict=True):
                free[node] -= cards
    job = random.choice(scene.jobs)
    seated = _seated(job, free, random) if random.random() < 0.2 else None
    return {} if seated is None or job.together else {job.name: seated.nodes}
