"""Cancel a job in whatever state it is (F37): what waits ends at once, what holds cards leaves within its grace."""

from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Coalesce, Least
from django.utils.translation import gettext_lazy as _

from berth.common import alarm, clock
from berth.common.errors import ConflictError
from scheduling.models import Job, Run
from scheduling.services.operating import require_operator
from scheduling.states import REQUEUED, EndReason, JobState, RunState
from scheduling.transitions import Cause, move_job, move_run
from tenants.models import User

CANCEL_GRACE: Final = timedelta(seconds=30)
LIVE: Final = (RunState.ADMITTED, RunState.STARTING, RunState.RUNNING)


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
    job.refresh_from_db()
    return job


def _cancel(job: Job, state: JobState, cause: Cause, user: User) -> None:
    asked: dict[str, Any] = {"cancel_asked_at": cause.at, "cancel_asked_by": user}
    if state in {JobState.QUEUED, JobState.SUSPENDED}:
        ended = {**asked, "end_reason": EndReason.CANCELLED.value}
        move_job(job.pk, old=[state], new=JobState.CANCELLED, cause=cause, changes=ended)
        return
    if state is JobState.STOPPING:
        Job.objects.filter(pk=job.pk).update(**asked)
        _hurry(job.pk, cause.at)
        return
    move_job(job.pk, old=[state], new=JobState.STOPPING, cause=cause, changes=asked)
    run = (
        Run.objects.filter(job_id=job.pk, state__in=[state.value for state in LIVE])
        .values_list("pk", flat=True)
        .first()
    )
    if run is not None:
        stop = {
            "stopping_at": cause.at,
            "grace_until": cause.at + CANCEL_GRACE,
            "stop_reason": EndReason.CANCELLED.value,
        }
        move_run(run, old=LIVE, new=RunState.STOPPING, cause=cause, changes=stop)


def _hurry(job_id: int, at: datetime) -> None:
    """A run that is leaving anyway leaves within the cancel's grace, and its job is not queued again."""
    sooner = Value(at + CANCEL_GRACE, output_field=DateTimeField())
    stopping = Run.objects.filter(job_id=job_id, state=RunState.STOPPING.value)
    stopping.update(grace_until=Least(Coalesce("grace_until", sooner), sooner))
    stopping.filter(stop_reason__in=[reason.value for reason in REQUEUED]).update(stop_reason=EndReason.CANCELLED.value)
