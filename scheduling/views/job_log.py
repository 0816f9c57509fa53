"""The logs on a job's page: which run and rank, the newest lines, and a sentence where there are none."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from berth.common import clock
from berth.common.errors import NotFoundError
from berth.common.live import live_answer
from berth.common.texts import without_controls
from scheduling.control.job_logs import JobLog, LogState, read_job_log
from scheduling.models import Job
from scheduling.selectors.job_logs import LogChoice, choose_log
from scheduling.selectors.job_page import visible_job
from tenants.access.page_request import PageRequest
from tenants.permissions import Action, can, require

LINES: Final = (200, 1_000, 5_000)
FEW: Final = 8
"""Of a failed job, beside how it ended."""
MOST_SHOWN: Final = 400_000
"""Characters of one page; a download has all of it."""


@dataclass(frozen=True, slots=True)
class LogCard:
    """What stands round the text: `query` names what is chosen, `lines` how many of the newest."""

    choice: LogChoice
    lines: int
    query: str
    download: str


@login_required
@require_safe
def job_log(request: PageRequest, job_id: int) -> HttpResponse:
    """The text alone, asked for again while the pod may write. NotFoundError for what is not visible, ForbiddenError by role."""
    seen = visible_job(request.user, job_id)
    require(request.user, Action.LOG_READ, seen.tenant)
    card = log_card(request, seen)
    log = read_job_log(card.choice, tail=card.lines)
    shown = shown_text(log)
    version = (log.state, log.why, log.whole, blake2b(shown.encode(), digest_size=12).hexdigest())

    def draw(region: dict[str, Any]) -> HttpResponse:
        context = {"log": log, "card": card, "shown": shown, "goes_on": _goes_on(log), "job": seen, **region}
        return render(request, "scheduling/job_log.html", context)

    return live_answer(request, version=version, checked_at=clock.wall_now(), draw=draw)


def log_card(request: PageRequest, job: Job) -> LogCard:
    """What the address asks for, as far as the job has it: a run or rank that is not there gives way to the usual one."""
    run, rank, lines = (_number(request.GET.get(name, "")) for name in ("run", "rank", "lines"))
    try:
        choice = choose_log(job, run=run, rank=rank)
    except NotFoundError:
        run, rank = None, None
        choice = choose_log(job)
    shown = lines if lines in LINES else LINES[0]
    given = {"run": run, "rank": rank, "lines": None if shown == LINES[0] else shown}
    query = urlencode({name: value for name, value in given.items() if value is not None})
    named = {"format": "text", "tail": 50_000}
    if choice.run is not None and choice.pod is not None:
        named |= {"run": choice.run.number, "rank": choice.pod.rank}
    return LogCard(choice, shown, query, f"{reverse('job-logs', args=[job.pk])}?{urlencode(named)}")


def last_words(request: PageRequest, job: Job) -> str:
    """The last lines that a failed job's first failing pod wrote, where they are kept; empty otherwise."""
    if job.state != "failed" or not can(request.user, Action.LOG_READ, job.tenant):
        return ""
    choice = choose_log(job)
    if choice.kept is None or not choice.kept.whole:
        return ""
    return shown_text(read_job_log(choice, tail=FEW)).strip("\n")


def shown_text(log: JobLog) -> str:
    return without_controls(log.text)[-MOST_SHOWN:]


def _goes_on(log: JobLog) -> bool:
    """Whether it is worth asking again by itself."""
    return log.state is LogState.LIVE or log.why in ("not-started", "starting", "busy", "unreachable")


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
