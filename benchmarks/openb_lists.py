"""The public openb lists (benchmarks/traces/README.md) as `simulate` files: drawn, tuned to 130 % and ordered as the published runs were.

Nothing here places anything. The published figures are means and standard deviations of ten runs.
"""

import csv
import gzip
import io
import random
from dataclasses import dataclass
from pathlib import Path

from scheduling.engine.units import CARD
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.trace import Trace

TUNED_PERCENT = 130
MIB_PER_GIB = 1024
JOBS_HEADER = (
    *("job_id", "tenant", "queue", "submit_s", "duration_s", "pods", "gpus_per_pod", "flavors"),
    *("cpu_per_pod", "memory_gib_per_pod"),
)
NODES_HEADER = ("name", "flavor", "gpus", "cpu", "memory_gib", "zone", "rack")

Row = dict[str, str]

PUBLISHED_FGD = {
    "default": ((4.77, 0.11), (4.61, 0.08)),
    "cpu050": ((5.00, 0.11), (4.79, 0.09)),
    "cpu100": ((4.79, 0.14), (4.65, 0.14)),
    "cpu250": ((6.80, 0.29), (6.59, 0.28)),
    "gpushare40": ((6.04, 0.07), (5.85, 0.07)),
    "gpushare80": ((10.92, 0.11), (10.70, 0.12)),
    "gpushare100": ((13.36, 0.16), (13.10, 0.15)),
    "gpuspec10": ((5.34, 0.19), (5.05, 0.21)),
    "gpuspec20": ((5.34, 0.13), (5.16, 0.12)),
    "gpuspec33": ((12.16, 0.18), (5.45, 0.14)),
    "multigpu20": ((4.47, 0.16), (4.35, 0.16)),
    "multigpu40": ((3.09, 0.10), (3.01, 0.09)),
    "multigpu50": ((2.91, 0.11), (2.82, 0.10)),
}
"""Unallocated cards in per cent when 100 % and 130 % of the cards have been asked for: (mean, standard deviation)."""
PUBLISHED_BEST_FIT = {
    "default": ((7.14, 0.14), (6.92, 0.13)),
    "cpu050": ((6.44, 0.13), (6.21, 0.14)),
    "cpu100": ((6.74, 0.13), (6.56, 0.13)),
    "cpu250": ((8.79, 0.25), (8.55, 0.22)),
    "gpushare40": ((8.56, 0.20), (8.31, 0.21)),
    "gpushare80": ((13.34, 0.24), (12.99, 0.24)),
    "gpushare100": ((15.38, 0.22), (14.99, 0.20)),
    "gpuspec10": ((6.90, 0.21), (6.70, 0.20)),
    "gpuspec20": ((11.54, 0.12), (6.70, 0.09)),
    "gpuspec33": ((19.61, 0.27), (6.91, 0.15)),
    "multigpu20": ((6.27, 0.25), (6.07, 0.23)),
    "multigpu40": ((4.90, 0.23), (4.77, 0.24)),
    "multigpu50": ((4.38, 0.18), (4.26, 0.19)),
}


@dataclass(frozen=True, slots=True)
class Contest:
    """One list in one order on the cluster, read by the readers of `simulate`."""

    cluster: Cluster
    trace: Trace


def read_contest(folder: Path, name: str, seed: int) -> Contest:
    """The list `name` as one published run would have met it: pods, order and node names drawn from `seed`."""
    nodes = _read(folder / "openb_node_list_gpu_node.csv.gz")
    pods = sorted(_read(folder / f"openb_pod_list_{name}.csv.gz"), key=lambda pod: pod["name"])
    draw = random.Random(f"{name}/{seed}")
    order = tune(pods, sum(int(node["gpu"]) for node in nodes) * CARD, draw)
    files = {"nodes.csv": _nodes_csv(nodes, draw)}
    cluster = parse_cluster(_cluster_yaml(nodes), "cluster.yaml", files.__getitem__)
    return Contest(cluster, parse_jobs(_jobs_csv(order), "jobs.csv", cluster))


def tune(pods: list[Row], capacity_m: int, draw: random.Random) -> list[Row]:
    """Shuffled, then filled up to 130 % of the cards with pods drawn from the list, or cut down to it (METHODS A1).

    As published, the check before one more pod counts one card of it, not all.
    """
    order, most_m = pods[:], capacity_m * TUNED_PERCENT // 100
    draw.shuffle(order)
    asked_m = sum(map(_cards_m, order))
    if asked_m > most_m:
        while asked_m > most_m:
            asked_m -= _cards_m(order.pop(draw.randrange(len(order))))
        return order
    while True:
        pod = draw.choice(pods)
        if asked_m + int(pod["gpu_milli"] or 0) > most_m:
            return order
        order.append(pod)
        asked_m += _cards_m(pod)


def _read(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def _cards_m(pod: Row) -> int:
    count = int(pod["num_gpu"])
    return count * int(pod["gpu_milli"]) if count else 0


def _cluster_yaml(nodes: list[Row]) -> str:
    flavors = ", ".join(f"{model}: {{cards: any}}" for model in sorted({node["model"] for node in nodes}))
    return f"flavors: {{{flavors}}}\nnodes_csv: nodes.csv\ntenants: [{{name: t, queues: [{{name: q}}]}}]\n"


def _nodes_csv(nodes: list[Row], draw: random.Random) -> str:
    """Names begin with a number of four digits drawn for the run: ties go by name, so their order is random but fixed."""
    prefixes = draw.sample(range(10_000), len(nodes))
    return _csv(
        NODES_HEADER,
        [
            (
                f"{prefix:04d}-{node['sn']}",
                node["model"],
                node["gpu"],
                _milli(node["cpu_milli"]),
                int(node["memory_mib"]) / MIB_PER_GIB,
                "",
                "",
            )
            for prefix, node in zip(prefixes, nodes, strict=True)
        ],
    )


def _jobs_csv(pods: list[Row]) -> str:
    return _csv(
        JOBS_HEADER,
        [
            (
                f"p{at:05d}", "t", "q", at, "", 1, _milli(str(_cards_m(pod))), _flavors(pod),
                _milli(pod["cpu_milli"]), int(pod["memory_mib"]) / MIB_PER_GIB,
            )
            for at, pod in enumerate(pods)
        ],
    )  # fmt: skip


def _flavors(pod: Row) -> str:
    """The models a pod with cards accepts; the `multigpu` lists name none."""
    return pod.get("gpu_spec") or "" if int(pod["num_gpu"]) else ""


def _milli(text: str) -> str:
    return f"{int(text) / 1000:.3f}"


def _csv(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
