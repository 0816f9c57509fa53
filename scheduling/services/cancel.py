"""Cancel a job in whatever state it is (F37): what waits ends at once, what holds cards leaves within its grace."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Coalesce, Least
from django.utils.translation import gettext_lazy as _

from berth.common import alarm, clock
from berth.common.errors import ConflictError
from scheduling.models import Job, Run
from scheduling.services.operating import require_operator
from scheduling.states import EndReason, JobState, RunState
from scheduling.transitions import CANCEL_GRACE, Cause, begin_stops, move_job
from tenants.models import User


class JobEndedError(ConflictError):
    code = "job-ended"
    message = _("The job has already ended.")


def cancel_job(user: User, job: Job) -> Job:
    """The job as it is then. Cancelling twice changes nothing more; JobEndedError once it ended otherwise.

    Its row is locked first: whichever of loop and user comes second sees what the other did.
    """
    require_operator(user, job)
    with transaction.atomic():
        found = Job.objects.select_for_update(of=("self",)).get(pk=job.pk)
        state = JobState(found.state)
        if state in {JobState.SUCCEEDED, JobState.FAILED}:
            raise JobEndedError
        if state is not JobState.CANCELLED and found.cancel_asked_at is None:
            _cancel(found, state, Cause(reason="cancelled", at=clock.now(), actor=user.get_username()), user)
            alarm.ring("scheduling.cycle")
    job.refresh_from_db(fields=["state", "end_reason", "ended_at"])
    return job


def _cancel(job: Job, state: JobState, cause: Cause, user: User) -> None:
    asked: dict[str, Any] = {"cancel_asked_at": cause.at, "cancel_asked_by": user}
    if state in {JobState.QUEUED, JobState.SUSPENDED}:
        ended = {**asked, "end_reason": EndReason.CANCELLED.value}
        move_job(job.pk, old=[state], new=JobState.CANCELLED, cause=cause, changes=ended)
        return
    Job.objects.filter(pk=job.pk).update(**asked)
    live = Run.objects.filter(job_id=job.pk, ended_at__isnull=True).values_list("pk", flat=True)
    begin_stops(list(live), stop_reason=EndReason.CANCELLED, grace=CANCEL_GRACE, cause=cause)
    if state is JobState.STOPPING:
        _hurry(job.pk, cause.at)


def _hurry(job_id: int, at: datetime) -> None:
    """A run that is leaving anyway leaves within the cancel's grace; why it leaves stays true."""
    sooner = Value(at + CANCEL_GRACE, output_field=DateTimeField())
    stopping = Run.objects.filter(job_id=job_id, state=RunState.STOPPING.value)
    stopping.update(grace_until=Least(Coalesce("grace_until", sooner), sooner))
