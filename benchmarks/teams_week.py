"""A week of three teams on 32 nodes x 8 A100 in one cohort: what lending is worth against fixed quotas, on the same jobs.

Team A (128 nominal) trains in gangs of whole nodes, in campaigns; B (64) runs many short jobs in office hours; C (64) single
cards, mostly submitted in the evening. Demand moves as real teams' does: each team asks for more than its quota at some hours
and for little at others. The list comes from a fixed seed and knows nothing of the scheduler. Half of the jobs declare a limit.

    .venv/bin/python benchmarks/teams_week.py [--seed N] [--keep DIR]
"""

import argparse
import csv
import io
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scheduling.engine.cycle import run_cycle  # noqa: E402
from scheduling.engine.policy import PRESETS  # noqa: E402
from scheduling.simulator.cluster_file import parse_cluster  # noqa: E402
from scheduling.simulator.jobs_file import parse_jobs  # noqa: E402
from scheduling.simulator.simulation import Tools, replay  # noqa: E402
from scheduling.simulator.summary import summarise  # noqa: E402

HOURS = 7 * 24
POLICIES = ("default", "fifo", "static-quota")
HEADER = (
    *("job_id", "tenant", "queue", "tier", "priority", "submit_s", "duration_s", "pods", "min_pods", "gpus_per_pod"),
    *("flavors", "cpu_per_pod", "memory_gib_per_pod", "max_runtime_s", "topology_mode", "topology_level"),
)
CLUSTER = """\
flavors: {a100-80g: {cards: any, vram_gib: 80, weight: 1.0, price_per_card_hour: "12.50", currency: CNY}}
nodes:
  - {count: 32, name: "n{i:03d}", flavor: a100-80g, gpus: 8, cpu: 128, memory_gib: 1024, topology: {zone: z1, rack: "r{i//8}"}}
cohorts: [{name: root}]
tenants:
  - {name: a, cohort: root, queues: [{name: main, quota: {gpu: {a100-80g: {nominal: 128}}}}]}
  - {name: b, cohort: root, queues: [{name: main, quota: {gpu: {a100-80g: {nominal: 64}}}}]}
  - {name: c, cohort: root, queues: [{name: main, quota: {gpu: {a100-80g: {nominal: 64}}}}]}
"""


@dataclass(frozen=True, slots=True)
class Team:
    """How one team works: card-hours a week, when it submits, and what one job is."""

    name: str
    card_hours: float
    rate: Callable[[int], float]
    pods: tuple[int, ...]
    gpus: tuple[int, ...]
    hours: tuple[float, float]
    """Median and spread (sigma of the logarithm) of the run time."""


def office_hours(hour: int) -> float:
    """Weekdays 9 to 19, little else."""
    day, at = divmod(hour, 24)
    return (1.0 if 9 <= at < 19 else 0.15) * (1.0 if day < 5 else 0.25)


def evenings(hour: int) -> float:
    """Submitted before going home, to run over night; also at weekends."""
    return 1.0 if 17 <= hour % 24 < 23 else 0.1


def campaigns(hour: int) -> float:
    """Two campaigns in the week with quiet days between them."""
    return 1.0 if hour < 40 or 96 <= hour < 130 else 0.08


TEAMS = (
    Team("a", 0.85 * 128 * HOURS, campaigns, (1, 2, 2, 4, 4, 8), (8,), (5.0, 0.8)),
    Team("b", 0.85 * 64 * HOURS, office_hours, (1,), (1, 1, 2, 2, 4, 8), (0.5, 0.9)),
    Team("c", 0.85 * 64 * HOURS, evenings, (1,), (1,), (4.0, 0.7)),
)


def make_jobs(seed: int) -> str:
    """The week's jobs as a `simulate` CSV: arrivals follow each team's rate until its card-hours are asked for."""
    rows = [row for team in TEAMS for row in _team_jobs(team, random.Random(f"{seed}/{team.name}"))]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, HEADER, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (row["submit_s"], row["job_id"])))
    return text.getvalue()


def _team_jobs(team: Team, draw: random.Random) -> Iterator[dict[str, Any]]:
    hours, weights = list(range(HOURS)), [team.rate(hour) for hour in range(HOURS)]
    asked, number = 0.0, 0
    while asked < team.card_hours:
        pods, gpus = draw.choice(team.pods), draw.choice(team.gpus)
        median, spread = team.hours
        seconds = round(min(48.0, max(0.02, draw.lognormvariate(0, spread) * median)) * 3600)
        number += 1
        asked += pods * gpus * seconds / 3600
        yield {
            "job_id": f"{team.name}{number:05d}",
            "tenant": team.name,
            "queue": "main",
            "submit_s": draw.choices(hours, weights)[0] * 3600 + draw.randrange(3600),
            "duration_s": seconds,
            "pods": pods,
            "gpus_per_pod": gpus,
            "cpu_per_pod": 8 * gpus,
            "memory_gib_per_pod": 64 * gpus,
            "max_runtime_s": round(seconds * draw.uniform(1.1, 3)) if draw.random() < 0.5 else "",
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="also write cluster.yaml and jobs.csv there")
    options = parser.parse_args()
    jobs = make_jobs(options.seed)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / "cluster.yaml").write_text(CLUSTER)
        (options.keep / "jobs.csv").write_text(jobs)
    cluster = parse_cluster(CLUSTER, "cluster.yaml", str)
    trace = parse_jobs(jobs, "jobs.csv", cluster)
    results = {}
    for policy in POLICIES:
        begun = time.perf_counter()
        summary = summarise(
            replay(cluster, trace, PRESETS[policy], Tools(partial(run_cycle, explain=False), time.perf_counter_ns))
        )
        results[policy] = {**summary, "wall_s": round(time.perf_counter() - begun, 1)}
        print(_line(policy, results[policy]), flush=True)
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "teams_week.json").write_text(json.dumps({"seed": options.seed, "policies": results}, indent=2) + "\n")


def _line(policy: str, summary: dict[str, Any]) -> str:
    return (
        f"{policy:13} utilisation {summary['utilisation']:.3f}  makespan {summary['makespan_s'] / 3600:.1f} h  "
        f"mean wait {summary['mean_queue_s'] / 3600:.2f} h  p90 {summary['p90_queue_s'] / 3600:.2f} h  "
        f"worst team {summary['worst_tenant_mean_queue_s'] / 3600:.2f} h  preemptions {summary['preemptions']}  "
        f"borrowed {summary['borrowed_card_s'] / 3600:.0f} card-h  finished {summary['finished']}/{summary['jobs']}  "
        f"{summary['cycles']} cycles in {summary['wall_s']} s"
    )


if __name__ == "__main__":
    main()
