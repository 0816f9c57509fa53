"""Where the time of a cold cycle goes: samples of the stack by CPU time, added up by the step of the cycle that they fell in.

    python -m benchmarks.plan_profile --nodes 1250 --tenants 100 --waiting 5000 --classes 200 [--picture docs/performance.svg]

The population is that of `bench_plan`. Sampling costs a few per cent; shares, not milliseconds, are what it is for. Prints one JSON
object.
"""

import argparse
import gc
import json
import signal
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from benchmarks.bench_plan import NOW_MS, Population
from benchmarks.trace_pictures import draw
from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS

EVERY_S = 0.002
STEPS = (
    ("open_state", "read the snapshot's columns"),
    ("print_starts", "starts as records"),
    ("explain_waits", "reasons of waiting jobs"),
    ("_spend", "order: replay what changed"),
    ("in_order", "claims: whom to ask next"),
    ("take_out", "claims: take runs out"),
    ("_drop_unneeded", "claims: reverse pass"),
    ("_node_by_node", "claims: clear node by node"),
    ("_commit", "claims: notice, place kept"),
    ("_claim", "claims: the rest"),
    ("_start", "starts: quota, nodes, heads"),
    ("_reserve", "backfill: first blocked jobs"),
    ("step", "order: next of a line"),
    ("pop", "order: next of a line"),
    ("_print_plan", "splits, loans, other records"),
    ("run_cycle", "the rest"),
)
"""(function, what it does): a sample counts for the first of these that is on its stack."""


class Sampler:
    """Counts by step while it is on; the process's CPU time drives it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __enter__(self) -> "Sampler":
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        names = set()
        while frame is not None:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        for function, step in STEPS:
            if function in names:
                self.counts[step] += 1
                return


def profile(population: Population, repeats: int) -> dict[str, object]:
    """Percent by step, and the CPU time of one cycle with the sampler on; nothing is collected meanwhile, as in the loop."""
    snapshot, sampler, taken = population.snapshot(), Sampler(), []
    for _ in range(repeats):
        gc.collect()
        gc.disable()
        begun = time.process_time()
        with sampler:
            run_cycle(snapshot, PRESETS["default"], NOW_MS)
        taken.append(time.process_time() - begun)
        gc.enable()
    total = sum(sampler.counts.values()) or 1
    steps = {step: round(100 * sampler.counts[step] / total, 1) for _, step in STEPS}
    return {"cpu_ms": round(min(taken) * 1000), "percent": steps, "samples": total}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = (("nodes", 1250), ("tenants", 100), ("waiting", 5000), ("classes", 200), ("repeats", 5), ("seed", 1))
    for name, default in sizes:
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--skew", type=float, default=0.3)
    parser.add_argument("--picture", type=Path, metavar="SVG")
    ask = parser.parse_args()
    population = Population(
        nodes=ask.nodes, tenants=ask.tenants, waiting=ask.waiting, classes=ask.classes, full=0.95, seed=ask.seed, skew=ask.skew
    )  # fmt: skip
    found = profile(population, ask.repeats)
    size = {name: getattr(ask, name) for name, _ in sizes}
    print(json.dumps({"benchmark": "plan_profile", **size, "skew": ask.skew, **found}, indent=2))
    if ask.picture:
        percent = found["percent"]
        assert isinstance(percent, dict)
        title = f"Cold cycle, {ask.nodes:,} nodes, {ask.waiting:,} waiting: CPU time, per cent"
        bars = [(f"Berth, {step}", share) for step, share in percent.items()]
        ask.picture.write_text("\n".join(draw(title, bars)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
