"""`summary.json` and `jobs.csv` of a replay (docs/simulator.md). Percentiles interpolate between ranks, as NumPy does."""

import csv
import io
from typing import Any

import numpy as np

from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD, NEVER
from scheduling.simulator.simulation import NS_PER_MS, Replay

SLOWDOWN_FLOOR_MS = 10_000
UNFAIR_FTF = 1.05
ARRIVED_PERCENTS = (100, 130)
CSV_HEADER = ("job_id", "start_s", "end_s", "queue_s", "jct_s", "preemptions", "nodes")
MS_PER_S = 1000

Document = dict[str, Any]


def summarise(run: Replay) -> Document:
    """All figures of `summary.json`; a figure without any job to take it from is 0."""
    trace, meters = run.trace, run.meters
    done = np.flatnonzero(run.end_ms >= 0)
    submit, end = trace.submit_ms[done], run.end_ms[done]
    jct, queue = end - submit, end - submit - run.held_ms[done]
    duration = trace.duration_ms[done]
    slowdown = _slowdown(jct, duration)
    cards = meters.capacity_m // CARD
    ftf = _ftf(jct, duration, len(trace), cards)
    first_ms = int(trace.submit_ms.min()) if len(trace) else 0
    last_ms = int(end.max()) if len(done) else max(meters.now_ms, first_ms)
    sums = meters.at_last_end or meters.integrals()
    window_m = meters.capacity_m * (last_ms - first_ms)
    document: Document = {
        "jobs": len(trace),
        "finished": len(done),
        "makespan_s": _seconds(last_ms - first_ms),
        "mean_jct_s": _mean_s(jct),
        "p50_jct_s": _percentile_s(jct, 50),
        "p99_jct_s": _percentile_s(jct, 99),
        "mean_queue_s": _mean_s(queue),
        "p50_queue_s": _percentile_s(queue, 50),
        "p90_queue_s": _percentile_s(queue, 90),
        "p99_queue_s": _percentile_s(queue, 99),
        "mean_bounded_slowdown": _round(slowdown.mean()) if len(done) else 0,
        "worst_ftf": _round(ftf.max()) if len(ftf) else 0,
        "unfair_pct": _round(100 * np.count_nonzero(ftf > UNFAIR_FTF) / len(ftf)) if len(ftf) else 0,
        "jain_tenants": _jain(run, done, slowdown),
        "utilisation": _share(sums.held, window_m),
        "unallocated_pct": _idle_pct(run, sums.free, meters.parts.free_m, window_m),
        "fragmented_pct": _idle_pct(run, sums.fragmented, meters.parts.fragmented_m, window_m),
        "preemptions": int(run.preemptions.sum()),
        "borrowed_card_s": _seconds(sums.borrowed // CARD),
        "worst_tenant_mean_queue_s": _worst_tenant(run, done, queue),
        "cycles": len(run.plan_ns),
        "plan_ms": _plan_ms(run.plan_ns),
    }
    return document | _of_a_contest(run)


def jobs_csv(run: Replay) -> str:
    """One row a job in id order; cells stay empty for what did not happen. `nodes` are those of the last run."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for job, name in enumerate(run.trace.ids):
        start, end, submit = int(run.first_start_ms[job]), int(run.end_ms[job]), int(run.trace.submit_ms[job])
        done = end >= 0
        writer.writerow(
            (
                name,
                _seconds(start) if start >= 0 else "",
                _seconds(end) if done else "",
                _seconds(end - submit - int(run.held_ms[job])) if done else "",
                _seconds(end - submit) if done else "",
                int(run.preemptions[job]),
                "|".join(run.last_nodes[job]),
            )
        )
    return text.getvalue()


def _slowdown(jct: I64, duration: I64) -> Any:
    return np.maximum(1.0, jct / np.maximum(duration, SLOWDOWN_FLOOR_MS))


def _ftf(jct: I64, duration: I64, jobs: int, cards: int) -> Any:
    """Finish-time fairness; jobs of no length have none."""
    known = (duration > 0) & (duration < NEVER)
    return jct[known] * cards / (duration[known] * jobs)


def _jain(run: Replay, done: I64, slowdown: Any) -> int | float:
    tenants = _by_tenant(run, done)
    if not tenants:
        return 0
    scores = np.array([1 / slowdown[rows].mean() for rows in tenants.values()])
    return _round(scores.sum() ** 2 / (len(scores) * (scores**2).sum()))


def _worst_tenant(run: Replay, done: I64, queue: I64) -> int | float:
    return max((_mean_s(queue[rows]) for rows in _by_tenant(run, done).values()), default=0)


def _by_tenant(run: Replay, done: I64) -> dict[str, I64]:
    queues = run.meters.cluster.queues
    tenants = np.array([queues[queue].tenant for queue in run.trace.queue[done].tolist()])
    return {str(tenant): np.flatnonzero(tenants == tenant) for tenant in np.unique(tenants)}


def _idle_pct(run: Replay, integral: float, last_m: float, window_m: int) -> int | float:
    """The mean over time of a share of all cards; for a list without departures its last value."""
    if run.trace.endless or not window_m:
        return _round(100 * last_m / run.meters.capacity_m) if run.meters.capacity_m else 0
    return _round(100 * integral / window_m)


def _of_a_contest(run: Replay) -> Document:
    """Figures that only lists without departures, or without a queue, have."""
    dropped = {} if run.dropped is None else {"dropped": run.dropped}
    return dropped | ({"unallocated_pct_at": _unallocated_at(run)} if run.trace.endless else {})


def _unallocated_at(run: Replay) -> dict[str, int | float | None]:
    found: dict[str, int | float | None] = {}
    for percent in ARRIVED_PERCENTS:
        free = [free_m for at, free_m in run.meters.steps if at == percent]
        found[str(percent)] = _round(100 * sum(free) / (len(free) * run.meters.capacity_m)) if free else None
    return found


def _plan_ms(plan_ns: tuple[int, ...]) -> dict[str, int | float]:
    times = np.array(plan_ns or (0,), dtype=np.float64) / NS_PER_MS
    return {
        "p50": _round(np.percentile(times, 50)),
        "p99": _round(np.percentile(times, 99)),
        "max": _round(times.max()),
    }


def _mean_s(values_ms: I64) -> int | float:
    return _round(values_ms.mean() / MS_PER_S, 3) if len(values_ms) else 0


def _percentile_s(values_ms: I64, percent: int) -> int | float:
    return _round(np.percentile(values_ms, percent) / MS_PER_S, 3) if len(values_ms) else 0


def _share(part: int, whole: int) -> int | float:
    return _round(part / whole) if whole else 0


def _seconds(ms: int) -> int | float:
    return ms // MS_PER_S if ms % MS_PER_S == 0 else ms / MS_PER_S


def _round(value: Any, digits: int = 6) -> int | float:
    rounded = round(float(value), digits)
    return int(rounded) if rounded == int(rounded) else rounded
