"""What needs a person: fresh failures, and waits that only somebody's act can end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet

from berth.common import clock
from scheduling.models import Job, WaitReason
from scheduling.selectors.why_waiting import ASK
from scheduling.states import JobState
from tenants.models import Tenant, User

FRESH: Final = timedelta(hours=24)
LISTED: Final = 4


@dataclass(frozen=True, slots=True)
class Alarm:
    """`wait` for a job that waits for somebody's act; else the job has failed, and its end reason says how."""

    job: Job
    at: datetime
    wait: WaitReason | None


@dataclass(frozen=True, slots=True)
class Attention:
    alarms: tuple[Alarm, ...]
    total: int


def attention(user: User, tenant: Tenant | None, *, only_own: bool) -> Attention:
    """Fresh failures, the newest first, and waits, the longest first; at most four of `total`, where both are some of each.

    `only_own` narrows to the user's own jobs.
    """
    jobs: QuerySet[Job] = Job.objects.visible_to(user)
    if tenant is not None:
        jobs = jobs.filter(tenant=tenant)
    if only_own:
        jobs = jobs.filter(user=user)
    failed = (
        jobs.filter(state=JobState.FAILED, ended_at__gte=clock.now() - FRESH)
        .select_related("tenant", "queue", "user")
        .order_by("-ended_at", "-id")
    )
    waits = WaitReason.objects.filter(
        Q(code__in=sorted(ASK - {"suspended", "reserved"}))
        | Q(code="impossible")
        | Q(code="reserved") & ~Q(suggestion=""),
        until__isnull=True,
        job__state=JobState.QUEUED,
        job__in=jobs,
    ).select_related("job__tenant", "job__queue", "job__user")
    ended = [Alarm(job, job.ended_at or job.submitted_at, None) for job in failed[:LISTED]]
    waiting = [Alarm(wait.job, wait.since, wait) for wait in waits.order_by("job__eligible_at", "id")[:LISTED]]
    of_ended = max(LISTED // 2, LISTED - len(waiting))
    listed = ended[:of_ended]
    return Attention((*listed, *waiting[: LISTED - len(listed)]), failed.count() + waits.count())
