"""The list of jobs."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from berth.common.live import live_answer
from scheduling.selectors.freshness import current_freshness
from scheduling.selectors.job_list import job_page, matches_without_each
from scheduling.views.job_filters import chips, read_filters, read_sort
from tenants.access.page_request import PageRequest


@login_required
@require_safe
def jobs(request: PageRequest) -> HttpResponse:
    """Filters, sort and cursor are in the address: reload and share give the same rows."""
    freshness = current_freshness()
    tenant = request.tenant or None
    filters, sort = read_filters(request, tenant), read_sort(request)

    def draw(region: dict[str, object]) -> HttpResponse:
        page = job_page(request.user, filters, sort=sort, cursor=request.GET.get("cursor", ""))
        context = {
            "freshness": freshness,
            "page": page,
            "filters": filters,
            "sort": sort,
            "chips": chips(request, filters, tenant),
            "without": matches_without_each(request.user, filters) if not page.rows else [],
            **region,
        }
        return render(request, "scheduling/jobs_live.html" if region["is_region"] else "scheduling/jobs.html", context)

    return live_answer(request, version=freshness.cycle, checked_at=freshness.checked_at, draw=draw)
