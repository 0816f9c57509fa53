"""The demo's past, made by running the real engine over its workload on the virtual clock: no row of it is invented."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import yaml

from berth.demo.organisation import NODE_CPU_CORES, NODE_MEMORY_GIB, Organisation, TenantSpec
from berth.demo.workload import Ask
from scheduling.engine.cycle import run_cycle
from scheduling.engine.plan import LoanOpen, Placement, Plan
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import NEVER
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.simulation import Tools, replay

STOP_MS = 25_000
"""How long an evicted run takes to leave: inside even the batch tier's grace of 30 s."""
HEADER = (
    "job_id,tenant,queue,tier,priority,submit_s,duration_s,pods,min_pods,gpus_per_pod,flavors,cpu_per_pod,"
    "memory_gib_per_pod,max_runtime_s,topology_mode,topology_level"
)


@dataclass(slots=True)
class Attempt:
    """One run of the past. Milliseconds since the past began; `end_ms` None = still running when it ends."""

    start_ms: int
    placements: tuple[Placement, ...]
    slowdown_ppm: int
    levels_crossed: tuple[str, ...]
    end_ms: int | None = None
    notice_ms: int | None = None
    preempt_reason: str = ""
    for_job: int | None = None
    borrowed: list[tuple[int, dict[tuple[str, int], int]]] = field(default_factory=list)
    loans: list[tuple[int, LoanOpen]] = field(default_factory=list)


