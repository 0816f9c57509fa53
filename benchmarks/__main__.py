"""`make bench`: every benchmark after the other, each a process of its own; results in benchmarks/results/. `--full` runs them long."""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"

_PLAN = (
    "benchmarks/bench_plan.py", "--nodes", "1250", "--tenants", "100", "--waiting", "5000", "--classes", "200", "--skew",
)  # fmt: skip
SHORT = {
    "plan": (*_PLAN, "0"),
    "plan_borrowed": (*_PLAN, "0.3"),
    "figures": ("-m", "benchmarks.figures"),
    "plan_profile": ("-m", "benchmarks.plan_profile"),
    "cycle": ("-m", "benchmarks.bench_cycle"),
    "submit": ("-m", "benchmarks.bench_submit", "--seconds", "60"),
    "teams_week": ("benchmarks/teams_week.py",),
    "long_replay": ("benchmarks/long_replay.py", "--jobs", "5000"),
    "philly": ("-m", "benchmarks.philly", "--days", "2"),
    "helios": ("-m", "benchmarks.helios", "--days", "3"),
    "thirty_to_seventy": ("-m", "benchmarks.thirty_to_seventy", "--days", "2"),
    "kueue_shapes": ("-m", "benchmarks.kueue_shapes", "--cohorts", "1"),
    "kueue_live": ("-m", "benchmarks.kueue_live", "--cohorts", "1"),
    "openb": ("-m", "benchmarks.openb", "--lists", "default", "--orders", "3"),
    "time_sharing": (
        "-m",
        "benchmarks.time_sharing",
        "--contests",
        "shockwave",
        "--presets",
        "time-shared,sjf-known,fifo",
    ),
}
FULL = {
    **SHORT,
    # Starts a control plane, which has to be built: only where everything is asked for, or this by name.
    "dispatch": ("-m", "benchmarks.bench_dispatch"),
    "plan_full": ("benchmarks/bench_plan.py", "--nodes", "12500", "--tenants", "1000", "--waiting", "50000", "--classes", "2000"),
    "figures": ("-m", "benchmarks.figures", "--large"),
    "node_losses": ("-m", "benchmarks.node_losses"),
    "long_replay": ("benchmarks/long_replay.py",),
    "philly": ("-m", "benchmarks.philly"),
    "helios": ("-m", "benchmarks.helios"),
    "thirty_to_seventy": ("-m", "benchmarks.thirty_to_seventy"),
    "kueue_shapes": ("-m", "benchmarks.kueue_shapes"),
    "kueue_live": ("-m", "benchmarks.kueue_live"),
    # Fifteen to forty minutes, by the number of cores.
    "openb": ("-m", "benchmarks.openb"),
    # About an hour of one core; turns of 120 s on traces of nine months would take many.
    "time_sharing": ("-m", "benchmarks.time_sharing", "--presets", "time-shared,time-shared-known,sjf-known,fifo-skip,fifo"),
    "time_sharing_las": ("-m", "benchmarks.time_sharing", "--contests", "shockwave", "--presets", "las"),
}  # fmt: skip
LONGEST_S = 5400


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("names", nargs="*", help=f"only these: {', '.join(FULL)}")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in FULL]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(FULL)}")
    chosen = FULL if given.full else SHORT
    RESULTS.mkdir(exist_ok=True)
    commands = FULL | chosen
    failed = [name for name in given.names or chosen if not _run(name, commands[name])]
    print(f"failed: {', '.join(failed)}" if failed else f"results in {RESULTS.relative_to(ROOT)}/")
    return 1 if failed else 0


def _run(name: str, command: tuple[str, ...]) -> bool:
    print(f"== {name}", flush=True)
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=LONGEST_S, check=False
    )
    print(done.stdout, flush=True)
    if done.returncode == 0:
        (RESULTS / f"{name}.json").write_text(done.stdout)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
