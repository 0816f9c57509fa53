"""Statements: what do I owe, and can I check it?"""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from berth.common.errors import NotFoundError
from billing.selectors.statement_page import (
    STEP,
    group_jobs,
    line_segments,
    statement_list,
    statement_view,
    visible_statement,
)
from tenants.access.page_request import PageRequest
from tenants.permissions import Action, require


@login_required
@require_safe
def statements(request: PageRequest) -> HttpResponse:
    """Current versions, newest period first; of the chosen tenant, or of all that finance sees."""
    require(request.user, Action.STATEMENT_READ)
    tenant = request.tenant or None
    context = {"tenant": tenant, "statements": statement_list(request.user, tenant)}
    return render(request, "billing/statements.html", context)


@login_required
@require_safe
def statement(request: PageRequest, number: str) -> HttpResponse:
    """All lines on one page, so that it can be seen to add up. Raises NotFoundError."""
    found = visible_statement(request.user, number)
    require(request.user, Action.STATEMENT_READ, found.tenant)
    return render(request, "billing/statement.html", {"view": statement_view(found)})


@login_required
@require_safe
def drill(request: PageRequest, number: str) -> HttpResponse:
    """One step down, in place: `group` opens into its jobs, `line` into leases, segments and the price version.

    With `after`, only the rows that follow the first so many.
    """
    found = visible_statement(request.user, number)
    require(request.user, Action.STATEMENT_READ, found.tenant)
    after = _number(request, "after", default="0")
    if "line" in request.GET:
        line, segments, total = line_segments(found, _number(request, "line"), after=after)
        context = {"line": line, "segments": segments, "total": total, **_further(after + len(segments), total)}
        names = ("billing/line_segments.html", "billing/line_segment_rows.html")
    else:
        group, jobs = group_jobs(found, _number(request, "group"), after=after)
        context = {"group": group, "jobs": jobs, **_further(after + len(jobs), group.lines)}
        names = ("billing/group_jobs.html", "billing/group_job_rows.html")
    return render(request, names[bool(after)], {"statement": found, **context})


def _further(shown: int, total: int) -> dict[str, int]:
    """How many rows stand on the page by now, and how many the next step would add."""
    return {"shown": shown, "left": min(STEP, max(0, total - shown))}


def _number(request: PageRequest, name: str, *, default: str = "") -> int:
    text = request.GET.get(name, default)
    if not text.isdecimal() or len(text) > 18:
        raise NotFoundError
    return int(text)
