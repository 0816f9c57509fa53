"""Kueue's published generator on the virtual clock: 15,000 workloads of 30 queues in 5 cohorts, through `simulate`'s own code.

    python -m benchmarks.kueue_shapes [--cohorts 5]

Small, medium and large workloads (350, 100, 50 a queue) ask for 1, 5 and 20 units, run for 200 ms, 500 ms and 1 s, are created every
100 ms, 500 ms and 1.2 s and have priority 50, 100 and 200; a queue has nominal 20 and may borrow 100 in its cohort. Units are CPU cores
of one node large enough. Nothing but decisions takes time there: no pods, no API server. The work of a queue is 66 s of its nominal,
which is the least the generator can take. Cohorts share nothing, so one of them shows the same on the virtual clock in less time.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.replays import jobs_csv_text, run_list, say, table
from scheduling.engine.policy import PRESETS
from scheduling.simulator.simulation import Replay

QUEUES, NOMINAL, BORROWING = 6, 20, 100
PUBLISHED = {
    "published": {"makespan_s": 351},
    "on a 2-core machine": {"makespan_s": 428, "small": 254, "medium": 122, "large": 27},
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One class of workloads: how many a queue, units, run time and interval in ms, priority."""

    name: str
    count: int
    units: int
    run_ms: int
    every_ms: int
    priority: int


KINDS = (
    Kind("small", 350, 1, 200, 100, 50),
    Kind("medium", 100, 5, 500, 500, 100),
    Kind("large", 50, 20, 1000, 1200, 200),
)
FLOOR_S = sum(kind.count * kind.units * kind.run_ms for kind in KINDS) / NOMINAL / 1000


def cluster_text(cohorts: int) -> str:
    rows = [
        f"  - {{name: c{cohort}q{queue}, cohort: c{cohort}, queues: [{{name: main, quota: {{cpu: {{nominal: {NOMINAL}, borrowing_limit: {BORROWING}}}}}}}]}}"
        for cohort in range(cohorts)
        for queue in range(QUEUES)
    ]
    node = f"nodes: [{{count: 1, name: n0, gpus: 0, cpu: {cohorts * QUEUES * NOMINAL}, memory_gib: 1024}}]"
    names = ", ".join(f"{{name: c{cohort}}}" for cohort in range(cohorts))
    return "\n".join((node, f"cohorts: [{names}]", "tenants:", *rows, ""))


def workloads(cohorts: int) -> Iterator[dict[str, object]]:
    """In no particular order; the first of each class is created at 0."""
    for cohort in range(cohorts):
        for queue in range(QUEUES):
            for kind in KINDS:
                for number in range(kind.count):
                    yield {
                        "job_id": f"c{cohort}q{queue}-{kind.name}-{number:03d}", "tenant": f"c{cohort}q{queue}", "queue": "main",
                        "priority": kind.priority, "submit_s": f"{number * kind.every_ms / 1000:.3f}", "duration_s": f"{kind.run_ms / 1000:.3f}",
                        "pods": 1, "gpus_per_pod": 0, "cpu_per_pod": kind.units,
                    }  # fmt: skip


def admitted_after(run: Replay) -> dict[str, float]:
    """Mean time in s from creation to the first start, by class."""
    waited = run.first_start_ms - run.trace.submit_ms
    kinds = np.array([name.split("-")[1] for name in run.trace.ids])
    return {kind.name: round(float(waited[kinds == kind.name].mean()) / 1000, 1) for kind in KINDS}


def queue_use(run: Replay) -> float:
    """Unit-time of all workloads over nominal x makespan."""
    asked = Counter[str]()
    for name in run.trace.ids:
        asked[name.split("-")[1]] += 1
    work_ms = sum(asked[kind.name] * kind.units * kind.run_ms for kind in KINDS)
    queues = len({name.split("-")[0] for name in run.trace.ids})
    return round(work_ms / (queues * NOMINAL * (int(run.end_ms.max()) - int(run.trace.submit_ms.min()))), 3)


def measure(cohorts: int) -> dict[str, Any]:
    policy = replace(PRESETS["default"], minimum_run_ms=0)
    run, summary = run_list(cluster_text(cohorts), jobs_csv_text(workloads(cohorts)), policy)
    return {
        "workloads": len(run.trace), "finished": summary["finished"], "makespan_s": summary["makespan_s"], **admitted_after(run),
        "queue_use": queue_use(run), "preemptions": summary["preemptions"], "cycles": summary["cycles"], "cpu_s": summary["cpu_s"],
        "plan_ms": summary["plan_ms"],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohorts", type=int, default=5)
    given = parser.parse_args()
    ours = measure(given.cohorts)
    columns = ("makespan_s", "small", "medium", "large", "queue_use")
    rows = [
        ("Berth, virtual clock", *(ours[column] for column in columns)),
        ("the generator's floor", FLOOR_S, "", "", "", 1),
    ]
    rows += [
        (f"Kueue, {name}", *(figures.get(column, "") for column in columns)) for name, figures in PUBLISHED.items()
    ]
    say(table(("", "all done s", "small admitted after", "medium", "large", "queue use"), rows))
    json.dump({"cohorts": given.cohorts, "floor_s": FLOOR_S, "berth": ours, "kueue": PUBLISHED}, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
