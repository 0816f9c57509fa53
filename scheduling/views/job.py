"""One job: its page, and what a person may do to it."""

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from berth.common.live import live_answer
from scheduling.cluster.names import PREFIX
from scheduling.models import Job
from scheduling.selectors.freshness import current_freshness, reaching
from scheduling.selectors.job_page import job_view, visible_job
from scheduling.selectors.quota_lines import cohort_members
from scheduling.services.cancel import cancel_job
from scheduling.services.parking import resume_job, suspend_job
from scheduling.views.job_log import LINES, last_words, log_card
from tenants.access.page_request import PageRequest
from tenants.models import User
from tenants.permissions import Action, can
from tenants.scoping import sees_everything

GRACE_S: Final = {"development": 300, "batch": 30}
"""SCH-01: the notice a borrower gets before it has to give back."""


@login_required
@require_safe
def job(request: PageRequest, job_id: int) -> HttpResponse:
    """Why not yet, when, and what can I do? Raises NotFoundError for what is not visible."""
    seen = visible_job(request.user, job_id)
    freshness = current_freshness()

    def draw(region: dict[str, Any]) -> HttpResponse:
        view = job_view(request.user, seen)
        may_read = can(request.user, Action.LOG_READ, seen.tenant)
        context = {
            "view": view,
            "labels": sorted((key, value) for key, value in seen.labels.items() if not key.startswith(PREFIX)),
            "freshness": reaching(freshness, view.since),
            "named": cohort_members(seen.tenant) if view.loans else (),
            "sees_all": sees_everything(request.user),
            "grace_s": GRACE_S.get(seen.tier),
            "may_operate": _may_operate(request.user, seen),
            "may_submit": can(request.user, Action.JOB_SUBMIT, seen.tenant),
            "may_read_logs": may_read,
            "last_words": last_words(request, seen),
            **region,
        }
        if not region["is_region"]:
            context |= {"job": seen, "card": log_card(request, seen) if may_read else None, "log_lines": LINES}
        return render(request, "scheduling/job_live.html" if region["is_region"] else "scheduling/job.html", context)

    version = (freshness.cycle, seen.state, seen.cost_amount, seen.cost_as_of, seen.runs_count, seen.cancel_asked_at)
    return live_answer(request, version=version, checked_at=freshness.checked_at, draw=draw)


@login_required
@require_POST
def cancel(request: PageRequest, job_id: int) -> HttpResponse:
    """Confirmed in the page, with the sum, before it is sent here."""
    return _change(request, job_id, cancel_job, _("Cancelled. What it held is given back within its grace."))


@login_required
@require_POST
def suspend(request: PageRequest, job_id: int) -> HttpResponse:
    return _change(request, job_id, suspend_job, _("Suspended. It takes no place in line until you resume it."))


@login_required
@require_POST
def resume(request: PageRequest, job_id: int) -> HttpResponse:
    return _change(request, job_id, resume_job, _("Resumed. It is back in line by its original submit time."))


def _change(request: PageRequest, job_id: int, change: Callable[[User, Job], Job], done: str) -> HttpResponse:
    change(request.user, visible_job(request.user, job_id))
    messages.success(request, done)
    return redirect("job", job_id=job_id)


def _may_operate(user: User, job: Job) -> bool:
    own = job.user_id == user.pk
    return can(user, Action.JOB_OPERATE_ANY, job.tenant) or (own and can(user, Action.JOB_OPERATE, job.tenant))
