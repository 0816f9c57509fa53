"""Everything that happened to a job as one timeline: states, reasons to wait, notices, loans, and what was not charged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Max, Min, Sum
from django.db.models.functions import Lower, Upper

from scheduling.models import Job, LeaseSegment, Loan, Preemption, Run, RunResize, Transition, WaitReason
from scheduling.selectors.job_costs import SecondsOf

UNITS_PER_CARD = 7000
MOST_WAITS = 500


@dataclass(frozen=True, slots=True)
class JobEvent:
    """`kind`: `job`, `run`, `wait`, `preempt`, `resize`, `loan`, `not-charged`, `checkpoint`; `code` is of that kind's closed list.

    `until` where the thing lasted and has ended or a date is known; `card_s` whole card-seconds of what was not charged;
    `cards_m` milli-cards of a loan; `role`, `old` and `new` pods of a resize.
    """

    at: datetime
    kind: str
    code: str
    reason: str = ""
    message: str = ""
    actor: str = ""
    run: int | None = None
    cycle: int | None = None
    until: datetime | None = None
    cards_m: int | None = None
    card_s: int | None = None
    wait: WaitReason | None = None
    role: str = ""
    old: int | None = None
    new: int | None = None


def job_events(job: Job) -> list[JobEvent]:
    """Oldest first; seven queries. Names nobody but the job's own people."""
    runs = list(job.runs.order_by("number"))
    numbers = {run.pk: run.number for run in runs}
    events = [
        *_transitions(job, numbers),
        *_waits(job),
        *_preemptions(job, numbers),
        *_resizes(job, numbers),
        *_loans(job, numbers),
        *_not_charged(job),
        *_checkpoints(job, runs),
    ]
    return sorted(events, key=lambda event: event.at)


def _transitions(job: Job, numbers: dict[int, int]) -> Iterator[JobEvent]:
    rows = Transition.objects.filter(job_id=job.pk, at__gte=job.submitted_at).order_by("at", "id")
    for row in rows:
        yield JobEvent(
            at=row.at,
            kind=row.subject,
            code=row.new,
            reason=row.reason,
            message=row.message,
            actor=row.actor,
            run=numbers.get(row.run_id) if row.run_id else None,
            cycle=row.cycle_id,
        )


def _waits(job: Job) -> Iterator[JobEvent]:
    for row in WaitReason.objects.filter(job=job).order_by("-id")[:MOST_WAITS]:
        yield JobEvent(at=row.since, kind="wait", code=row.code, cycle=row.cycle_id, until=row.until, wait=row)


def _preemptions(job: Job, numbers: dict[int, int]) -> Iterator[JobEvent]:
    for row in Preemption.objects.filter(job=job).order_by("id"):
        yield JobEvent(
            at=row.notice_at,
            kind="preempt",
            code=row.reason,
            reason=row.outcome,
            run=numbers.get(row.run_id),
            cycle=row.cycle_id,
            until=row.left_at or row.grace_until,
        )


def _resizes(job: Job, numbers: dict[int, int]) -> Iterator[JobEvent]:
    for row in RunResize.objects.filter(run__job=job).order_by("id"):
        yield JobEvent(
            at=row.at,
            kind="resize",
            code=row.reason,
            run=numbers.get(row.run_id),
            cycle=row.cycle_id,
            role=row.role_name,
            old=row.old,
            new=row.new,
        )


def _loans(job: Job, numbers: dict[int, int]) -> Iterator[JobEvent]:
    for row in Loan.objects.filter(run__job=job).order_by("id"):
        run = numbers.get(row.run_id)
        yield JobEvent(
            at=row.opened_at, kind="loan", code="opened", run=run, until=row.expires_at, cards_m=row.amount_m
        )
        if row.ended_at is not None:
            yield JobEvent(at=row.ended_at, kind="loan", code="ended", reason=row.why, run=run, cards_m=row.amount_m)


def _checkpoints(job: Job, runs: Sequence[Run]) -> Iterator[JobEvent]:
    """Of each run the last checkpoint that it reported whole, and that it began from an earlier one's."""
    saved = False
    for run in runs:
        if run.resumes and run.started_at is not None:
            yield JobEvent(at=run.started_at, kind="checkpoint", code="resumed" if saved else "asked", run=run.number)
        if run.checkpoint_at is not None:
            path = run.checkpoint_path or f"{job.checkpoint_path.rstrip('/')}/r{run.number}"
            yield JobEvent(at=run.checkpoint_at, kind="checkpoint", code="saved", message=path, run=run.number)
            saved = True


def _not_charged(job: Job) -> Iterator[JobEvent]:
    rows: Any = (
        LeaseSegment.objects.filter(lease__run__job=job)
        .exclude(kind=LeaseSegment.Kind.BILLABLE)
        .values("kind", number=F("lease__run__number"))
        .annotate(start=Min(Lower("during")), end=Max(Upper("during")), units=Sum(F("quantity") * SecondsOf("during")))
        .order_by("number", "kind")
    )
    for row in rows:
        yield JobEvent(
            at=row["start"],
            kind="not-charged",
            code=row["kind"],
            run=row["number"],
            until=row["end"],
            card_s=int(row["units"] or 0) // UNITS_PER_CARD,
        )
