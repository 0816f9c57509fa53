"""What may be changed on a job while it waits: its priority and its declared run time."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common import alarm
from berth.common.errors import ForbiddenError, Problems
from scheduling.models import Job
from scheduling.services.job_body.job import HIGHEST_PRIORITY, LONGEST_RUNTIME_S
from scheduling.services.job_body.reader import BodyReader
from scheduling.services.judging import URGENT_FROM
from scheduling.services.operating import require_operator
from scheduling.services.parking import NotWaitingError
from scheduling.states import WAITING
from tenants.models import User
from tenants.permissions import Action, can

PRIORITY: Final = "priority"
MAX_RUNTIME: Final = "max_runtime"


def change_job(user: User, job: Job, body: Any) -> Job:
    """Set what `body` names: `priority`, `max_runtime` (seconds; null takes the limit away).

    Raises InvalidError for wrong or unknown fields, ForbiddenError for urgency without the admin's role, NotWaitingError once
    the job has started: a run is held to what was declared when it was placed.
    """
    require_operator(user, job)
    changes = _read(body)
    if changes.get(PRIORITY, 0) >= URGENT_FROM and not can(user, Action.JOB_URGENT, job.tenant):
        raise ForbiddenError(_("A priority from %(urgent)d on needs the tenant admin's role."), urgent=URGENT_FROM)
    columns = {{PRIORITY: "priority", MAX_RUNTIME: "max_runtime_s"}[name]: value for name, value in changes.items()}
    with transaction.atomic():
        waiting = Job.objects.filter(pk=job.pk, state__in=[state.value for state in WAITING])
        if not (waiting.update(**columns) if columns else waiting.exists()):
            raise NotWaitingError
        alarm.ring("scheduling.cycle")
    job.refresh_from_db(fields=["priority", "max_runtime_s"])
    return job


def _read(body: Any) -> Mapping[str, Any]:
    problems = Problems()
    fields = BodyReader(body, problems)
    changes: dict[str, Any] = {}
    priority = fields.integer(PRIORITY, 0, HIGHEST_PRIORITY)
    limit = fields.integer(MAX_RUNTIME, 1, LONGEST_RUNTIME_S)
    if priority is not None:
        changes[PRIORITY] = priority
    elif isinstance(body, Mapping) and PRIORITY in body:
        fields.problem(PRIORITY, _("Must be a whole number from 0 to %d.") % HIGHEST_PRIORITY, code="range")
    if isinstance(body, Mapping) and MAX_RUNTIME in body:
        changes[MAX_RUNTIME] = limit
    fields.close()
    problems.raise_if_any()
    return changes
