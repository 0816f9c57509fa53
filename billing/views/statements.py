"""Statements: what do I owe, and can I check it?"""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from berth.common.errors import NotFoundError
from billing.selectors.statement_page import (
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
    """One step down, in place: `group` opens into its jobs, `line` into leases, segments and the price version."""
    found = visible_statement(request.user, number)
    require(request.user, Action.STATEMENT_READ, found.tenant)
    if "line" in request.GET:
        line, segments, total = line_segments(found, _number(request, "line"))
        context = {"statement": found, "line": line, "segments": segments, "total": total}
        return render(request, "billing/line_segments.html", context)
    group, jobs = group_jobs(found, _number(request, "group"))
    return render(request, "billing/group_jobs.html", {"statement": found, "group": group, "jobs": jobs})


def _number(request: PageRequest, name: str) -> int:
    text = request.GET.get(name, "")
    if not text.isdecimal() or len(text) > 18:
        raise NotFoundError
    return int(text)
