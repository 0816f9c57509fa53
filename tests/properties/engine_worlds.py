"""Random small clusters for the engine's properties, as plain data that can be built in any row order and stepped on."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from scheduling.engine.plan import Plan
from scheduling.engine.vocabulary import PreemptReason, ReservationKind
from tests.unit.engine.builders import World

TIERS = ("production", "development", "batch")


@dataclass(frozen=True)
class Job:
    id: str
    queue: str
    tier: str
    pods: int
    gpu: float
    priority: int
    age: int
    limit: int | None
    topology: tuple[str, str]
    minimum: int | None = None
    nodes: tuple[str, ...] = ()
    leaving_in: int | None = None
    vram: int = 0
    cards: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Scene:
    """`kept` are (job, nodes, pods) reservations that earlier plans made."""

    nodes: tuple[tuple[str, int, str], ...]
    cohorts: tuple[tuple[str, str | None, int | None], ...]
    queues: tuple[tuple[str, str, int, int | None, int | None], ...]
    running: tuple[Job, ...]
    pending: tuple[Job, ...]
    kept: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, str, int, int], ...]], ...] = ()
    order: tuple[int, ...] = field(default=())
    factor_pct: int = 100
    measured_pct: int | None = None
    samples: int = 0
    reserved: tuple[tuple[str, str, int, str, int], ...] = ()
    """(queue or "", tier or "", cards, kind, seconds since it began)."""
    priority_share_pct: int = 0

    def world(self, shuffle: Any = None) -> World:
        """The scene as a snapshot's builder; `shuffle` reorders every kind of row in place."""
        rows = {
            name: list(getattr(self, name)) for name in ("nodes", "cohorts", "queues", "running", "pending", "kept")
        }
        if shuffle is not None:
            for part in rows.values():
                shuffle(part)
        world = (
            World()
            .flavor("a100", vram=40)
            .pool(
                "main",
                factor_ppm=self.factor_pct * 10_000,
                samples_above=self.samples,
                priority_share_ppm=self.priority_share_pct * 10_000,
            )
        )
        measured = None if self.measured_pct is None else self.measured_pct / 100
        for name, gpus, rack in rows["nodes"]:
            world.node(name, gpus=gpus, labels={"rack": rack}, measured=measured)
        for name, parent, nominal in rows["cohorts"]:
            world.cohort(name, parent=parent, nominal=nominal)
        for tenant, cohort, nominal, borrowing, lending in rows["queues"]:
            world.tenant(tenant, cohort=cohort, nominal=nominal, borrowing=borrowing, lending=lending)
        for job in rows["running"]:
            world.running(
                job.id, job.queue, nodes=list(job.nodes), leaving_in=job.leaving_in, started=job.age,
                **_ask(job), **({"cards": job.cards} if job.cards else {}),
            )  # fmt: skip
        for job in rows["pending"]:
            world.pending(job.id, job.queue, **_ask(job))
        for place, (queue, tier, gpu, kind, ago) in enumerate(self.reserved):
            world.reserved(f"r{place}", queue=queue, tier=tier, gpu=gpu, kind=kind, ago=ago)
        for job, nodes, pods in rows["kept"]:
            world.kept(f"keep-{job}", job, nodes, pods)
        return world

    def after(self, plan: Plan) -> "Scene":
        """Once the plan was applied and everybody with a notice has left; evicted jobs are back in line."""
        evicted = {str(evict.job) for evict in plan.evicts}
        leaving = {job.id for job in self.running if job.leaving_in is not None}
        started = {
            str(start.job): (tuple(str(pod.node) for pod in start.pods), tuple(pod.cards for pod in start.pods))
            for start in plan.starts
        }
        by_id = {job.id: job for job in (*self.running, *self.pending)}
        running = [_resized(job, plan) for job in self.running if job.id not in evicted | leaving]
        running += [replace(by_id[job], nodes=nodes, cards=cards) for job, (nodes, cards) in started.items()]
        pending = [job for job in self.pending if job.id not in started]
        pending += [replace(by_id[job], nodes=(), cards=(), leaving_in=None) for job in sorted(evicted)]
        released = {release.reservation for release in plan.releases}
        kept = [row for row in self.kept if f"keep-{row[0]}" not in released]
        kept += [
            (
                str(row.job),
                tuple(str(node) for node in row.nodes),
                tuple((role, str(node), card, count) for role, node, card, count in row.pods),
            )
            for row in plan.reserves
            if row.kind == ReservationKind.KEPT_FOR_JOB
        ]
        relieved = any(evict.reason is PreemptReason.WATERMARK for evict in plan.evicts)
        samples = 0 if relieved else self.samples
        return replace(self, running=tuple(running), pending=tuple(pending), kept=tuple(kept), samples=samples)


def _resized(job: Job, plan: Plan) -> Job:
    """With the pods that came and without those that went; the highest indexes go, and new ones follow the last."""
    for resize in plan.resizes:
        if str(resize.job) == job.id:
            stay = [node for rank, node in enumerate(job.nodes) if rank not in resize.removed]
            return replace(job, nodes=(*stay, *(str(pod.node) for pod in resize.added)))
    return job


def _ask(job: Job) -> dict[str, Any]:
    return {
        "tier": job.tier, "replicas": job.pods, "gpu": job.gpu, "priority": job.priority, "submitted": job.age, "limit": job.limit,
        "topology": job.topology, "minimum": job.minimum, "vram": job.vram,
    }  # fmt: skip


