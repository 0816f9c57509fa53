"""The public traces of time sharing as `simulate` reads them: Shockwave's 120 jobs on 32 cards, Muri's on 64; and what was published."""

import csv
import gzip
import io
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scheduling.simulator.cluster import Cluster
from scheduling.simulator.cluster_file import parse_cluster
from scheduling.simulator.jobs_file import parse_jobs
from scheduling.simulator.trace import Trace

MS_PER_S: Final = 1000
JITTER_ARRIVAL_S, JITTER_DURATION = 300, 0.05


@dataclass(frozen=True, slots=True)
class Contest:
    """One published setting. `one_tenant_a_job` as Shockwave's fairness counts; `at_once`: everything submitted at 0 ("pr")."""

    file: str
    nodes: int
    gpus: int
    one_tenant_a_job: bool = False
    at_once: bool = False


CONTESTS: Final = {
    "shockwave": Contest("shockwave/shockwave_120jobs_32gpus.csv", 8, 4, one_tenant_a_job=True),
    "shockwave-4x8": Contest("shockwave/shockwave_120jobs_32gpus.csv", 4, 8, one_tenant_a_job=True),
    "muri-1": Contest("muri/muri_trace1.csv.gz", 8, 8),
    "muri-1-pr": Contest("muri/muri_trace1.csv.gz", 8, 8, at_once=True),
    "muri-3": Contest("muri/muri_trace3.csv.gz", 8, 8),
    "muri-3-pr": Contest("muri/muri_trace3.csv.gz", 8, 8, at_once=True),
}
_SHOCKWAVE: Final = {
    "Shockwave (knows run times)": (24_197, 9_958, 1.78, 5.0),
    "Themis": (31_929, 11_302, 3.44, 22.5),
    "Gavel": (33_208, 11_274, 2.95, 25.0),
}
PUBLISHED: Final[dict[str, dict[str, tuple[float, float, float | None, float | None]]]] = {
    "shockwave": dict(_SHOCKWAVE),
    "shockwave-4x8": dict(_SHOCKWAVE),
    "muri-1": {
        "SRSF (knows run times)": (26_065_759, 980_141, None, None),
        "Tiresias-L": (23_556_410, 3_330_371, None, None), "Themis": (24_658_269, 1_823_179, None, None),
    },
    "muri-1-pr": {
        "SRSF (knows run times)": (24_272_530, 1_801_860, None, None),
        "Tiresias-L": (21_990_478, 6_921_683, None, None), "Themis": (23_369_494, 3_314_304, None, None),
    },
    "muri-3": {
        "SRSF (knows run times)": (8_174_135, 185_022, None, None),
        "Tiresias-L": (8_174_226, 347_213, None, None), "Themis": (8_172_105, 397_059, None, None),
    },
    "muri-3-pr": {
        "SRSF (knows run times)": (6_907_790, 798_058, None, None),
        "Tiresias-L": (6_761_641, 2_213_110, None, None), "Themis": (6_760_042, 1_502_769, None, None),
    },
}  # fmt: skip
"""By contest and policy: makespan s, mean JCT s, worst finish-time fairness, unfair %."""


@dataclass(frozen=True, slots=True)
class Job:
    cards: int
    submit_s: float
    duration_s: float


def read_contest(folder: Path, name: str, *, copy: int = 0, stretch: float = 1) -> tuple[Cluster, Trace]:
    """Cluster and jobs. Copy 0 is the published list, others move arrivals and durations a little; `stretch` makes jobs longer."""
    contest = CONTESTS[name]
    jobs = [*_jobs(folder / contest.file)]
    draw = random.Random(copy)
    if copy:
        jobs = [
            Job(
                job.cards,
                max(0.0, job.submit_s + draw.uniform(-JITTER_ARRIVAL_S, JITTER_ARRIVAL_S)),
                job.duration_s * (1 + draw.uniform(-JITTER_DURATION, JITTER_DURATION)),
            )
            for job in jobs
        ]
    tenants = [f"t{place:03d}" for place in range(len(jobs) if contest.one_tenant_a_job else 1)]
    cluster = parse_cluster(_cluster(contest, tenants), f"{name}.yaml", str)
    return cluster, parse_jobs(_rows(contest, jobs, stretch), f"{name}.csv", cluster)


def _jobs(path: Path) -> Iterator[Job]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    for row in csv.DictReader(io.StringIO(text)):
        if "num_gpus" in row:
            yield Job(int(row["num_gpus"]), float(row["arrival_s"]), float(row["exclusive_runtime_s"]))
        else:
            yield Job(int(row["num_gpu"]), int(row["submit_ms"]) / MS_PER_S, int(row["duration_ms"]) / MS_PER_S)


def _cluster(contest: Contest, tenants: list[str]) -> str:
    """No quota line: nothing is limited, so every tenant may use every card."""
    rows = [f"  - {{name: {tenant}, cohort: root, queues: [{{name: main}}]}}" for tenant in tenants]
    nodes = f'nodes: [{{count: {contest.nodes}, name: "n{{i}}", flavor: gpu, gpus: {contest.gpus}}}]'
    return "\n".join(("flavors: {gpu: {cards: whole}}", nodes, "cohorts: [{name: root}]", "tenants:", *rows, ""))


def _rows(contest: Contest, jobs: list[Job], stretch: float) -> str:
    """Jobs wider than a node take whole nodes (METHODS B)."""
    rows = ["job_id,tenant,queue,submit_s,duration_s,pods,gpus_per_pod"]
    for place, job in enumerate(jobs):
        tenant = place if contest.one_tenant_a_job else 0
        pods, gpus = max(1, job.cards // contest.gpus), min(job.cards, contest.gpus)
        submit_s = 0 if contest.at_once else round(job.submit_s, 3)
        rows.append(f"j{place:05d},t{tenant:03d},main,{submit_s},{round(job.duration_s * stretch, 3)},{pods},{gpus}")
    return "\n".join(rows) + "\n"
