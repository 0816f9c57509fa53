"""A whole replay of many jobs through `simulate`'s own parts on one core: how long it takes, and where the engine's time goes.

    .venv/bin/python benchmarks/long_replay.py [--jobs 100000] [--nodes 128] [--tenants 8] [--load 0.9] [--policy default] [--keep DIR]

The list comes from a fixed seed and knows nothing of the scheduler: tenants of unequal size ask for nine tenths of all cards, in
waves through the day, for one card up to gangs of whole nodes, for a minute up to two days; half of the jobs declare a limit.
"""

import argparse
import json
import math
import platform
import random
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scheduling.engine.cycle import run_cycle  # noqa: E402
from scheduling.engine.policy import PRESETS  # noqa: E402
from scheduling.simulator.cluster_file import parse_cluster  # noqa: E402
from scheduling.simulator.jobs_file import parse_jobs  # noqa: E402
from scheduling.simulator.simulation import Tools, replay  # noqa: E402
from scheduling.simulator.summary import jobs_csv, summarise  # noqa: E402

CARDS_PER_NODE = 8
DAY_S = 86_400
SIZES = ((1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8))
"""(pods, cards a pod), small ones far more often, as in the public traces."""
SIZE_WEIGHTS = (55, 14, 12, 14, 3.5, 1.5)
MEDIAN_S, SPREAD, SHORTEST_S, LONGEST_S = 1_500, 1.6, 60, 2 * DAY_S
TIERS = ("production", "development", "batch")
TIER_WEIGHTS = (1, 7, 2)
CLUSTER = """\
flavors: {{a100: {{cards: any, vram_gib: 80}}}}
nodes: [{{count: {nodes}, name: "n{{i:04d}}", flavor: a100, gpus: {cards}, cpu: 128, memory_gib: 1024, topology: {{rack: "r{{i//8}}"}}}}]
cohorts: [{{name: root}}]
tenants:
"""
HEADER = "job_id,tenant,queue,tier,priority,submit_s,duration_s,pods,gpus_per_pod,cpu_per_pod,memory_gib_per_pod,max_runtime_s"


@dataclass(frozen=True, slots=True)
class Scene:
    """How large the replay is. `load` is card-time asked for over card-time there is, from the first to the last submit."""

    jobs: int = 100_000
    nodes: int = 128
    tenants: int = 8
    load: float = 0.9
    seed: int = 1


def cluster_text(scene: Scene) -> str:
    """Tenants in one cohort, the first twice as large as the second half of them; nominal adds up to all cards."""
    cards = scene.nodes * CARDS_PER_NODE
    rows = [
        f"  - {{name: t{at:02d}, cohort: root, queues: [{{name: main, quota: {{gpu: {{a100: {{nominal: {nominal}}}}}}}}}]}}"
        for at, nominal in enumerate(split(cards, _weights(scene.tenants)))
    ]
    return CLUSTER.format(nodes=scene.nodes, cards=CARDS_PER_NODE) + "\n".join(rows) + "\n"


def _weights(tenants: int) -> list[int]:
    return [2 if at < tenants / 2 else 1 for at in range(tenants)]


def split(total: int, weights: Sequence[int]) -> list[int]:
    """`total` in whole parts in proportion to `weights`, by largest remainder, ties to the first."""
    parts = [total * weight // sum(weights) for weight in weights]
    rest = sorted(range(len(weights)), key=lambda at: (-(total * weights[at] % sum(weights)), at))
    for at in rest[: total - sum(parts)]:
        parts[at] += 1
    return parts


def jobs_text(scene: Scene) -> str:
    """The list as a `simulate` CSV, in order of submission; stretched in time until it asks for `load` of the cards."""
    draw = random.Random(scene.seed)
    jobs = [_job(draw, scene.tenants) for _ in range(scene.jobs)]
    asked = sum(pods * cards * seconds for _, _, pods, cards, seconds, _ in jobs)
    span_s = asked / (scene.load * scene.nodes * CARDS_PER_NODE)
    submits = sorted(round(_busy_hour(draw.random() * span_s)) for _ in jobs)
    rows = [
        f"j{at:06d},t{tenant:02d},main,{tier},,{submit},{seconds},{pods},{cards},{4 * cards},{32 * cards},{limit}"
        for at, (submit, (tenant, tier, pods, cards, seconds, limit)) in enumerate(zip(submits, jobs, strict=True))
    ]
    return "\n".join((HEADER, *rows)) + "\n"


def _job(draw: random.Random, tenants: int) -> tuple[int, str, int, int, int, int | str]:
    pods, cards = draw.choices(SIZES, SIZE_WEIGHTS)[0]
    seconds = round(min(LONGEST_S, max(SHORTEST_S, draw.lognormvariate(0, SPREAD) * MEDIAN_S)))
    limit = round(seconds * draw.uniform(1.1, 3)) if draw.random() < 0.5 else ""
    tenant = draw.choices(range(tenants), _weights(tenants))[0]
    return tenant, draw.choices(TIERS, TIER_WEIGHTS)[0], pods, cards, seconds, limit


def _busy_hour(at_s: float) -> float:
    """Moves submits towards the middle of their day, so that demand swings around the load by half of it."""
    day, part = divmod(at_s / DAY_S, 1)
    return (day + part + 0.5 * math.sin(2 * math.pi * part) / (2 * math.pi)) * DAY_S


def measure(scene: Scene, policy: str, keep: Path | None = None) -> dict[str, Any]:
    """Read the two files and replay them, as the command does; the clock runs over both."""
    files = cluster_text(scene), jobs_text(scene)
    begun, cpu = time.perf_counter(), time.process_time()
    cluster = parse_cluster(files[0], "cluster.yaml", str)
    trace = parse_jobs(files[1], "jobs.csv", cluster)
    run = replay(cluster, trace, PRESETS[policy], Tools(partial(run_cycle, explain=False), time.perf_counter_ns))
    summary, rows = summarise(run), jobs_csv(run)
    wall, used = time.perf_counter() - begun, time.process_time() - cpu
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        for name, text in zip(("cluster.yaml", "trace.csv", "jobs.csv"), (*files, rows), strict=True):
            (keep / name).write_text(text)
        (keep / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    engine_s = round(sum(run.plan_ns) / 1e9, 1)
    return {"policy": policy, "wall_s": round(wall, 1), "cpu_s": round(used, 1), "engine_s": engine_s, **summary}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    fresh = Scene()
    for name in ("jobs", "nodes", "tenants", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(fresh, name))
    parser.add_argument("--load", type=float, default=fresh.load)
    parser.add_argument("--policy", choices=PRESETS, default="default")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="also write the two files and what came of them there")
    given = parser.parse_args()
    scene = Scene(given.jobs, given.nodes, given.tenants, given.load, given.seed)
    result = {
        "limit_s": 60,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "peak_mib": 0,
        **measure(scene, given.policy, given.keep),
    }
    result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
