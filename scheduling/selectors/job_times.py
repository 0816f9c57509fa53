"""When a job's states began by the cluster's own clock, and how long its runs ran.

Transitions are written when the loop sees a change, a run's instants come from its pods: pages show only the latter, so that
header, timeline and list agree.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scheduling.models import Job, Run
from scheduling.selectors.job_events import JobEvent
from scheduling.states import TERMINAL, JobState


def runs_by_job(job_ids: Sequence[int]) -> dict[int, list[Run]]:
    """Runs with their instants alone, oldest first; one query."""
    found: dict[int, list[Run]] = defaultdict(list)
    for run in (
        Run.objects.filter(job_id__in=job_ids)
        .only("job_id", "admitted_at", "started_at", "ended_at")
        .order_by("number")
    ):
        found[run.job_id].append(run)
    return found


def ran_s(runs: Iterable[Run], now: datetime) -> float | None:
    """Seconds that all pods of a run ran, over all runs: waiting between them does not count. None where none ever did."""
    stretches = [
        (run.ended_at or now) - run.started_at
        for run in runs
        if run.started_at is not None and (run.ended_at or now) >= run.started_at
    ]
    return sum(stretch.total_seconds() for stretch in stretches) if stretches else None


def state_since(job: Job, runs: Sequence[Run], seen: datetime) -> datetime:
    """When the present state began; `seen` is when the loop wrote it down."""
    if job.ended_at is not None:
        return job.ended_at
    if job.state == JobState.RUNNING and runs and runs[-1].started_at is not None:
        return runs[-1].started_at
    return seen


def by_cluster_clock(job: Job, events: Sequence[JobEvent], runs: Sequence[Run]) -> list[JobEvent]:
    """The events with each state at its own instant, oldest first; no state goes before the one that it follows."""
    instants = {
        JobState.STARTING: [run.admitted_at for run in runs],
        JobState.RUNNING: [run.started_at for run in runs if run.started_at is not None],
        JobState.QUEUED: [run.ended_at for run in runs if run.ended_at is not None],
    } | dict.fromkeys(TERMINAL, [job.ended_at] if job.ended_at is not None else [])
    told: list[JobEvent] = []
    before = job.submitted_at
    for event in events:
        if event.kind == "job":
            own = instants.get(JobState(event.code), [])
            before = max((at for at in own if before <= at <= event.at), default=event.at)
            event = replace(event, at=before)
        told.append(event)
    return sorted(told, key=lambda each: each.at)
