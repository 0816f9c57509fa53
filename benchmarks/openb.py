"""Placement of the public openb lists beside published FGD: unallocated cards when 100 % and 130 % of them have been asked for.

Every rule meets the same lists in the same orders, through `simulate`'s own code. A table goes to stderr as lists are done, one
JSON object to stdout. docs/placement-benchmark.md says what it means.

    python -m benchmarks.openb [--lists default,cpu250] [--orders 10] [--presets placement] [--weights 8,2,3] [--processes 2]
"""

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.openb_lists import PUBLISHED_BEST_FIT, PUBLISHED_FGD, read_contest
from scheduling.engine.packing_costs import Weights
from scheduling.engine.policy import PRESETS
from scheduling.simulator.placing import place_arrivals
from scheduling.simulator.summary import summarise

TRACES = Path(__file__).resolve().parent / "traces" / "openb"
PLACEMENTS = ("placement", "placement-fgd", "placement-bestfit", "placement-random")
FIRST_ORDER = 42
DRAW_BITS = 62
PERCENTS = ("100", "130")


@dataclass(frozen=True, slots=True)
class Run:
    """One list in one order by one rule."""

    folder: Path
    list: str
    order: int
    preset: str
    weights: Weights


def measure(run: Run) -> dict[str, Any]:
    """What one run left unallocated, in per cent of all cards, and how long it took in s of this process."""
    contest = read_contest(run.folder, run.list, run.order)
    draws = random.Random(run.order)
    begun = time.process_time()
    result = place_arrivals(
        contest.cluster,
        contest.trace,
        PRESETS[run.preset],
        iter(lambda: draws.getrandbits(DRAW_BITS), -1),
        weights=run.weights,
    )
    summary = summarise(result)
    return {
        "list": run.list, "preset": run.preset, "order": run.order, "cpu_s": round(time.process_time() - begun, 2),
        "unallocated_pct_at": summary["unallocated_pct_at"], "fragmented_pct": summary["fragmented_pct"],
        "jobs": summary["jobs"], "dropped": summary["dropped"],
    }  # fmt: skip


def main() -> None:
    options = _options()
    weights = Weights(*map(int, options.weights.split(",")))
    lists, presets = options.lists.split(","), options.presets.split(",")
    results: list[dict[str, Any]] = []
    _say(f"{'list':12} {'rule':18} {'at 100 %':>15} {'at 130 %':>15}   published FGD, best fit, and ours less FGD")
    with ProcessPoolExecutor(options.processes) as pool:
        for name in lists:
            runs = [
                Run(options.traces, name, FIRST_ORDER + order, preset, weights)
                for preset in presets
                for order in range(options.orders)
            ]
            found = list(pool.map(measure, runs))
            results += found
            for line in _lines(name, presets, found):
                _say(line)
    document = {
        "weights": {"reach": weights.reach, "fill": weights.fill, "scarcity": weights.scarcity},
        "orders": options.orders,
        "published_fgd": PUBLISHED_FGD,
        "published_best_fit": PUBLISHED_BEST_FIT,
        "lists": {name: _by_preset(name, presets, results) for name in lists},
        "runs": results,
    }
    json.dump(document, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=Path, default=TRACES, metavar="DIR", help="where the openb_*.csv.gz are")
    parser.add_argument("--lists", default=",".join(PUBLISHED_FGD))
    parser.add_argument("--orders", type=int, default=10)
    parser.add_argument("--presets", default=",".join(PLACEMENTS))
    parser.add_argument("--weights", default="{0.reach},{0.fill},{0.scarcity}".format(Weights()), help="of `placement`")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def _by_preset(name: str, presets: list[str], results: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation over the orders, by rule and percentage asked for."""
    return {
        preset: {
            percent: _spread([run["unallocated_pct_at"][percent] for run in results if _is(run, name, preset)])
            for percent in PERCENTS
        }
        for preset in presets
    }


def _is(run: dict[str, Any], name: str, preset: str) -> bool:
    return bool(run["list"] == name and run["preset"] == preset)


def _spread(values: list[float]) -> list[float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return [round(statistics.mean(values), 3), round(deviation, 3)]


def _lines(name: str, presets: list[str], results: list[dict[str, Any]]) -> Iterator[str]:
    spreads = _by_preset(name, presets, results)
    for preset in presets:
        cells = "".join(f"{mean:>9.2f} ±{sd:5.2f}" for mean, sd in spreads[preset].values())
        line = f"{name:12} {preset:18} {cells}"
        if preset == "placement" and name in PUBLISHED_FGD:
            fgd, fit = PUBLISHED_FGD[name], PUBLISHED_BEST_FIT[name]
            beside = ", ".join(
                f"{fgd[at][0]:.2f} {fit[at][0]:.2f} {spreads[preset][percent][0] - fgd[at][0]:+.2f}"
                for at, percent in enumerate(PERCENTS)
            )
            line = f"{line}   {beside}"
        yield line


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
