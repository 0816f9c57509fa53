"""Quota of a tenant, and one of its queues: how much is mine, how much is left, who has the rest?"""

from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from berth.common.live import live_answer
from scheduling.selectors.effective_weights import WeightParts, weights_of_queues
from scheduling.selectors.freshness import current_freshness
from scheduling.selectors.job_list import JobFilters, job_page
from scheduling.selectors.loans import borrowed_by, lent_by
from scheduling.selectors.pool_load import pool_loads
from scheduling.selectors.queue_rows import queue_rows, tenant_pools, visible_queue
from scheduling.selectors.quota_lines import queue_quota_lines, tenant_quota_lines
from tenants.access.page_request import PageRequest
from tenants.models import Queue
from tenants.selectors.chosen_tenant import tenants_of

ONE_PPM: Final = 1_000_000


@login_required
@require_safe
def quota(request: PageRequest) -> HttpResponse:
    """The chosen tenant's lines, loans and queues; without a tenant, a choice of them."""
    freshness = current_freshness()
    tenant = request.tenant or None
    if tenant is None:
        return render(request, "scheduling/quota_choice.html", {"tenants": tenants_of(request.user)})

    def draw(region: dict[str, Any]) -> HttpResponse:
        context = {
            "tenant": tenant,
            "freshness": freshness,
            "lines": tenant_quota_lines(tenant),
            "borrowed": borrowed_by(tenant, request.user),
            "lent": lent_by(tenant, request.user),
            "queues": queue_rows(tenant),
            "overcommitted": pool_loads([pool for pool in tenant_pools(tenant) if pool.factor_ppm > ONE_PPM]),
            **region,
        }
        return render(
            request, "scheduling/quota_live.html" if region["is_region"] else "scheduling/quota.html", context
        )

    version = (freshness.cycle, tenant.pk)
    return live_answer(request, version=version, checked_at=freshness.checked_at, draw=draw)


@login_required
@require_safe
def queue(request: PageRequest, tenant: str, name: str) -> HttpResponse:
    """One queue's own lines and who stands in it. Raises NotFoundError."""
    freshness = current_freshness()
    seen = visible_queue(request.user, tenant, name)

    def draw(region: dict[str, Any]) -> HttpResponse:
        waiting = JobFilters(tenant=seen.tenant.slug, queue=seen.name, states=("queued",))
        running = JobFilters(tenant=seen.tenant.slug, queue=seen.name, states=("starting", "running", "stopping"))
        context = {
            "queue": seen,
            "freshness": freshness,
            "lines": queue_quota_lines(seen),
            "weights": _weights(seen),
            "waiting": _in_line(job_page(request.user, waiting, sort="oldest")),
            "running": job_page(request.user, running),
            **region,
        }
        return render(
            request, "scheduling/queue_live.html" if region["is_region"] else "scheduling/queue.html", context
        )

    return live_answer(request, version=freshness.cycle, checked_at=freshness.checked_at, draw=draw)


def _weights(queue: Queue) -> list[tuple[str, WeightParts]]:
    """Of the tenant among tenants, and of the queue among the tenant's where there are several."""
    found = weights_of_queues([queue.pk]).get(queue.pk)
    if found is None:
        return []
    tenant = (queue.tenant.slug, found.tenant)
    return [tenant, (f"{queue.tenant.slug}/{queue.name}", found.queue)] if found.queue.siblings else [tenant]


def _in_line(page: Any) -> Any:
    """The page's rows in the order of the line; jobs without a place yet stand last."""
    rows = sorted(
        page.rows, key=lambda row: (row.position is None, row.position.place if row.position else 0, row.job.pk)
    )
    return {"rows": rows, "total": page.total}
