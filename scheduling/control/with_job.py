"""A snapshot with one more waiting job in it: what a preview asks the engine about. Nothing is stored."""

from dataclasses import replace
from typing import Any

import numpy as np

from scheduling.engine.snapshot import Id, Pending, Shape, Snapshot
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import Tier
from scheduling.selectors.configured import Configured
from scheduling.selectors.snapshot_rows import to_ms
from scheduling.services.resolved import ResolvedJob

MS_PER_S = 1000


class QueueNotInSnapshotError(LookupError):
    """The snapshot is older than the queue or a flavor of the job."""


def with_job(snapshot: Snapshot, job: ResolvedJob, config: Configured, now_ms: int) -> tuple[Snapshot, Id]:
    """The snapshot as if the job had been submitted at `now_ms`, and the id that stands for it there (the largest of all)."""
    queue = next((at for at, row in enumerate(snapshot.queues) if row.id == job.queue.pk), None)
    if queue is None:
        raise QueueNotInSnapshotError(job.queue.pk)
    shape = _renumbered(job.shape, snapshot, config)
    new_id = max((int(each) for each in (*snapshot.pending.ids, *snapshot.running.ids)), default=0) + 1
    row = _row(job, queue, len(snapshot.shapes), now_ms)
    columns: dict[str, Any] = {name: _appended(getattr(snapshot.pending, name), value) for name, value in row.items()}
    pending = Pending(ids=(*snapshot.pending.ids, new_id), **columns)
    return replace(snapshot, shapes=(*snapshot.shapes, shape), pending=pending), new_id


def _row(job: ResolvedJob, queue: int, shape: int, now_ms: int) -> dict[str, int]:
    ask = job.ask
    eligible = now_ms if ask.not_before is None else max(now_ms, to_ms(ask.not_before))
    return {
        "queue": queue,
        "shape": shape,
        "tier": int(Tier[job.tier.upper()]),
        "priority": ask.priority,
        "submit_ms": now_ms,
        "eligible_ms": eligible,
        "limit_ms": NEVER if ask.max_runtime_s is None else ask.max_runtime_s * MS_PER_S,
        "expected_ms": NEVER if ask.expected_runtime_s is None else ask.expected_runtime_s * MS_PER_S,
        "deadline_ms": NEVER if ask.deadline is None else to_ms(ask.deadline),
        "hold": 0,
        "backoff_ms": 0,
    }


def _appended(column: Any, value: int) -> Any:
    longer = np.append(column, np.array([value], dtype=column.dtype))
    longer.setflags(write=False)
    return longer


def _renumbered(shape: Shape, snapshot: Snapshot, config: Configured) -> Shape:
    """Flavors by the snapshot's own numbers: it may have been read before or after the configuration."""
    number = {flavor.id: at for at, flavor in enumerate(snapshot.flavors)}
    try:
        roles = tuple(
            replace(role, flavors=tuple(number[config.flavors[flavor].id] for flavor in role.flavors))
            for role in shape.roles
        )
    except KeyError as error:
        raise QueueNotInSnapshotError(*error.args) from error
    return replace(shape, roles=roles)
