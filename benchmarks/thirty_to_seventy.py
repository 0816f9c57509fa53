"""From 30 % to 70 %: a week of production and research on 256 cards that fixed quotas per team leave idle, on the same jobs.

    python -m benchmarks.thirty_to_seventy [--days 7] [--seed 1]

Two production teams own 208 cards between them, sized for their peaks, and train in office hours and campaigns; two research teams own
24 each and always have more to run: development by day, batch sweeps at any time. Lists come from a seed and know nothing of the scheduler.
Stops take 30 s (`stop_s`) and cost what ran since a checkpoint every 5 minutes (150 s) plus a restart of 60 s, under every preset alike.
"""

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.replays import jobs_csv_text, known_presets, run_list, say, table
from scheduling.engine.vocabulary import Tier
from scheduling.simulator.meters import DAY_MS
from scheduling.simulator.simulation import Replay

NODES, CARDS, HOUR_S = 32, 8, 3600
PRESETS = ("static-quota", "default", "fifo", "fifo-skip")
COSTS = {"stop_ms": 30_000, "preemption_cost_ms": 150_000, "restart_cost_ms": 60_000}


@dataclass(frozen=True, slots=True)
class Stream:
    """Jobs of one team and tier: cards asked for on average (of all 256), when, and what one job is."""

    team: str
    tier: str
    cards: float
    rate: Callable[[int], float]
    sizes: tuple[tuple[int, int], ...]
    hours: tuple[float, float]
    """Median and spread (sigma of the logarithm) of the run time."""


def office(hour: int) -> float:
    day, at = divmod(hour, 24)
    return (1.0 if 9 <= at < 19 else 0.1) * (1.0 if day % 7 < 5 else 0.3)


def campaign(hour: int) -> float:
    """Two days in five."""
    return 1.0 if hour // 24 % 5 in {1, 2} else 0.05


def always(_hour: int) -> float:
    return 1.0


NOMINAL = {"serving": 80, "training": 128, "vision": 24, "speech": 24}
STREAMS = (
    Stream("serving", "production", 14, office, ((1, 1), (1, 2), (1, 4)), (1.0, 0.7)),
    Stream("training", "production", 24, campaign, ((1, 8), (2, 8), (4, 8)), (3.0, 0.6)),
    Stream("vision", "development", 36, office, ((1, 1), (1, 2), (1, 4), (1, 8)), (1.5, 0.9)),
    Stream("vision", "batch", 44, always, ((1, 1), (1, 2)), (2.0, 0.7)),
    Stream("speech", "development", 36, office, ((1, 1), (1, 4), (2, 8)), (2.0, 0.9)),
    Stream("speech", "batch", 44, always, ((1, 1), (1, 4)), (2.5, 0.7)),
)


def cluster_text() -> str:
    rows = [
        f"  - {{name: {team}, cohort: root, queues: [{{name: main, quota: {{gpu: {{a100: {{nominal: {cards}}}}}}}}}]}}"
        for team, cards in NOMINAL.items()
    ]
    nodes = (
        f"nodes: [{{count: {NODES}, name: 'n{{i:02d}}', flavor: a100, gpus: {CARDS}, topology: {{rack: 'r{{i//8}}'}}}}]"
    )
    return "\n".join(("flavors: {a100: {cards: any}}", nodes, "cohorts: [{name: root}]", "tenants:", *rows, ""))


def jobs_of(seed: int, days: int) -> Iterator[dict[str, object]]:
    """Every stream until its card-hours are asked for."""
    for stream in STREAMS:
        draw = random.Random(f"{seed}/{stream.team}/{stream.tier}")
        hours = list(range(24 * days))
        weights = [stream.rate(hour) for hour in hours]
        asked, number = 0.0, 0
        while asked < stream.cards * len(hours):
            (pods, cards), (median, spread) = draw.choice(stream.sizes), stream.hours
            seconds = round(min(24.0, max(0.05, draw.lognormvariate(0, spread) * median)) * HOUR_S)
            asked += pods * cards * seconds / HOUR_S
            number += 1
            yield {
                "job_id": f"{stream.team}-{stream.tier}-{number:05d}", "tenant": stream.team, "queue": "main", "tier": stream.tier,
                "submit_s": draw.choices(hours, weights)[0] * HOUR_S + draw.randrange(HOUR_S), "duration_s": seconds,
                "pods": pods, "gpus_per_pod": cards,
            }  # fmt: skip


def production_wait_s(run: Replay) -> dict[str, float]:
    """From submit to first start, of production jobs that started."""
    own = (run.trace.tier == Tier.PRODUCTION) & (run.first_start_ms >= 0)
    waited = (run.first_start_ms - run.trace.submit_ms)[own] / 1000
    return {
        "mean": round(float(waited.mean()), 1),
        "p99": round(float(np.percentile(waited, 99)), 1),
        "max": round(float(waited.max()), 1),
    }


def use_pct(run: Replay, days: int) -> float:
    """Cards held, per cent of all card-time of the days on which jobs keep coming."""
    held = sum(run.meters.held_by_day.get(day, 0) for day in range(days))
    return round(100 * held / (run.meters.capacity_m * days * DAY_MS), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--presets", default=",".join(PRESETS))
    given = parser.parse_args()
    files = (
        cluster_text(),
        jobs_csv_text(sorted(jobs_of(given.seed, given.days), key=lambda row: (row["submit_s"], row["job_id"]))),
    )
    results: dict[str, dict[str, Any]] = {}
    for name, policy in known_presets(given.presets.split(",")):
        run, summary = run_list(*files, replace(policy, **COSTS))
        results[name] = {**summary, "use_pct": use_pct(run, given.days), "production_wait_s": production_wait_s(run)}
        say(f"{_table({name: results[name]}).splitlines()[1]}  ({summary['cpu_s']} s of CPU)")
    say(_table(results))
    json.dump({"seed": given.seed, "days": given.days, "nominal": NOMINAL, "presets": results}, sys.stdout, indent=2)


def _table(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, summary in results.items():
        wait = summary["production_wait_s"]
        rows.append(
            (name, summary["use_pct"], f"{summary['makespan_s'] / 86_400:.1f}", wait["mean"], wait["p99"], wait["max"],
             f"{summary['mean_queue_s'] / HOUR_S:.2f}", summary["preemptions"], f"{summary['finished']}/{summary['jobs']}")
        )  # fmt: skip
    return table(
        (
            "",
            "use % in the week",
            "days until all done",
            "production wait s",
            "p99",
            "max",
            "mean queue h",
            "preemptions",
            "finished",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
