"""What each job cost so far, from the ledger and from what it holds now, put on the job by scheduling (one amount everywhere)."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from fractions import Fraction

from django.db import transaction
from django.db.models import F, Q

from berth.common import clock
from berth.common.money import round_money
from billing import ledger
from billing.models import LedgerEntry
from billing.rating import MissingPriceError, PriceList, worth
from billing.selectors.held import going_on_of, not_posted, unsettled_jobs
from billing.selectors.prices import flavor_names, price_list
from billing.selectors.quantities import Quantity, of_held, of_jobs
from billing.services.lines import meters
from billing.services.metering import meter_jobs, meter_new, meter_nodes
from scheduling.models import Job, Run
from scheduling.services.budgets import settle_budgets
from scheduling.services.costs import RecordedCost, record_job_cost
from scheduling.states import RunState
from tenants.models import Tenant
from tenants.services.budget import hold_gates

logger = logging.getLogger(__name__)
_JOBS_AT_ONCE = 500


def record_costs(job_ids: Sequence[int]) -> int:
    """Meter the jobs, work out their cost and put it on them; returns how many took it.

    A job's cost is final when it has ended and no run of it goes on. Where a price is missing the cost stays
    unknown, and the gap is logged: it is never put at zero (B38).
    """
    jobs = Job.objects.filter(pk__in=list(job_ids)).order_by("id")
    return _record_all(jobs.values_list("tenant_id", "id"), look_again=True)


def settle_ended() -> int:
    """Record the final cost of jobs that ended since the last look, whether or not somebody rang for them.

    Jobs whose cost could not be told (no price) are left to the sweep of each minute.
    """
    tried = Q(cost_amount__isnull=True, cost_as_of__gt=F("ended_at"))
    ended = unsettled_jobs().filter(ended_at__isnull=False).exclude(tried)
    return record_costs(list(ended.values_list("pk", flat=True)))


def meter_running() -> int:
    """Once a minute: meter segments and nodes that ended, and record what running jobs cost so far."""
    owners = Tenant.objects.filter(own_pools__isnull=False).distinct().order_by("id")
    for tenant_id in owners.values_list("id", flat=True):
        meter_nodes(tenant_id)
    return _record_all(unsettled_jobs().values_list("tenant_id", "pk"), look_again=False)


def rerate(tenant_ids: Sequence[int]) -> int:
    """Record anew what jobs of open periods cost, after a price changed."""
    jobs = LedgerEntry.objects.filter(tenant_id__in=list(tenant_ids), period__state="open", job__isnull=False)
    return record_costs(sorted(set(jobs.order_by().values_list("job_id", flat=True))))


def _by_tenant(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = defaultdict(list)
    for tenant_id, job_id in pairs:
        found[tenant_id].append(job_id)
    return sorted(found.items())


def _record_all(pairs: Iterable[tuple[int, int]], *, look_again: bool) -> int:
    """With `look_again` also what was metered before is compared with its segments; else only what is new is metered."""
    recorded = 0
    for tenant_id, job_ids in _by_tenant(pairs):
        for first in range(0, len(job_ids), _JOBS_AT_ONCE):
            recorded += _record(tenant_id, job_ids[first : first + _JOBS_AT_ONCE], look_again=look_again)
    return recorded


def _record(tenant_id: int, job_ids: list[int], *, look_again: bool) -> int:
    with transaction.atomic():
        ledger.hold_tenant(tenant_id)
        budgeted = hold_gates(tenant_id)
        # The instant first, the facts after it: what ends in between is in neither the ledger nor the past.
        now = clock.now()
        tenant = Tenant.objects.get(pk=tenant_id)
        ended = set(Job.objects.filter(pk__in=job_ids, ended_at__isnull=False).values_list("pk", flat=True))
        if look_again:
            meter_jobs(tenant_id, job_ids)
        else:
            meter_new(tenant_id, Job.objects.filter(pk__in=job_ids))
        holding = set(
            Run.objects.filter(job__in=job_ids).exclude(state=RunState.ENDED.value).values_list("job_id", flat=True)
        )
        amounts = _amounts(job_ids, price_list(tenant), now)
        costs = [
            RecordedCost(
                job_id,
                None if exact is None else round_money(exact, tenant.currency),
                tenant.currency,
                exact is not None and job_id in ended - holding,
            )
            for job_id, exact in amounts.items()
        ]
        before = dict(Job.objects.filter(pk__in=job_ids).values_list("pk", "cost_amount"))
        took = record_job_cost(costs, as_of=now)
        if budgeted:
            known = {cost.job_id: cost.amount for cost in costs if cost.amount is not None}
            settle_budgets({job: amount - (before.get(job) or 0) for job, amount in known.items()})
        return took


def _amounts(job_ids: list[int], prices: PriceList, now: datetime) -> dict[int, Fraction | None]:
    """Exact cost of each job; None where a price is missing."""
    flavors = flavor_names()
    amounts: dict[int, Fraction | None] = {job_id: Fraction(0) for job_id in job_ids}
    for quantity in _held_by(job_ids, prices, now):
        job_id = quantity.job_id or 0
        so_far = amounts[job_id]
        if so_far is None:
            continue
        try:
            amounts[job_id] = so_far + _cost(quantity, prices, flavors.get(quantity.flavor_id or 0, ""))
        except MissingPriceError as error:
            logger.warning("cost unknown job=%s error=%s", job_id, error)
            amounts[job_id] = None
    return amounts


def _held_by(job_ids: list[int], prices: PriceList, now: datetime) -> list[Quantity]:
    changes = prices.changes()
    found = list(of_jobs(job_ids, changes=changes))
    for held in not_posted(going_on_of(job_ids=job_ids)):
        whole = held.until(now)
        if whole is not None and held.held_as == LedgerEntry.HeldAs.BILLABLE:
            found += of_held(held, whole, changes=changes)
    return found


def _cost(quantity: Quantity, prices: PriceList, flavor: str) -> Fraction:
    return sum(
        (worth(meter, amount, prices.price_at(meter, flavor, quantity.first)) for meter, amount in meters(quantity)),
        Fraction(0),
    )