@dataclass(slots=True)
class PastJob:
    """An ask and what became of it. `left_s` is the run time that its open or next attempt still needs."""

    number: int
    ask: Ask
    attempts: list[Attempt] = field(default_factory=list)
    progress_ms: int = 0

    @property
    def left_s(self) -> int:
        return max(1, self.ask.duration_s - self.progress_ms // 1000)


class _PastIsOverError(Exception):
    """The replay has reached the present."""


@dataclass(slots=True)
class _Recorder:
    """Stands in the engine's door during a replay and writes down what was decided and when."""

    jobs: dict[str, PastJob]
    until_ms: int
    running: dict[str, Attempt] = field(default_factory=dict)

    def decide(self, snapshot: Snapshot, policy: Policy, now_ms: int) -> Plan:
        if now_ms > self.until_ms:
            raise _PastIsOverError
        self._close_ended(now_ms)
        plan = run_cycle(snapshot, policy, now_ms)
        self._record(plan, now_ms)
        return plan

    def _close_ended(self, now_ms: int) -> None:
        for name, attempt in list(self.running.items()):
            end_ms = self._end_of(name, attempt)
            if end_ms <= now_ms:
                attempt.end_ms = end_ms
                ran = (attempt.notice_ms or end_ms) - attempt.start_ms
                self.jobs[name].progress_ms += ran
                del self.running[name]

    def _end_of(self, name: str, attempt: Attempt) -> int:
        if attempt.notice_ms is not None:
            return attempt.notice_ms + STOP_MS
        job = self.jobs[name]
        length = job.ask.duration_s * 1000 - job.progress_ms
        if job.ask.max_runtime_s is not None:
            length = min(length, job.ask.max_runtime_s * 1000)
        return attempt.start_ms + length

    def _record(self, plan: Plan, now_ms: int) -> None:
        for evict in plan.evicts:
            attempt = self.running[str(evict.job)]
            if attempt.notice_ms is None:
                attempt.notice_ms, attempt.preempt_reason = now_ms, evict.reason.value
                attempt.for_job = None if evict.for_job is None else self.jobs[str(evict.for_job)].number
        for start in plan.starts:
            attempt = Attempt(now_ms, start.pods, start.slowdown_ppm, start.levels_crossed)
            attempt.borrowed.append((now_ms, {(pod.role, pod.index): pod.borrowed_m for pod in start.pods}))
            attempt.loans.extend((now_ms, loan) for loan in start.loans)
            self.running[str(start.job)] = attempt
            self.jobs[str(start.job)].attempts.append(attempt)
        for recharge in plan.recharges:
            attempt = self.running[str(recharge.job)]
            amounts = dict(attempt.borrowed[-1][1])
            amounts.update({(role, index): amount for role, index, amount in recharge.borrowed_m})
            attempt.borrowed.append((now_ms, amounts))
            attempt.loans.extend((now_ms, loan) for loan in recharge.loans)

    def finish(self) -> None:
        """Close what ended before the present; what is left is running."""
        self._close_ended(self.until_ms)


def live_through(organisation: Organisation, asks: list[Ask], *, since: datetime, until: datetime) -> list[PastJob]:
    """Run `asks` through the engine from `since` to `until`; returns every job with its attempts, in order of submit."""
    names = [f"{number:06d}" for number in range(1, len(asks) + 1)]
    jobs = {name: PastJob(number, ask) for number, (name, ask) in enumerate(zip(names, asks, strict=True), start=1)}
    cluster = parse_cluster(_cluster_text(organisation), "demo.yaml", _no_file)
    trace = parse_jobs(_jobs_text(names, asks, since), "demo.csv", cluster)
    recorder = _Recorder(jobs, _ms(until - since))
    policy = _policy()
    with contextlib.suppress(_PastIsOverError):
        replay(cluster, trace, policy, Tools(decide=recorder.decide, stopwatch=time.perf_counter_ns))
    recorder.finish()
    return list(jobs.values())


def _policy() -> Policy:
    """Cards of the past were measured below every watermark, however much was allocated: nobody had to leave for it."""
    return replace(PRESETS["default"], stop_ms=STOP_MS, watermark_samples=NEVER)


def _no_file(name: str) -> str:
    raise FileNotFoundError(name)


def _ms(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def _cluster_text(organisation: Organisation) -> str:
    """The organisation in the format of cluster files (docs/simulator.md)."""
    document = {
        "flavors": {
            flavor.name: {
                "cards": f"mig:{flavor.mig_profile}" if flavor.mig_profile else flavor.mode,
                "vram_gib": flavor.vram_gib,
                "pool": flavor.pool,
                "weight": str(flavor.weight),
            }
            for flavor in organisation.flavors
        },
        "nodes": list(_nodes(organisation)),
        "pools": {name: {"factor": str(factor)} for name, factor in organisation.factors},
        "cohorts": [{"name": name} for name in organisation.cohorts],
        "tenants": [_tenant(tenant) for tenant in organisation.tenants],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _nodes(organisation: Organisation) -> Iterator[dict[str, object]]:
    for spec in organisation.nodes:
        for i in range(spec.count):
            yield {
                "name": spec.name.format(i=i, n=i + 1),
                "flavor": spec.flavor,
                "gpus": spec.gpus,
                "cpu": NODE_CPU_CORES,
                "memory_gib": NODE_MEMORY_GIB,
                "topology": {"zone": "z1", "rack": spec.rack.format(rack=i // spec.per_rack)},
            }


def _tenant(tenant: TenantSpec) -> dict[str, object]:
    queues = [
        {
            "name": queue.name,
            "pool": queue.pool,
            "tier": queue.tier,
            "quota": {
                "gpu": {
                    line.flavor: {
                        "nominal": line.nominal,
                        "borrowing_limit": line.borrowing,
                        "lending_limit": line.lending,
                    }
                    for line in queue.quota
                }
            },
        }
        for queue in tenant.queues
    ]
    document: dict[str, object] = {"name": tenant.slug, "queues": queues}
    return document | ({"cohort": tenant.cohort} if tenant.cohort else {})


def _jobs_text(names: list[str], asks: list[Ask], since: datetime) -> str:
    lines = [HEADER]
    for name, ask in zip(names, asks, strict=True):
        topology = ("preferred", "rack") if ask.rack else ("", "")
        cells = (
            name, ask.tenant, ask.queue, ask.tier, ask.priority, _ms(ask.at - since) // 1000, ask.duration_s, ask.pods, "",
            ask.cards, ask.flavor, ask.cpu, ask.memory_gib, ask.max_runtime_s or "", *topology,
        )  # fmt: skip
        lines.append(",".join(str(cell) for cell in cells))
    return "\n".join(lines) + "\n"
