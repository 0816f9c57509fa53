"""The small figures of the engine, one process, nothing but planning: what DESIGN section 11 asks of single decisions, and how cost grows.

    python -m benchmarks.figures [--repeats 5] [--large]

Each scene is built before its clock starts and planned `repeats` times, medians of wall time; what the plan did stands beside the time,
so that an empty plan cannot look fast. The sweeps multiply one of nodes, tenants and waiting jobs by ten and leave the rest. Prints one
JSON object; a table goes to standard error.
"""

import argparse
import gc
import json
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.bench_plan import NOW_MS, Population
from benchmarks.figure_scenes import CARDS, job, run, scene
from scheduling.engine.cycle import run_cycle
from scheduling.engine.plan import Plan
from scheduling.engine.policy import PRESETS
from scheduling.engine.snapshot import Snapshot
from scheduling.simulator.eta import CannotTell, estimate_starts

POLICY: Final = PRESETS["default"]
BASE: Final = {"nodes": 1250, "tenants": 100, "waiting": 5000, "classes": 200}
WAVE: Final = 10_000


@dataclass(frozen=True, slots=True)
class Figure:
    """Seconds; `goal_s` is DESIGN's, `others` what another scheduler publishes for the like."""

    name: str
    goal_s: float | None
    median_s: float
    worst_s: float
    seen: str
    others: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One size times ten: seconds before and after, and their ratio (goal: at most 12)."""

    what: str
    small: int
    large: int
    small_s: float
    large_s: float

    @property
    def ratio(self) -> float:
        return self.large_s / self.small_s


def timed(work: Callable[[], Any], repeats: int) -> tuple[list[float], Any]:
    """Wall seconds of each repeat and the last answer. As in the loop, no garbage is collected meanwhile."""
    times, found = [], None
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        begin = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begin)
        gc.enable()
    return times, found


def planned(name: str, goal_s: float | None, asked: tuple[Snapshot, int], repeats: int, others: str = "") -> Figure:
    times, plan = timed(lambda: run_cycle(asked[0], POLICY, asked[1]), repeats)
    return Figure(name, goal_s, statistics.median(times), max(times), _seen(plan), others)


def _seen(plan: Plan) -> str:
    codes = ", ".join(sorted({wait.code.value for wait in plan.waits}))
    return f"{len(plan.starts)} start, {len(plan.evicts)} leave, {len(plan.waits)} wait" + (
        f" ({codes})" if codes else ""
    )


def figures(repeats: int) -> Iterator[Figure]:
    """One after the other; each scene is gone before the next is built."""
    full = [run(f"r{at:04d}", "a", at) for at in range(500)]
    gang = [job("gang", "b", 16)]
    yield planned(
        "a gang that cannot fit, 500 full nodes", 0.1,
        scene(nodes=500, quotas={"a": 500 * CARDS, "b": 16 * CARDS}, running=full, pending=gang), repeats, "KAI 249 s",
    )  # fmt: skip
    spread = [job("gang", "b", 512, topology={"mode": "preferred", "level": "rack"})]
    yield planned(
        "a gang of 512 pods with topology, 1,250 nodes", 0.2,
        scene(nodes=1250, quotas={"a": 0, "b": 1250 * CARDS}, running=[], pending=spread), repeats,
    )  # fmt: skip
    quotas = {"a": 2000, "b": 2000}
    yield planned(
        "2,000 cards taken back by 250 jobs, 500 full nodes", 1.0,
        scene(nodes=500, quotas=quotas, running=full, pending=[job(f"j{at:04d}", "b", 1) for at in range(250)]), repeats,
    )  # fmt: skip
    yield planned(
        "2,000 cards taken back by one gang of 250 pods", 1.0,
        scene(nodes=500, quotas=quotas, running=full, pending=[job("gang", "b", 250)]), repeats,
    )  # fmt: skip
    yield planned(
        "10,000 jobs start in one wave, 1,250 empty nodes", None,
        scene(nodes=1250, quotas={"a": WAVE}, running=[], pending=[job(f"j{at:05d}", "a", 1, cards=1) for at in range(WAVE)]),
        repeats,
    )  # fmt: skip
    yield start_ranges(repeats)


def start_ranges(repeats: int) -> Figure:
    """When 600 waiting jobs of a cluster 95 % full would start."""
    snapshot = Population(nodes=1250, tenants=100, waiting=600, classes=60, full=0.95, seed=1).snapshot()
    plan = run_cycle(snapshot, POLICY, NOW_MS)
    times, found = timed(lambda: estimate_starts(snapshot, plan, POLICY, NOW_MS), repeats)
    told = sum(not isinstance(each, CannotTell) for each in found.values())
    seen = f"{told} of {len(found)} told"
    return Figure(
        "start ranges of 600 waiting jobs, 1,250 nodes",
        1.0,
        statistics.median(times),
        max(times),
        seen,
        "Slurm 1.0 to 1.9 s",
    )


def sweeps(base: dict[str, int], repeats: int) -> Iterator[Sweep]:
    """From a tenth of each size to the whole of it, the other sizes as they are; classes go with the waiting jobs."""
    for what in ("nodes", "tenants", "waiting"):
        changed = (what, "classes") if what == "waiting" else (what,)
        small = base | {name: base[name] // 10 for name in changed}
        seconds = [statistics.median(_cold(sizes, repeats)) for sizes in (small, base)]
        yield Sweep(what, small[what], base[what], *seconds)


def _cold(sizes: dict[str, int], repeats: int) -> list[float]:
    snapshot = Population(**sizes, full=0.95, seed=1).snapshot()
    return timed(lambda: run_cycle(snapshot, POLICY, NOW_MS), repeats)[0]


def _say(row: str) -> None:
    print(row, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--large", action="store_true", help="sweeps up to 12,500 nodes and 50,000 waiting jobs, once each"
    )
    ask = parser.parse_args()
    found, grown = [], []
    for figure in figures(ask.repeats):
        goal = "" if figure.goal_s is None else f"< {figure.goal_s:g} s"
        _say(
            f"{figure.name:55} {figure.median_s:8.3f} s  max {figure.worst_s:7.3f}  {goal:8} {figure.seen} {figure.others}"
        )
        found.append(figure)
    base = {name: value * 10 for name, value in BASE.items()} if ask.large else BASE
    for sweep in sweeps(base, 1 if ask.large else ask.repeats):
        _say(
            f"{sweep.what} {sweep.small} to {sweep.large}: {sweep.small_s:.3f} to {sweep.large_s:.3f} s, x{sweep.ratio:.1f}"
        )
        grown.append(sweep)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    machine = {"python": platform.python_version(), "cpu": platform.processor() or platform.machine()}
    print(json.dumps({
        "benchmark": "figures", "repeats": ask.repeats, "figures": [asdict(figure) for figure in found],
        "sweeps": [asdict(sweep) | {"ratio": round(sweep.ratio, 2)} for sweep in grown], "peak_mib": peak_mib, "machine": machine,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
