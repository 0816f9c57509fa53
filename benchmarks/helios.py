"""Helios Earth, 1 to 20 May 2020: 16 tenants' demand against their quotas, 856 cards. What borrowing serves, and how fast owners are back.

    python -m benchmarks.helios [--days 20] [--presets default,static-quota]

The trace is a demand series: every ten minutes, what each tenant ran and what its queued jobs asked for. Only cards are counted: each
card of demand is a job of one card. Where demand falls the waiting go first, then the newest runs. The engine decides every ten minutes
and, while somebody is leaving, again when they have left (`stop_s` 300, the grace of development). Of the card-time that waited under
fixed quotas, idle quota elsewhere could have served a part; `served_pct` is how much of that part ran here.
"""

import argparse
import csv
import gzip
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.replays import TRACES, jobs_csv_text, known_presets, say, table
from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import Policy
from scheduling.engine.units import NEVER
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.world import World

FILE = TRACES / "helios" / "earth_vc_demand_10min_2020-05-01_to_20.csv.gz"
STEP_MS, STEPS_A_DAY, GRACE_MS = 600_000, 144, 300_000
PRESETS = ("default", "static-quota")


@dataclass(frozen=True, slots=True)
class Step:
    """Cards by tenant at one instant: quota, what ran, what the queued asked for."""

    quota: Mapping[str, int]
    running: Mapping[str, int]
    pending: Mapping[str, int]

    def servable(self) -> int:
        """Of what waited, what idle quota could have served."""
        idle = sum(self.quota.values()) - sum(self.running.values())
        return max(0, min(sum(self.pending.values()), idle))


def read_steps(days: int = 20) -> list[Step]:
    """The first `days` days; quotas do not change in them."""
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(FILE, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["time"]].append(row)
    columns = ("quota_gpus", "running_gpus", "pending_gpus")
    return [
        Step(*({row["vc"]: int(row[column]) for row in rows[at]} for column in columns))
        for at in sorted(rows)[: days * STEPS_A_DAY]
    ]


@dataclass(slots=True)
class Contest:
    """The engine stepped along the series; amounts are card-ms."""

    policy: Policy
    steps: Sequence[Step]
    held: int = 0
    waits_ms: list[int] = field(default_factory=list)
    """Of jobs that fitted their tenant's quota when they came: until they started."""
    evictions: int = 0
    _world: World = field(init=False)
    _spare: dict[str, list[int]] = field(default_factory=dict)
    _alive: dict[str, list[int]] = field(default_factory=dict)
    _owned: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        quota = self.steps[0].quota
        peak = {name: max(step.running[name] + step.pending[name] for step in self.steps) for name in quota}
        cards = sum(quota.values())
        tenants = "\n".join(
            f"  - {{name: {name}, cohort: root, queues: [{{name: main, quota: {{gpu: {{v100: {{nominal: {amount}}}}}}}}}]}}"
            for name, amount in sorted(quota.items())
        )
        text = f"flavors: {{v100: {{cards: any}}}}\nnodes: [{{count: {cards // 8}, name: 'n{{i:03d}}', flavor: v100, gpus: 8}}]\ncohorts: [{{name: root}}]\ntenants:\n{tenants}\n"
        cluster = parse_cluster(text, "cluster.yaml", str)
        names = [(name, number) for name in sorted(quota) for number in range(2 * peak[name])]
        jobs = jobs_csv_text(
            {
                "job_id": f"{name}-{number:05d}",
                "tenant": name,
                "queue": "main",
                "submit_s": 0,
                "duration_s": "",
                "pods": 1,
                "gpus_per_pod": 1,
            }
            for name, number in names
        )
        trace = parse_jobs(jobs, "jobs.csv", cluster)
        self._world = World(cluster, trace, replace(self.policy, stop_ms=GRACE_MS))
        for job, name in enumerate(trace.ids):
            self._spare.setdefault(name.rpartition("-")[0], []).append(job)
        self._alive = {name: [] for name in quota}

    def run(self) -> None:
        for number, step in enumerate(self.steps):
            now_ms = number * STEP_MS
            self._follow_demand(step, now_ms)
            self._decide(now_ms)
            if self._world.leaving:
                self._hold(now_ms, GRACE_MS)
                self._let_go(now_ms + GRACE_MS)
                self._decide(now_ms + GRACE_MS)
                self._hold(now_ms + GRACE_MS, STEP_MS - GRACE_MS)
            else:
                self._hold(now_ms, STEP_MS)
            self._let_go((number + 1) * STEP_MS)

    def _hold(self, _now_ms: int, length_ms: int) -> None:
        self.held += len(self._world.running) * length_ms

    def _follow_demand(self, step: Step, now_ms: int) -> None:
        world = self._world
        for name, alive in self._alive.items():
            wanted = step.running[name] + step.pending[name]
            while len(alive) > wanted:
                waiting = set(world.waiting)
                job = next((job for job in reversed(alive) if job in waiting), alive[-1])
                alive.remove(job)
                if job in waiting:
                    world.waiting.remove(job)
                else:
                    world.release(job, now_ms)
                self._owned.pop(job, None)
                self._spare[name].append(job)
            while len(alive) < wanted:
                job = self._spare[name].pop(0)
                world.order_ms[job] = now_ms
                if len(alive) < step.quota[name]:
                    self._owned[job] = now_ms
                alive.append(job)
                world.arrive(job)

    def _decide(self, now_ms: int) -> None:
        world = self._world
        while True:
            plan = run_cycle(world.snapshot(now_ms), world.policy, now_ms)
            for evict in plan.evicts:
                world.stop(world.number(evict.job), now_ms)
                self.evictions += 1
            for start in plan.starts:
                job = world.begin(start, now_ms)
                if job in self._owned:
                    self.waits_ms.append(now_ms - self._owned.pop(job))
            world.record(plan, now_ms)
            if not plan.starts and not plan.evicts:
                return

    def _let_go(self, now_ms: int) -> None:
        world = self._world
        for job in sorted(world.leaving):
            if world.leaving_ms[job] <= now_ms:
                world.release(job, now_ms)
                world.leaving_ms[job] = NEVER
                world.arrive(job)


