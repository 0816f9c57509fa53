"""Where a job goes when a run of it has ended. A table and its numbers; no database, no clock."""

from dataclasses import dataclass
from datetime import timedelta

from scheduling.states import REQUEUED, RESTARTED, EndReason, JobState

FIRST_BACKOFF = timedelta(seconds=10)
LONGEST_BACKOFF = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Next:
    """The job's next state; what it costs the job's counters; how long it may not start again (business time)."""

    state: JobState
    uses_restart: bool = False
    backoff: timedelta | None = None


def next_state(
    reason: EndReason, *, cancel_asked: bool, restarts_used: int, max_restarts: int, refusals: int = 0
) -> Next:
    """`refusals` counts the platform's own failed attempts in a row, which wait longer each time and never use a restart."""
    if reason is EndReason.SUCCEEDED:
        return Next(JobState.SUCCEEDED)
    if cancel_asked or reason is EndReason.CANCELLED:
        return Next(JobState.CANCELLED)
    if reason is EndReason.PLATFORM_FAULT:
        return Next(JobState.QUEUED, backoff=backoff_after(refusals))
    if reason in REQUEUED:
        return Next(JobState.QUEUED)
    if reason in RESTARTED and restarts_used < max_restarts:
        return Next(JobState.QUEUED, uses_restart=True, backoff=backoff_after(restarts_used))
    return Next(JobState.FAILED)


def backoff_after(failures: int) -> timedelta:
    """10 s, doubled with every failure before, at most ten minutes."""
    return min(FIRST_BACKOFF * 2 ** min(failures, 10), LONGEST_BACKOFF)
