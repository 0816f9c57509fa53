"""Job and run state machines as tables (PURE). The database enforces the same tables by trigger; terminal states are latched."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class JobState(StrEnum):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUSPENDED = "suspended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunState(StrEnum):
    """One attempt: cards are held from `admitted` until `ended`."""

    ADMITTED = "admitted"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class EndReason(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    OOM = "oom"
    GPU_OOM = "gpu-oom"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    NODE_LOST = "node-lost"
    CARD_FAILED = "card-failed"
    IMAGE_PULL = "image-pull"
    START_TIMEOUT = "start-timeout"
    EVICTED = "evicted"
    PLATFORM_FAULT = "platform-fault"


JOB_MOVES: Final[Mapping[JobState, frozenset[JobState]]] = {
    JobState.QUEUED: frozenset({JobState.STARTING, JobState.SUSPENDED, JobState.CANCELLED, JobState.FAILED}),
    JobState.SUSPENDED: frozenset({JobState.QUEUED, JobState.CANCELLED}),
    JobState.STARTING: frozenset(
        {JobState.RUNNING, JobState.STOPPING, JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}
    ),
    JobState.RUNNING: frozenset(
        {JobState.STOPPING, JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}
    ),
    JobState.STOPPING: frozenset({JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

RUN_MOVES: Final[Mapping[RunState, frozenset[RunState]]] = {
    RunState.ADMITTED: frozenset({RunState.STARTING, RunState.RUNNING, RunState.STOPPING, RunState.ENDED}),
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.STOPPING, RunState.ENDED}),
    RunState.RUNNING: frozenset({RunState.STOPPING, RunState.ENDED}),
    RunState.STOPPING: frozenset({RunState.ENDED}),
    RunState.ENDED: frozenset(),
}

WAITING: Final = frozenset({JobState.QUEUED, JobState.SUSPENDED})
HOLDING: Final = frozenset({JobState.STARTING, JobState.RUNNING, JobState.STOPPING})
TERMINAL: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})

PLATFORM_FAULTS: Final = frozenset({EndReason.NODE_LOST, EndReason.CARD_FAILED, EndReason.PLATFORM_FAULT})
"""Ends the tenant does not answer for: not charged after the last sign of life, no restart budget used (BIL-05)."""

REQUEUED: Final = frozenset({EndReason.PREEMPTED, EndReason.NODE_LOST, EndReason.CARD_FAILED, EndReason.PLATFORM_FAULT})
"""Ends after which the job goes back to its place in the queue whatever its restart budget says."""

RESTARTED: Final = frozenset(
    {
        EndReason.FAILED,
        EndReason.OOM,
        EndReason.GPU_OOM,
        EndReason.EVICTED,
        EndReason.START_TIMEOUT,
        EndReason.IMAGE_PULL,
    }
)
"""Ends that use the job's restart budget (`max_restarts`)."""
