"""A small fluent builder of snapshots, for tests of the engine and of whatever runs it.

    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r1", "b", gpu=8, nodes=["n000"]).pending("j1", "a", gpu=8)
    plan = world.plan()

Cards, CPU cores, GiB and seconds go in as people say them; the snapshot has the engine's units. Ids are names. The instant `now`
is `NOW_S` seconds; `submitted`, `started` and the like are seconds before it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from scheduling.engine.cycle import run_cycle
from scheduling.engine.plan import Plan, Start, Wait
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Flavor, Pool, Snapshot
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import CardMode, NodeState
from tests.unit.engine.assembly import GIB, NOW_MS, Assembly, Job, Role

__all__ = ["NOW_MS", "Role", "World", "codes", "evicted", "start_of", "started", "wait_of"]


class World:
    """Collects rows in any order; `snapshot()` sorts them by id and turns names into indexes."""

    def __init__(
        self,
        nodes: int = 0,
        *,
        gpus: int = 8,
        cpu: float = 0,
        memory: float = 0,
        flavor: str = "a100",
        per_rack: int = 0,
        measured: float | None = None,
    ) -> None:
        self.flavors: dict[str, Flavor] = {}
        self.pool_of_flavor: dict[str, str] = {}
        self.pools: dict[str, Pool] = {"main": Pool(id="main", name="main")}
        self.nodes_rows: dict[str, dict[str, Any]] = {}
        self.tree_rows: dict[str, dict[str, Any]] = {}
        self.queues_rows: dict[str, dict[str, Any]] = {}
        self.pending_rows: dict[str, Job] = {}
        self.running_rows: dict[str, Job] = {}
        self.loans_rows: list[dict[str, Any]] = []
        self.reserved_rows: list[tuple[str, str, str, float, Sequence[str], str, float, float, str]] = []
        self.kept_rows: list[tuple[str, str, Sequence[str], Sequence[tuple[str, str, int, int]]]] = []
        self.evictions_rows: list[tuple[str, str, str, float]] = []
        self.flavor(flavor)
        for index in range(nodes):
            rack = {"rack": f"r{index // per_rack}"} if per_rack else {}
            self.node(f"n{index:03d}", gpus=gpus, cpu=cpu, memory=memory, flavor=flavor, labels=rack, measured=measured)
        self.cohort("root")

    def flavor(
        self, name: str, *, pool: str = "main", weight: float = 1, vram: int = 0, mode: str = "any", mig: str = ""
    ) -> "World":
        """`mig` names a profile, which makes it a flavor of MIG instances."""
        self.flavors[name] = Flavor(
            id=name,
            name=name,
            pool=-1,
            mode=CardMode.MIG if mig else CardMode(mode),
            vram_mib=vram * GIB,
            weight_ppm=int(weight * ONE_PPM),
            mig_profile=mig,
        )
        self.pool_of_flavor[name] = pool
        return self

    def pool(self, name: str, **fields: Any) -> "World":
        self.pools[name] = Pool(id=name, name=name, **fields)
        return self

    def node(
        self,
        name: str,
        *,
        gpus: int = 8,
        cpu: float = 0,
        memory: float = 0,
        flavor: str = "a100",
        labels: Mapping[str, str] | None = None,
        state: NodeState = NodeState.READY,
        max_pods: int = -1,
        bad: Sequence[int] = (),
        pool: str = "main",
        measured: float | None = None,
    ) -> "World":
        self.nodes_rows[name] = {
            "gpus": gpus, "cpu": cpu, "memory": memory, "flavor": flavor if gpus else None, "labels": dict(labels or {}),
            "state": state, "max_pods": max_pods, "bad": set(bad), "pool": pool,
            "measured": -1 if measured is None else int(measured * ONE_PPM),
        }  # fmt: skip
        return self

    def cohort(self, name: str, *, parent: str | None = None, weight: float = 1, **quota: Any) -> "World":
        self.tree_rows[name] = {"kind": "cohort", "parent": parent, "weight": weight, "quota": quota}
        return self

    def tenant(
        self,
        name: str,
        *,
        cohort: str | None = "root",
        weight: float = 1,
        queues: Sequence[str] = ("main",),
        total: Any = None,
        **quota: Any,
    ) -> "World":
        """A tenant with queues; quota keywords (`nominal`, `lending`, `borrowing`, `cpu=...`) go to its first queue."""
        self.tree_rows[name] = {
            "kind": "tenant",
            "parent": cohort,
            "weight": weight,
            "quota": {"nominal": total} if total is not None else {},
        }
        for place, queue in enumerate(queues):
            self.queue(f"{name}/{queue}", **(quota if not place else {}))
        return self

    def queue(
        self, path: str, *, weight: float = 1, pool: str = "main", fields: Mapping[str, Any] | None = None, **quota: Any
    ) -> "World":
        """`nominal`, `borrowing`, `lending` are of the first flavor (a number) or by flavor (a mapping); `cpu=(n, b, l)` likewise."""
        self.tree_rows[path] = {
            "kind": "queue",
            "parent": path.split("/", maxsplit=1)[0],
            "weight": weight,
            "quota": quota,
        }
        self.queues_rows[path] = {"pool": pool, **(fields or {})}
        return self

    def pending(
        self, job: str, queue: str, *, tier: str = "development", priority: int = 500, submitted: float = 60, **ask: Any
    ) -> "World":
        self.pending_rows[job] = self._job(job, queue, tier, priority, submitted, ask)
        return self

    def running(
        self,
        job: str,
        queue: str,
        *,
        tier: str = "development",
        priority: int = 500,
        submitted: float = 3600,
        **ask: Any,
    ) -> "World":
        """As `pending`, with `nodes` and perhaps `cards` (one, or indexes, a pod), `started`, `attained` (card-hours), `leaving_in`, `checkpoint` and so on."""
        self.running_rows[job] = self._job(job, queue, tier, priority, submitted, ask)
        return self

    def loan(
        self,
        loan: str,
        run: str,
        amount: float,
        *,
        expires_in: float,
        flavor: str = "a100",
        sides: Mapping[str, float] | None = None,
    ) -> "World":
        self.loans_rows.append(
            {"id": loan, "run": run, "amount": amount, "expires_in": expires_in, "flavor": flavor, "sides": sides or {}}
        )
        return self

    def kept(
        self, reservation: str, job: str, nodes: Sequence[str], pods: Sequence[tuple[str, str, int, int]] = ()
    ) -> "World":
        """`pods` are (role, node, card, pods)."""
        self.kept_rows.append((reservation, job, nodes, pods))
        return self

    def reserved(
        self,
        name: str,
        *,
        queue: str = "",
        tier: str = "",
        gpu: float = 0,
        nodes: Sequence[str] = (),
        kind: str = "manual",
        ago: float = 60,
        lasts: float = 3600,
        flavor: str = "a100",
    ) -> "World":
        """Cards (or whole nodes) kept for a queue or tier since `ago` seconds, for `lasts` seconds from now."""
        self.reserved_rows.append((name, queue, tier, gpu, nodes, kind, ago, lasts, flavor))
        return self

    def evicted(self, evictor: str, victim: str, job: str, *, ago: float) -> "World":
        """A run of `victim`'s first queue left for one of `evictor`'s, so many seconds ago."""
        self.evictions_rows.append((f"{evictor}/main", f"{victim}/main", job, ago))
        return self

    def _job(self, job: str, queue: str, tier: str, priority: int, submitted: float, ask: dict[str, Any]) -> Job:
        roles = ask.pop("roles", None)
        if roles is None:
            names = ("replicas", "gpu", "cpu", "memory", "vram", "flavors", "in_gang", "minimum", "nodes", "cards")
            roles = [Role(**{name: ask.pop(name) for name in names if name in ask})]
            if roles[0].nodes and roles[0].replicas == 1:
                roles[0].replicas = len(roles[0].nodes)
        topology = ask.pop("topology", ("none", ""))
        limit = ask.pop("limit", None)
        elastic = (ask.pop("step", 0), ask.pop("cooldown", 600))
        return Job(
            job,
            queue if "/" in queue else f"{queue}/main",
            tier,
            priority,
            submitted,
            roles,
            topology,
            limit,
            elastic,
            ask,
        )

    def plan(self, policy: Policy | str = "default", *, later: float = 0) -> Plan:
        """One cycle `later` seconds after now."""
        chosen = PRESETS[policy] if isinstance(policy, str) else policy
        return run_cycle(self.snapshot(), chosen, NOW_MS + int(later * 1000))

    def snapshot(self) -> Snapshot:
        return Assembly(self).snapshot()


def started(plan: Plan) -> dict[Any, tuple[Any, ...]]:
    """job -> its pods' nodes."""
    return {start.job: tuple(pod.node for pod in start.pods) for start in plan.starts}


def evicted(plan: Plan) -> dict[Any, tuple[Any, str, int]]:
    """job -> (for whom, reason, grace in seconds)."""
    return {evict.job: (evict.for_job, evict.reason.value, evict.grace_ms // 1000) for evict in plan.evicts}


def codes(plan: Plan) -> dict[Any, str]:
    """waiting job -> wait code."""
    return {wait.job: wait.code.value for wait in plan.waits}


def wait_of(plan: Plan, job: Any) -> Wait:
    return next(wait for wait in plan.waits if wait.job == job)


def start_of(plan: Plan, job: Any) -> Start:
    return next(start for start in plan.starts if start.job == job)
