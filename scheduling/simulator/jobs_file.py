"""The jobs CSV of `simulate` (docs/simulator.md) -> `Trace`; every bad cell is listed."""

from dataclasses import dataclass

import numpy as np

from berth.common.shown import shown
from scheduling.engine.card_modes import is_share
from scheduling.engine.snapshot import RoleAsk, Shape
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier, TopologyMode
from scheduling.simulator import quantities
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.frozen import column
from scheduling.simulator.job_fields import (
    DEFAULT_PRIORITY,
    LARGEST_REPLICAS,
    ask_flavors,
    cards_or_share,
    elastic_problems,
    level_of,
)
from scheduling.simulator.problems import Problems, WrongValueError
from scheduling.simulator.rows import Row, read_rows
from scheduling.simulator.tables import ShapeBook
from scheduling.simulator.trace import Trace
from scheduling.simulator.tree_section import TIERS

COLUMNS = (
    *("job_id", "tenant", "queue", "tier", "priority", "submit_s", "duration_s", "pods", "min_pods", "gpus_per_pod"),
    *("flavors", "cpu_per_pod", "memory_gib_per_pod", "max_runtime_s", "topology_mode", "topology_level"),
)
REQUIRED = ("job_id", "tenant", "queue", "submit_s", "duration_s", "pods", "gpus_per_pod")
ROLE = "worker"


@dataclass(frozen=True, slots=True)
class TraceRow:
    """One job as written, with its queue and flavors looked up."""

    id: str
    queue: int
    tier: Tier
    priority: int
    submit_ms: int
    duration_ms: int
    limit_ms: int
    shape: Shape


def parse_jobs(text: str, file: str, cluster: Cluster) -> Trace:
    """The jobs of a CSV file. Raises `InvalidFileError` with all problems."""
    problems = Problems(file)
    reader = _JobReader(cluster)
    first_line: dict[str, int] = {}
    rows: list[TraceRow] = []
    for row in read_rows(text, file, problems, required=REQUIRED, known=COLUMNS):
        job = reader.read(row)
        if job.id in first_line:
            row.problem("job_id", f"{shown(job.id)} is there twice, first on line {first_line[job.id]}")
        first_line.setdefault(job.id, row.line)
        rows.append(job)
    problems.raise_if_any()
    return build_trace(rows)


def build_trace(rows: list[TraceRow]) -> Trace:
    """The trace of `rows`, whatever their order."""
    ordered = sorted(rows, key=lambda row: row.id)
    book = ShapeBook()
    return Trace(
        ids=tuple(row.id for row in ordered),
        queue=column((row.queue for row in ordered), np.int32),
        shape=column((book.number(row.shape) for row in ordered), np.int32),
        tier=column((row.tier for row in ordered), np.int8),
        priority=column((row.priority for row in ordered), np.int32),
        submit_ms=column((row.submit_ms for row in ordered), np.int64),
        duration_ms=column((row.duration_ms for row in ordered), np.int64),
        limit_ms=column((row.limit_ms for row in ordered), np.int64),
        shapes=tuple(book.shapes),
    )


class _JobReader:
    """Reads rows against a cluster; flavor look-ups are remembered, since a trace repeats few of them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._level = level_of(cluster)
        self._tenants = {queue.tenant for queue in cluster.queues}
        self._flavors: dict[tuple[str, int, int], tuple[int, ...]] = {}

    def read(self, row: Row) -> TraceRow:
        queue = self._queue(row)
        default_tier = self._cluster.default_tiers[queue] if queue >= 0 else Tier.DEVELOPMENT
        pods = row.need("pods", quantities.between(1, LARGEST_REPLICAS), 1)
        minimum = row.take("min_pods", quantities.between(1, LARGEST_REPLICAS), pods)
        for wrong in elastic_problems(minimum, pods):
            row.problem("min_pods", wrong.replace("replicas", "pods"))
        cards_m = row.take("gpus_per_pod", cards_or_share, 0)
        mode, level = self._topology(row)
        role = RoleAsk(
            name=ROLE,
            replicas=pods,
            minimum=min(minimum, pods),
            cards_m=cards_m,
            flavors=self._accepted(row, queue, cards_m),
            cpu_m=row.take("cpu_per_pod", quantities.millicores, 0),
            memory_mib=row.take("memory_gib_per_pod", quantities.mebibytes, 0),
        )
        return TraceRow(
            id=row.need("job_id", quantities.word, f"line {row.line}"),
            queue=queue,
            tier=TIERS[row.take("tier", quantities.one_of(*TIERS), default_tier.label)],
            priority=row.take("priority", quantities.between(0, 1000), DEFAULT_PRIORITY),
            submit_ms=row.need("submit_s", quantities.milliseconds, 0),
            duration_ms=row.take("duration_s", quantities.milliseconds, NEVER),
            limit_ms=row.take("max_runtime_s", quantities.milliseconds, NEVER),
            shape=Shape(roles=(role,), topology=mode, level=level),
        )

    def _queue(self, row: Row) -> int:
        tenant = row.need("tenant", quantities.word, "")
        name = row.need("queue", quantities.word, "")
        if not tenant or not name:
            return -1
        if tenant not in self._tenants:
            row.problem(
                "tenant", f"unknown tenant {shown(tenant)}; known: {', '.join(sorted(self._tenants)) or 'none'}"
            )
            return -1
        queue = self._cluster.queue_index.get(f"{tenant}/{name}", -1)
        if queue < 0:
            known = [q.name for q in self._cluster.queues if q.tenant == tenant]
            row.problem("queue", f"unknown queue {shown(name)} of tenant {tenant}; known: {', '.join(known) or 'none'}")
        return queue

    def _topology(self, row: Row) -> tuple[TopologyMode, str]:
        mode = TopologyMode(row.take("topology_mode", quantities.one_of(*(m.value for m in TopologyMode)), "none"))
        level = row.take("topology_level", self._level, "")
        if mode is TopologyMode.REQUIRED and not level:
            row.problem("topology_level", "a required topology needs a level")
        return (mode, level) if mode is not TopologyMode.NONE else (mode, "")

    def _accepted(self, row: Row, queue: int, cards_m: int) -> tuple[int, ...]:
        text = row.take("flavors", str, "")
        key = (text, self._cluster.pool_of(queue), 0 if not cards_m else 1 if is_share(cards_m) else 2)
        if key not in self._flavors:
            names = [name.strip() for name in text.split("|") if name.strip()]
            try:
                self._flavors[key] = ask_flavors(self._cluster, names, queue, cards_m, 0)
            except WrongValueError as wrong:
                row.problem("flavors", str(wrong))
                return ()
        return self._flavors[key]
