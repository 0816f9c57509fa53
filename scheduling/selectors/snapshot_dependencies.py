"""Which waiting jobs still wait for other jobs. Each table is read by itself, by ids.

Joined in SQL this can take time quadratic in the jobs: after a burst of submits the planner still believes that nothing waits, and
walks all jobs for each of them.
"""

from collections.abc import Sequence

from scheduling.selectors.snapshot_rows import fetch
from scheduling.states import JobState

SUCCESS = "success"
_DEPENDENCIES = "SELECT job_id, on_job_id, condition FROM scheduling_jobdependency WHERE job_id = ANY(%s)"
_STATES = "SELECT id, state, ended_at IS NOT NULL FROM scheduling_job WHERE id = ANY(%s)"


def held_by_others(jobs: Sequence[int]) -> set[int]:
    """Of these jobs, those with a dependency that has not ended, or that had to succeed and did not."""
    rows = fetch(_DEPENDENCIES, [list(jobs)])
    states = {job: (state, has_ended) for job, state, has_ended in fetch(_STATES, [sorted({row[1] for row in rows})])}
    return {job for job, on_job, condition in rows if not _is_met(condition, *states[on_job])}


def _is_met(condition: str, state: str, has_ended: bool) -> bool:
    return has_ended and (condition != SUCCESS or state == JobState.SUCCEEDED)
