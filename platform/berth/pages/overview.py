"""The overview: can I board now, and what of mine needs me? It mixes quota, jobs, cluster and money, so it lives here."""

from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from berth.common.live import live_answer
from billing.selectors.statement_page import month_so_far
from scheduling.selectors.attention import attention
from scheduling.selectors.cluster_state import ClusterState, cluster_state
from scheduling.selectors.freshness import current_freshness
from scheduling.selectors.job_list import worst_first
from scheduling.selectors.quota_lines import tenant_quota_lines
from tenants.access.page_request import PageRequest

JOBS_SHOWN: Final = 6
RUNG_PERCENT: Final = (80, 85, 90)
"""LIM-02: from these shares of held cards on, the next rung of the request ladder is in force."""


@dataclass(frozen=True, slots=True)
class Fill:
    """Cards in service that are held, over the pools the reader sees, in milli-cards."""

    held: int
    total: int

    @property
    def free(self) -> int:
        return max(0, self.total - self.held)

    @property
    def rung(self) -> int:
        return 1 + sum(self.held * 100 >= limit * self.total for limit in RUNG_PERCENT) if self.total else 1


@login_required
@require_safe
def overview(request: PageRequest) -> HttpResponse:
    """Of the chosen tenant; of everything one may see where none is chosen."""
    freshness = current_freshness()
    tenant = request.tenant or None
    user = request.user

    def draw(region: dict[str, Any]) -> HttpResponse:
        state = cluster_state(user)
        rows, total = worst_first(user, tenant, only_own=False, size=JOBS_SHOWN)
        lines = tenant_quota_lines(tenant) if tenant else []
        context = {
            "tenant": tenant,
            "freshness": freshness,
            "attention": attention(user, tenant, only_own=False),
            "lines": [
                line for line in lines if line.resource == "gpu" and (line.nominal or line.held or line.can_borrow)
            ],
            "state": state,
            "fill": _fill(state),
            "rows": rows,
            "rows_total": total,
            "month": month_so_far(user, tenant) if tenant else None,
            **region,
        }
        return render(request, "pages/overview_live.html" if region["is_region"] else "pages/overview.html", context)

    version = (freshness.cycle, freshness.state, tenant.pk if tenant else None)
    return live_answer(request, version=version, checked_at=freshness.checked_at, draw=draw)


def _fill(state: ClusterState) -> Fill:
    loads = [load for pool in state.pools for load in pool.flavors]
    return Fill(sum(load.in_cards(load.held) for load in loads), sum(load.in_cards(load.total) for load in loads))
