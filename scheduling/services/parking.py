"""Suspend and resume: a user parks a waiting job; it keeps its place in line by its submit time."""

from typing import Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import alarm, clock
from berth.common.errors import ConflictError
from scheduling.models import Job, WaitReason
from scheduling.services.operating import require_operator
from scheduling.states import JobState
from scheduling.transitions import Cause, move_job
from tenants.models import User

SUSPENDED: Final = "suspended"


class NotWaitingError(ConflictError):
    code = "job-not-waiting"
    message = _("Only a waiting job can be suspended or changed.")


class NotSuspendedError(ConflictError):
    code = "job-not-suspended"
    message = _("Only a suspended job can be resumed.")


def suspend_job(user: User, job: Job) -> Job:
    """Queued → suspended. NotWaitingError in every other state."""
    require_operator(user, job)
    at = clock.now()
    with transaction.atomic():
        cause = Cause(reason=SUSPENDED, at=at, actor=user.get_username())
        if not move_job(job.pk, old=[JobState.QUEUED], new=JobState.SUSPENDED, cause=cause):
            raise NotWaitingError
        WaitReason.objects.filter(job=job, until__isnull=True).update(until=at)
        need = amounts_asked(job)
        WaitReason.objects.create(job=job, code=SUSPENDED, since=at, need=need, suggestion="resume", hint=need)
    job.refresh_from_db(fields=["state"])
    return job


def resume_job(user: User, job: Job) -> Job:
    """Suspended → queued, at its old place. NotSuspendedError in every other state."""
    require_operator(user, job)
    at = clock.now()
    with transaction.atomic():
        cause = Cause(reason="resumed", at=at, actor=user.get_username())
        if not move_job(job.pk, old=[JobState.SUSPENDED], new=JobState.QUEUED, cause=cause):
            raise NotSuspendedError
        WaitReason.objects.filter(job=job, until__isnull=True).update(until=at)
        alarm.ring("scheduling.cycle")
    job.refresh_from_db(fields=["state"])
    return job


def amounts_asked(job: Job) -> dict[str, int]:
    """What all pods ask for together, by resource key, in milli-cards, millicores and MiB; zeros left out."""
    need = {"gpu": 0, "cpu": 0, "memory_gib": 0}
    for replicas, cards_m, cpu_m, memory_mib in job.roles.values_list("replicas", "cards_m", "cpu_m", "memory_mib"):
        need["gpu"] += replicas * cards_m
        need["cpu"] += replicas * cpu_m
        need["memory_gib"] += replicas * memory_mib
    return {key: amount for key, amount in need.items() if amount}
