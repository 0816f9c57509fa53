"""What benchmarks that replay job lists share: one list under several presets, as `simulate` runs it, and a table of what came of it."""

import csv
import io
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "platform")]

from scheduling.engine.cycle import run_cycle  # noqa: E402
from scheduling.engine.policy import PRESETS, Policy  # noqa: E402
from scheduling.simulator.cluster_file import parse_cluster  # noqa: E402
from scheduling.simulator.jobs_file import COLUMNS, parse_jobs  # noqa: E402
from scheduling.simulator.simulation import Replay, Tools, replay  # noqa: E402
from scheduling.simulator.summary import summarise  # noqa: E402

TRACES = ROOT / "benchmarks" / "traces"


def jobs_csv_text(rows: Iterable[Mapping[str, object]]) -> str:
    """Rows as the jobs file of `simulate`; columns that a row leaves out are empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def run_list(cluster_text: str, jobs_text: str, policy: Policy) -> tuple[Replay, dict[str, Any]]:
    """One replay from the two files, and its summary with the seconds of CPU it took."""
    begun = time.process_time()
    cluster = parse_cluster(cluster_text, "cluster.yaml", str)
    trace = parse_jobs(jobs_text, "jobs.csv", cluster)
    run = replay(cluster, trace, policy, Tools(partial(run_cycle, explain=False), time.perf_counter_ns))
    return run, {**summarise(run), "cpu_s": round(time.process_time() - begun, 1)}


def known_presets(names: Sequence[str]) -> Iterator[tuple[str, Policy]]:
    for name in names:
        if name in PRESETS:
            yield name, PRESETS[name]
        else:
            print(f"preset {name} is not there", file=sys.stderr)


def split_whole(total: int, weights: Mapping[str, int], least: Mapping[str, int]) -> dict[str, int]:
    """`total` in whole parts in proportion to `weights`, but nobody less than its `least`.

    Whoever's proportional part is below its least gets the least and steps out; the others share what is left in proportion, again
    and again until nobody is below. Then parts are cut to whole ones, and what is left over goes to the largest remainders, ties by name.
    """
    fixed: dict[str, int] = {}
    while True:
        rest = total - sum(fixed.values())
        open_weights = {name: weight for name, weight in weights.items() if name not in fixed}
        whole = sum(open_weights.values())
        below = {name: least[name] for name, weight in open_weights.items() if rest * weight < least[name] * whole}
        if not below:
            break
        fixed |= below
    parts = fixed | {name: rest * weight // whole for name, weight in open_weights.items()}
    by_remainder = sorted(open_weights, key=lambda name: (-(rest * open_weights[name] % whole), name))
    for name in by_remainder[: total - sum(parts.values())]:
        parts[name] += 1
    return {name: parts[name] for name in weights}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns aligned to the right but for the first."""
    lines = [tuple(map(str, row)) for row in (header, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) if not at else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )  # fmt: skip
