"""Turns on full cards (SCH-27) beside published schedulers: Shockwave's and Muri's traces through `simulate`, one policy for all.

Makespan, mean time to completion, worst finish-time fairness and the share of unfair jobs, of `time-shared` (durations unknown),
of the same with durations known, and of the plain baselines. Restarts cost card time. The table goes to stderr as runs end, one
JSON object to stdout. docs/time-sharing.md says what it means.

    python -m benchmarks.time_sharing [--contests shockwave,muri-1] [--presets time-shared,las] [--copies 3] [--restart 46]
                                      [--stretch 1.015] [--set quantum_s=900] [--processes 2]
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.time_sharing_traces import CONTESTS, PUBLISHED, read_contest
from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import Policy
from scheduling.simulator.policy_file import parse_policy
from scheduling.simulator.simulation import Tools, replay
from scheduling.simulator.summary import summarise

TRACES = Path(__file__).resolve().parent / "traces"
PRESETS = ("time-shared", "time-shared-known", "las", "sjf-known", "fifo-skip", "fifo")
RESTART_S = {"shockwave": 30, "shockwave-4x8": 30}
MURI_RESTART_S = 20
FREE_RESTART = frozenset({"las"})
"""The published baseline counts no restart cost."""


@dataclass(frozen=True, slots=True)
class Run:
    contest: str
    preset: str
    copy: int
    restart_s: float
    stretch: float
    changes: tuple[str, ...] = ()

    def policy(self) -> Policy:
        """The preset, durations known where its name says so, with what a restart costs."""
        name = self.preset.removesuffix("-known") if self.preset == "time-shared-known" else self.preset
        known = ["durations: known"] if name != self.preset else []
        changes = [change.replace("=", ": ", 1) for change in self.changes]
        policy = parse_policy("{" + ", ".join((f"preset: {name}", *known, *changes)) + "}", "policy")
        return replace(policy, restart_cost_ms=0 if name in FREE_RESTART else int(self.restart_s * 1000))


def measure(run: Run) -> dict[str, Any]:
    cluster, trace = read_contest(TRACES, run.contest, copy=run.copy, stretch=run.stretch)
    begun = time.process_time()
    summary = summarise(replay(cluster, trace, run.policy(), Tools(partial(run_cycle, explain=False))))
    kept = (
        "jobs",
        "finished",
        "makespan_s",
        "mean_jct_s",
        "p99_jct_s",
        "worst_ftf",
        "unfair_pct",
        "utilisation",
        "preemptions",
        "cycles",
    )
    return {
        "contest": run.contest, "preset": run.preset, "copy": run.copy, "restart_s": run.restart_s, "stretch": run.stretch,
        "changes": list(run.changes), **{key: summary[key] for key in kept}, "cpu_s": round(time.process_time() - begun, 1),
    }  # fmt: skip


def main() -> None:
    options = _options()
    _say(
        f"{'contest':14} {'policy':30} {'makespan h':>10} {'mean JCT h':>10} {'worst FTF':>9} {'unfair %':>8} {'restarts':>8}"
    )
    for contest in options.contests.split(","):
        for policy, (makespan_s, jct_s, ftf, unfair) in PUBLISHED[contest].items():
            _row(contest, f"published {policy}", makespan_s, jct_s, ftf, unfair, None)
    results = []
    with ProcessPoolExecutor(options.processes) as pool:
        for found in pool.map(measure, _runs(options)):
            results.append(found)
            copy = f"copy {found['copy']}" if found["copy"] else ""
            name = " ".join((found["preset"], copy, *found["changes"]))
            _row(
                found["contest"], name, found["makespan_s"], found["mean_jct_s"], found["worst_ftf"],
                found["unfair_pct"], found["preemptions"],
            )  # fmt: skip
    print(
        json.dumps(
            {"published": {name: PUBLISHED[name] for name in options.contests.split(",")}, "runs": results}, indent=1
        )
    )


def _runs(options: argparse.Namespace) -> Iterator[Run]:
    for contest in options.contests.split(","):
        restart_s = RESTART_S.get(contest, MURI_RESTART_S) if options.restart is None else options.restart
        for preset in options.presets.split(","):
            for copy in range(options.copies):
                yield Run(contest, preset, copy, restart_s, options.stretch, tuple(options.set))


def _row(
    contest: str,
    name: str,
    makespan_s: float,
    jct_s: float,
    ftf: float | None,
    unfair: float | None,
    restarts: int | None,
) -> None:
    fair = f"{ftf:9.2f} {unfair:8.1f}" if ftf is not None else f"{'–':>9} {'–':>8}"
    count = "–" if restarts is None else str(restarts)
    _say(f"{contest:14} {name.strip():30} {makespan_s / 3600:10.2f} {jct_s / 3600:10.3f} {fair} {count:>8}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--contests", default=",".join(CONTESTS))
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument(
        "--copies", type=int, default=1, help="1 = as published, more = also so many less one jittered copies"
    )
    parser.add_argument(
        "--restart", type=float, help="seconds of card time a restart costs (30 for shockwave, 20 for muri)"
    )
    parser.add_argument(
        "--stretch", type=float, default=1, help="jobs so many times as long (Muri's 1.5 %% slow-down: 1.015)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a policy override")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