def measure(policy: Policy, steps: Sequence[Step]) -> dict[str, Any]:
    begun = time.process_time()
    contest = Contest(policy, steps)
    contest.run()
    before = sum(sum(step.running.values()) for step in steps) * STEP_MS
    servable = sum(step.servable() for step in steps) * STEP_MS
    waits_s = sorted(wait_ms / 1000 for wait_ms in contest.waits_ms)
    late = [wait for wait in waits_s if wait]
    return {
        "served_pct": round(100 * (contest.held - before) / servable, 2),
        "still_waiting_cards": round(sum(sum(step.running.values()) + sum(step.pending.values()) for step in steps) / len(steps)
                                     - contest.held / (len(steps) * STEP_MS), 2),
        "owner_wait_s": {"asked": len(waits_s), "waited": len(late), "longest": waits_s[-1] if waits_s else 0, "mean_of_those": round(sum(late) / len(late), 1) if late else 0},
        "evictions": contest.evictions,
        "cpu_s": round(time.process_time() - begun, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--presets", default=",".join(PRESETS))
    given = parser.parse_args()
    steps = read_steps(given.days)
    results = {name: measure(policy, steps) for name, policy in known_presets(given.presets.split(","))}
    count = len(steps)
    waiting = sum(sum(step.pending.values()) for step in steps) / count
    idle = sum(sum(step.quota.values()) - sum(step.running.values()) for step in steps) / count
    say(f"fixed quotas as they were: {waiting:.1f} cards wait, {idle:.1f} idle on average")
    rows = [
        (
            name,
            found["served_pct"],
            found["still_waiting_cards"],
            found["owner_wait_s"]["waited"],
            found["owner_wait_s"]["longest"],
            found["evictions"],
        )
        for name, found in results.items()
    ]
    say(
        table(
            ("", "served % of what could be", "cards still waiting", "owners that waited", "longest s", "evictions"),
            rows,
        )
    )
    json.dump(
        {"days": given.days, "waiting_cards": round(waiting, 1), "idle_cards": round(idle, 1), "presets": results},
        sys.stdout,
        indent=2,
    )


if __name__ == "__main__":
    main()