@st.composite
def scenes(draw: st.DrawFn, *, gpus: tuple[float, ...] = (1, 1, 2, 4), sizes: bool = True) -> Scene:
    """2-5 nodes of 1-8 cards, 2-4 tenants in one or two cohorts, running jobs that fit, a handful waiting.

    `gpus` are asked a pod; with `sizes` some jobs may run with fewer pods.
    """
    nodes = tuple(
        (f"n{index}", draw(st.sampled_from((1, 2, 4, 8))), f"r{index % 2}") for index in range(draw(st.integers(2, 5)))
    )  # fmt: skip
    inner = draw(st.booleans())
    cohorts: list[tuple[str, str | None, int | None]] = [("root", None, draw(st.sampled_from((None, 2))))]
    if inner:
        cohorts.append(("inner", "root", None))
    queues = tuple(
        (
            f"t{index}", "inner" if inner and index % 2 else "root", draw(st.integers(0, 8)),
            draw(st.sampled_from((None, None, 0, 3))), draw(st.sampled_from((None, None, 0, 2))),
        )
        for index in range(draw(st.integers(2, 4)))
    )  # fmt: skip
    names = [queue[0] for queue in queues]
    jobs = [draw(_jobs(index, names, gpus, sizes=sizes)) for index in range(draw(st.integers(1, 14)))]
    split = draw(st.integers(0, len(jobs)))
    running, rest = _fill(nodes, jobs[:split])
    return Scene(
        nodes, tuple(cohorts), queues, running, (*rest, *jobs[split:]), factor_pct=draw(st.sampled_from((100, 100, 120, 150))),
        measured_pct=draw(st.sampled_from((None, None, 70, 95))), samples=draw(st.sampled_from((0, 1, 2, 5))),
        reserved=draw(_reservations(names)), priority_share_pct=draw(st.sampled_from((0, 0, 0, 30))),
    )  # fmt: skip


def _reservations(tenants: list[str]) -> st.SearchStrategy[tuple[tuple[str, str, int, str, int], ...]]:
    row = st.tuples(
        st.sampled_from(tenants), st.sampled_from(("", "", "production")), st.integers(1, 8), st.sampled_from(("manual", "forecast")),
        st.sampled_from((-60, 60, 1000)),
    )  # fmt: skip
    return st.one_of(st.just(()), st.just(()), st.lists(row, max_size=2).map(tuple))


def _jobs(index: int, tenants: list[str], gpus: tuple[float, ...], *, sizes: bool) -> st.SearchStrategy[Job]:
    return st.builds(
        Job,
        id=st.just(f"j{index:02d}"), queue=st.sampled_from(tenants), tier=st.sampled_from(TIERS), pods=st.sampled_from((1, 1, 1, 2, 3)),
        gpu=st.sampled_from(gpus), vram=st.sampled_from((0, 0, 10)) if min(gpus) < 1 else st.just(0), priority=st.sampled_from((100, 500, 950)), minimum=st.sampled_from((None, None, 1)) if sizes and min(gpus) >= 1 else st.none(), age=st.integers(1, 200_000),
        limit=st.sampled_from((None, None, 300, 250_000)),
        topology=st.sampled_from((("none", ""), ("none", ""), ("preferred", "rack"), ("required", "rack"), ("required", "host"))),
    )  # fmt: skip


def _fill(nodes: tuple[tuple[str, int, str], ...], jobs: list[Job]) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """Put jobs on cards as long as they fit; some have had notice."""
    cards = {(name, index): Card() for name, gpus, _ in nodes for index in range(gpus)}
    running, rest = [], []
    for place, job in enumerate(jobs):
        at: list[tuple[str, tuple[int, ...]]] = []
        for _ in range(job.pods):
            found = next((found for name, _, _ in nodes if (found := _room(cards, name, job))), None)
            if found is None:
                break
            for index in found[1]:
                cards[found[0], index].add(job)
            at.append(found)
        if len(at) < job.pods:
            for name, taken in at:
                for index in taken:
                    cards[name, index].jobs.remove(job)
            rest.append(job)
        else:
            leaving_in = 60 if place % 5 == 4 else None
            names, indexes = tuple(name for name, _ in at), tuple(taken for _, taken in at)
            running.append(replace(job, leaving_in=leaving_in, nodes=names, cards=indexes))
    return tuple(running), tuple(rest)


@dataclass
class Card:
    """Pods on one card: one whole, or shares of one tenant."""

    jobs: list[Job] = field(default_factory=list)

    def add(self, job: Job) -> None:
        self.jobs.append(job)

    def takes(self, job: Job) -> bool:
        if job.gpu >= 1 or not self.jobs:
            return not self.jobs
        together = [*self.jobs, job]
        return (
            all(other.gpu < 1 and other.queue == job.queue for other in self.jobs)
            and sum(round(each.gpu * 1000) for each in together) <= 1000
            and sum(each.vram or int(each.gpu * 40) for each in together) <= 40
        )


def _room(cards: dict[tuple[str, int], Card], name: str, job: Job) -> tuple[str, tuple[int, ...]] | None:
    count = max(1, int(job.gpu))
    free = [index for node, index in cards if node == name and cards[node, index].takes(job)][:count]
    return (name, tuple(free)) if len(free) == count else None
