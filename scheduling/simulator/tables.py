"""Job entries -> the engine's columns over waiting and running jobs and their pods, each sorted by id."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.snapshot import Pending, Pods, Running, Shape
from scheduling.engine.units import NEVER
from scheduling.simulator.frozen import column
from scheduling.simulator.job_fields import JobEntry


@dataclass(frozen=True, slots=True)
class HeldPod:
    """One pod that holds part of a node; `rank` counts within its role."""

    role: int
    rank: int
    node: int
    flavor: int
    cards_m: int
    cpu_m: int
    memory_mib: int
    vram_mib: int
    cards: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RunningEntry:
    """A job that holds cards: what it asked for and what it has done so far."""

    job: JobEntry
    start_ms: int
    pods: tuple[HeldPod, ...]
    leaving_ms: int = NEVER
    last_checkpoint_ms: int = -1
    loan_expires_ms: int = NEVER
    attained_card_ms: int = 0
    last_resize_ms: int = -1
    wanted: int | None = None


@dataclass(slots=True)
class ShapeBook:
    """Shapes by first use; jobs are entered in id order, so that the numbering does not depend on the order of rows."""

    shapes: dict[Shape, int] = field(default_factory=dict)

    def number(self, shape: Shape) -> int:
        """The index of `shape`, entered if new."""
        return self.shapes.setdefault(shape, len(self.shapes))


def pending_columns(jobs: Sequence[JobEntry], book: ShapeBook, holds: Iterable[int] = ()) -> Pending:
    """Columns over `jobs`, which are sorted by id; `holds` are positions in the snapshot's `holds` list, 0 = may start."""
    held = list(holds) or [0] * len(jobs)
    return Pending(
        ids=tuple(job.id for job in jobs),
        queue=column((job.queue for job in jobs), np.int32),
        shape=column((book.number(job.shape) for job in jobs), np.int32),
        tier=column((job.tier for job in jobs), np.int8),
        priority=column((job.priority for job in jobs), np.int32),
        submit_ms=column((job.submit_ms for job in jobs), np.int64),
        eligible_ms=column((job.eligible_ms for job in jobs), np.int64),
        limit_ms=column((job.limit_ms for job in jobs), np.int64),
        expected_ms=column((job.expected_ms for job in jobs), np.int64),
        deadline_ms=column((job.deadline_ms for job in jobs), np.int64),
        hold=column(held, np.int8),
        backoff_ms=column((0 for _ in jobs), np.int64),
        attained_card_ms=column((job.attained_card_ms for job in jobs), np.int64),
        checkpoints=column((job.checkpoints for job in jobs), np.bool_),
    )


def running_columns(runs: Sequence[RunningEntry], book: ShapeBook) -> Running:
    """Columns over `runs`, which are sorted by id. The own/borrowed split is left to the engine (docs/simulator.md)."""
    return Running(
        ids=tuple(run.job.id for run in runs),
        runs=tuple(run.job.id for run in runs),
        queue=column((run.job.queue for run in runs), np.int32),
        shape=column((book.number(run.job.shape) for run in runs), np.int32),
        tier=column((run.job.tier for run in runs), np.int8),
        priority=column((run.job.priority for run in runs), np.int32),
        submit_ms=column((run.job.submit_ms for run in runs), np.int64),
        start_ms=column((run.start_ms for run in runs), np.int64),
        limit_ms=column((run.job.limit_ms for run in runs), np.int64),
        leaving_ms=column((run.leaving_ms for run in runs), np.int64),
        last_checkpoint_ms=column((run.last_checkpoint_ms for run in runs), np.int64),
        checkpoints=column((run.job.checkpoints for run in runs), np.bool_),
        loan_expires_ms=column((run.loan_expires_ms for run in runs), np.int64),
        last_resize_ms=column((run.last_resize_ms for run in runs), np.int64),
        attained_card_ms=column((run.attained_card_ms for run in runs), np.int64),
        split_known=column((False for _ in runs), np.bool_),
        wanted={place: run.wanted for place, run in enumerate(runs) if run.wanted is not None},
    )


def pod_columns(runs: Sequence[RunningEntry]) -> Pods:
    """Columns over the pods of `runs`, by (run, role, rank)."""
    pods = [(i, pod) for i, run in enumerate(runs) for pod in sorted(run.pods, key=lambda pod: (pod.role, pod.rank))]
    return Pods(
        run=column((i for i, _ in pods), np.int32),
        role=column((pod.role for _, pod in pods), np.int32),
        rank=column((pod.rank for _, pod in pods), np.int32),
        node=column((pod.node for _, pod in pods), np.int32),
        flavor=column((pod.flavor for _, pod in pods), np.int32),
        cards_m=column((pod.cards_m for _, pod in pods), np.int64),
        borrowed_m=column((0 for _ in pods), np.int64),
        cpu_m=column((pod.cpu_m for _, pod in pods), np.int64),
        memory_mib=column((pod.memory_mib for _, pod in pods), np.int64),
        vram_mib=column((pod.vram_mib for _, pod in pods), np.int64),
        cards=tuple(pod.cards for _, pod in pods),
    )
