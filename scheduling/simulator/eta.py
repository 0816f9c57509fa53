"""When will each waiting job start? A range from three run-outs of the snapshot, or "cannot tell" and why (SCH-21)."""

from collections import Counter
from dataclasses import dataclass

from scheduling.engine.plan import Plan
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Id, Snapshot
from scheduling.engine.units import NEVER, ONE_PPM
from scheduling.engine.vocabulary import WaitCode
from scheduling.simulator.run_out import Present, RunOut

EARLIEST_PPM, LIKELY_PPM, LATEST_PPM = 150_000, 500_000, ONE_PPM
"""Share of what is left of declared limits that jobs use: people declare about twice what they need, some far more (P10 to P90)."""
NO_ORDER = frozenset({
    WaitCode.SUSPENDED, WaitCode.NOT_BEFORE, WaitCode.DEPENDENCY, WaitCode.ARRAY_LIMIT, WaitCode.BUDGET, WaitCode.BACKOFF,
    WaitCode.IMPOSSIBLE, WaitCode.PLANNER_FAULT, WaitCode.CLUSTER_UNREACHABLE, WaitCode.MAINTENANCE,
})  # fmt: skip
"""Waits that no run-out of the cluster can end; their code is why it cannot be told."""
NO_RUN_TIMES = "no-run-times"
"""Too many of the jobs that hold or come before what it needs declare no run time."""


@dataclass(frozen=True, slots=True)
class StartRange:
    """Instants in ms, earliest <= likely <= latest."""

    earliest_ms: int
    likely_ms: int
    latest_ms: int


@dataclass(frozen=True, slots=True)
class CannotTell:
    """`why` is a wait code or `no-run-times`; `jobs` is how many jobs that run or come before declare no run time."""

    why: str
    jobs: int = 0


Estimate = StartRange | CannotTell


def estimate_starts(snapshot: Snapshot, plan: Plan, policy: Policy, now_ms: int) -> dict[Id, Estimate]:
    """An estimate for every pending job of the snapshot; `plan` is the decision made on it at `now_ms`."""
    codes = {wait.job: wait.code for wait in plan.waits}
    index = {job: place for place, job in enumerate(snapshot.pending.ids)}
    line = [job for job in plan.order if codes.get(job) not in NO_ORDER]
    line.sort(key=lambda job: codes.get(job) is not WaitCode.KEPT_FOR_PREEMPTED)
    order = [index[job] for job in line]
    present = Present(snapshot, policy, now_ms)
    futures = [_run_out(present, ratio, plan, order) for ratio in (LATEST_PPM, LIKELY_PPM, EARLIEST_PPM)]
    found: dict[Id, Estimate] = {start.job: StartRange(now_ms, now_ms, now_ms) for start in plan.starts}
    undeclared = _undeclared_running(snapshot)
    for job in line:
        pool = _pool_of(snapshot, int(snapshot.pending.queue[index[job]]))
        moments = sorted(future.starts[job] for future in futures if job in future.starts)
        if len(moments) == len(futures):
            found[job] = StartRange(*moments)
        else:
            found[job] = CannotTell(NO_RUN_TIMES, undeclared[pool])
        undeclared[pool] += int(snapshot.pending.limit_ms[index[job]] >= NEVER)
    for job, code in codes.items():
        found.setdefault(job, CannotTell(code.value))
    return found


def _run_out(present: Present, ratio_ppm: int, plan: Plan, order: list[int]) -> RunOut:
    future = RunOut(present, ratio_ppm)
    future.run(plan, list(order))
    return future


def _undeclared_running(snapshot: Snapshot) -> Counter[int]:
    """Runs that declare no limit and are not leaving, by pool; foreign occupation counts in no pool."""
    running = snapshot.running
    endless = (running.limit_ms >= NEVER) & (running.leaving_ms >= NEVER)
    return Counter(_pool_of(snapshot, queue) for queue in running.queue[endless].tolist())


def _pool_of(snapshot: Snapshot, queue: int) -> int:
    return snapshot.queues[queue].pool if queue >= 0 else -1
