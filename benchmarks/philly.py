"""Two weeks of Microsoft Philly (3 to 16 October 2017: 24,065 jobs of 11 tenants) on 72 nodes x 8 cards: borrowing against fixed quotas.

    python -m benchmarks.philly [--days 14] [--presets default,fifo,fifo-skip,static-quota,sjf-known]

Every preset meets the same jobs with the same quotas, through `simulate`'s own code. Durations are true and, but for `sjf-known`, not
known to the scheduler; a stop costs nothing (as in the presets). Jobs above 8 cards take whole nodes. A table goes to stderr, one JSON
object to stdout. docs/trace-benchmarks.md says what it means.
"""

import argparse
import csv
import gzip
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from benchmarks.replays import TRACES, jobs_csv_text, known_presets, run_list, say, split_whole, table

FILE = TRACES / "philly" / "philly_jobs_2017-09_to_2017-10.csv.gz"
FIRST = datetime(2017, 10, 3)  # noqa: DTZ001 - the trace's own wall clock
DAYS, NODES, CARDS = 14, 72, 8
PRESETS = ("default", "fifo", "fifo-skip", "static-quota", "sjf-known")
REFERENCES = {
    "own reference: one pool, strict FIFO": (9565, 36205, 48211, 21.1, 12754),
    "own reference: one pool, FIFO with skip": (4325, 16699, 47046, 9.9, 8701),
    "own reference: one pool, SJF with skip (oracle)": (2110, 4844, 38681, 1.6, 16817),
    "own reference: fixed quotas (74 nodes), FIFO": (37827, 56726, 512319, 89.4, 784932),
    "own reference: fixed quotas (74 nodes), FIFO with skip": (25070, 52390, 414844, 60.4, 623112),
}
"""METHODS E: mean, p90 and p99 queue time in s, mean bounded slowdown, worst tenant's mean queue time in s."""
FIGURES = ("mean_queue_s", "p90_queue_s", "p99_queue_s", "mean_bounded_slowdown", "worst_tenant_mean_queue_s")


@dataclass(frozen=True, slots=True)
class Job:
    """One line of the trace; `submit_s` from the first midnight."""

    tenant: str
    cards: int
    submit_s: int
    seconds: int


def read_jobs(days: int = DAYS) -> list[Job]:
    """Submissions of `days` days from the 3rd of October on, in the trace's order."""
    last = FIRST + timedelta(days=days)
    with gzip.open(FILE, "rt", encoding="utf-8", newline="") as file:
        return [
            Job(row["vc"], int(row["num_gpus"]), int((at - FIRST).total_seconds()), int(row["duration_s"]))
            for row in csv.DictReader(file)
            if FIRST <= (at := datetime.fromisoformat(row["submit_time"])) < last
        ]


def quotas(jobs: Sequence[Job], cards: int = NODES * CARDS) -> dict[str, int]:
    """In proportion to each tenant's card-seconds, but no smaller than its largest job (`split_whole`)."""
    work, largest = Counter[str](), dict[str, int]()
    for job in jobs:
        work[job.tenant] += job.cards * job.seconds
        largest[job.tenant] = max(largest.get(job.tenant, 0), job.cards)
    return split_whole(cards, dict(sorted(work.items())), largest)


def cluster_text(quota: dict[str, int], nodes: int = NODES) -> str:
    """One pool, one cohort; each tenant's quota is its queue's nominal."""
    rows = [
        f"  - {{name: {tenant}, cohort: root, queues: [{{name: main, quota: {{gpu: {{p100: {{nominal: {cards}}}}}}}}}]}}"
        for tenant, cards in quota.items()
    ]
    nodes_text = f"nodes: [{{count: {nodes}, name: 'n{{i:02d}}', flavor: p100, gpus: {CARDS}}}]"
    return "\n".join(("flavors: {p100: {cards: any}}", nodes_text, "cohorts: [{name: root}]", "tenants:", *rows, ""))


def jobs_text(jobs: Sequence[Job]) -> str:
    """Up to 8 cards on one node, larger jobs in whole nodes."""
    return jobs_csv_text(
        {
            "job_id": f"p{number:05d}", "tenant": job.tenant, "queue": "main", "submit_s": job.submit_s, "duration_s": job.seconds,
            "pods": -(-job.cards // CARDS), "gpus_per_pod": min(job.cards, CARDS),
        }
        for number, job in enumerate(jobs)
    )  # fmt: skip


def goals(results: dict[str, dict[str, Any]]) -> dict[str, bool]:
    """What borrowing has to show against fixed quotas."""
    ours, fixed = results["default"], results["static-quota"]
    return {
        "p90 queue time at most half": 2 * ours["p90_queue_s"] <= fixed["p90_queue_s"],
        "worst tenant's mean queue time no worse": ours["worst_tenant_mean_queue_s"]
        <= fixed["worst_tenant_mean_queue_s"],
        "Jain index higher": ours["jain_tenants"] > fixed["jain_tenants"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--presets", default=",".join(PRESETS))
    given = parser.parse_args()
    jobs = read_jobs(given.days)
    quota = quotas(jobs)
    files = cluster_text(quota), jobs_text(jobs)
    results: dict[str, dict[str, Any]] = {}
    for name, policy in known_presets(given.presets.split(",")):
        _, results[name] = run_list(*files, policy)
        say(f"{_table({name: results[name]}).splitlines()[1]}  ({results[name]['cpu_s']} s of CPU)")
    say(_table(results))
    met = goals(results) if {"default", "static-quota"} <= results.keys() else {}
    json.dump(
        {
            "days": given.days,
            "jobs": len(jobs),
            "quota": quota,
            "presets": results,
            "goals": met,
            "published": REFERENCES,
        },
        sys.stdout,
        indent=2,
    )


def _table(results: dict[str, dict[str, Any]]) -> str:
    rows = [
        (
            name,
            *(f"{summary[figure]:.{1 if 'slowdown' in figure else 0}f}" for figure in FIGURES),
            summary["jain_tenants"],
            summary["preemptions"],
        )
        for name, summary in results.items()
    ]
    rows += [(name, *figures, "", "") for name, figures in REFERENCES.items()]
    return table(("", "mean queue s", "p90", "p99", "slowdown", "worst tenant's mean", "Jain", "preemptions"), rows)


if __name__ == "__main__":
    main()
