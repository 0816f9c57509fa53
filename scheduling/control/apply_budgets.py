"""What a start must pass where its tenant has a budget: the estimate is reserved before anything starts (BIL-10).

In the transaction that applies the plan, so that two starts never spend the same money. Billing settles what is reserved here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import F

from berth.common.units import MIB_PER_GIB, MILLI, PPM
from scheduling.control.preview_cost import S_PER_HOUR, Prices, card_rates, prices_of
from scheduling.engine.later import WHY as JOINS
from scheduling.engine.plan import Placement, Resize, Start, Wait
from scheduling.engine.snapshot import Flavor
from scheduling.engine.vocabulary import WaitCode
from scheduling.models import Job, Run
from scheduling.selectors.configured import configured
from scheduling.states import RunState
from tenants.models import BudgetGate
from tenants.services.budget import release_budget, reserve_budget

CENT: Final = Decimal("0.000001")


@dataclass(slots=True)
class Gated:
    """Starts that passed, what was reserved for them by job, and the waits of those that did not pass."""

    passed: list[Start] = field(default_factory=list)
    reserved: dict[int, Decimal] = field(default_factory=dict)
    waits: list[Wait] = field(default_factory=list)


def pass_gates(starts: Sequence[Start]) -> Gated:
    """Reserve what each start is expected to cost, in the plan's order; one query where nobody has a budget.

    A job whose estimate found no room keeps it, and the snapshot bars it until there is room: it holds up no cards meanwhile.
    A job that declares no run time has no estimate: it starts as long as anything is left.
    """
    gated = Gated()
    budgeted = frozenset(BudgetGate.objects.values_list("tenant_id", flat=True).distinct()) if starts else frozenset()
    if not budgeted:
        gated.passed = list(starts)
        return gated
    jobs = (
        Job.objects.filter(tenant__in=budgeted).select_related("tenant").in_bulk([int(start.job) for start in starts])
    )
    for start in starts:
        job = jobs.get(int(start.job))
        if job is None:
            gated.passed.append(start)
            continue
        amount = estimate(job, start)
        if reserve_budget(**_gate_keys(job), amount=amount):
            gated.passed.append(start)
            gated.reserved[job.pk] = amount
        else:
            Job.objects.filter(pk=job.pk).update(refused_estimate=amount)
            gated.waits.append(Wait(start.job, WaitCode.BUDGET, _need(start.pods)))
    return gated


def keep_reservations(gated: Gated, started: Sequence[int]) -> None:
    """Put what was reserved on the runs that began, and give back what was reserved for starts that did not happen."""
    begun = frozenset(started)
    for job_id, amount in sorted(gated.reserved.items()):
        if job_id in begun:
            Run.objects.filter(job_id=job_id).exclude(state="ended").update(budget_reserved=amount)
        else:
            release_budget(**_gate_keys(Job.objects.select_related("tenant").get(pk=job_id)), amount=amount)


@dataclass(slots=True)
class Growth:
    """Resizes that passed, and what was reserved for those that add pods, by job."""

    passed: list[Resize] = field(default_factory=list)
    reserved: dict[int, Decimal] = field(default_factory=dict)


def pass_growth(resizes: Sequence[Resize], *, now: datetime) -> Growth:
    """What a running job grows by has to be covered as well, for the time that is left of what it declares (SCH-10). Where it is not,
    the job keeps its size, and is looked at again after its cooldown."""
    growth = Growth()
    adding = [resize for resize in resizes if resize.added and resize.reason != JOINS]
    tenants = BudgetGate.objects.values_list("tenant_id", flat=True).distinct()
    runs = {
        run.job_id: run
        for run in Run.objects.filter(
            job__in=[int(resize.job) for resize in adding], job__tenant__in=tenants, state=RunState.RUNNING.value
        ).select_related("job__tenant")
    } if adding else {}  # fmt: skip
    for resize in resizes:
        run = runs.get(int(resize.job)) if resize in adding else None
        if run is None:
            growth.passed.append(resize)
            continue
        amount = _estimate_growth(run, resize, now)
        if reserve_budget(**_gate_keys(run.job), amount=amount):
            growth.passed.append(resize)
            growth.reserved[run.job_id] = amount
        else:
            Run.objects.filter(pk=run.pk).update(last_resize_at=now)
    return growth


def keep_growth(growth: Growth, changed: Sequence[int]) -> None:
    """Put what was reserved on the runs that grew (`changed`, among others), and give the rest back."""
    if not growth.reserved:
        return
    grown = dict(Run.objects.filter(pk__in=changed, job__in=growth.reserved).values_list("job_id", "pk"))
    for job_id, amount in sorted(growth.reserved.items()):
        if job_id in grown:
            Run.objects.filter(pk=grown[job_id]).update(budget_reserved=F("budget_reserved") + amount)
        else:
            release_budget(**_gate_keys(Job.objects.select_related("tenant").get(pk=job_id)), amount=amount)


def _estimate_growth(run: Run, resize: Resize, now: datetime) -> Decimal:
    """Of the pods added alone; 0 where no run time is declared or the declared one is over."""
    declared = run.job.expected_runtime_s or run.job.max_runtime_s
    if declared is None or run.started_at is None:
        return Decimal(0)
    seconds = max(0, declared - int((now - run.started_at).total_seconds()))
    _currency, prices = prices_of(run.job.tenant_id)
    flavors = _flavors()
    hourly = sum((_hourly(pod, flavors, prices) for pod in resize.added), Decimal(0))
    return (hourly * seconds / S_PER_HOUR).quantize(CENT)


def estimate(job: Job, start: Start) -> Decimal:
    """What the run would cost as placed, if it runs as long as declared (expected, else the limit); 0 where none is declared."""
    seconds = job.expected_runtime_s or job.max_runtime_s
    if seconds is None:
        return Decimal(0)
    _currency, prices = prices_of(job.tenant_id)
    flavors = _flavors()
    hourly = sum((_hourly(pod, flavors, prices) for pod in start.pods), Decimal(0))
    slowdown = Decimal(PPM + start.slowdown_ppm) / PPM
    return (hourly * seconds * slowdown / S_PER_HOUR).quantize(CENT)


def _flavors() -> Mapping[int, Flavor]:
    return {int(flavor.id): flavor for flavor in configured().flavors}


def _hourly(pod: Placement, flavors: Mapping[int, Flavor], prices: Prices) -> Decimal:
    """One pod for an hour, its borrowed cards at their own price; what has no price is not counted."""
    plain = Decimal(pod.cpu_m) / MILLI * prices.get(("cpu_core_hour", None), Decimal(0)) + Decimal(
        pod.memory_mib
    ) / MIB_PER_GIB * prices.get(("memory_gib_hour", None), Decimal(0))
    flavor = flavors.get(int(pod.flavor)) if pod.cards_m and pod.flavor is not None else None
    rates = card_rates(flavor, prices) if flavor is not None else None
    if rates is None:
        return plain
    own, borrowed = rates
    return plain + (Decimal(pod.cards_m - pod.borrowed_m) * own + Decimal(pod.borrowed_m) * borrowed) / MILLI


def _need(pods: Sequence[Placement]) -> dict[str, int]:
    totals = {
        "gpu": sum(pod.cards_m for pod in pods),
        "cpu": sum(pod.cpu_m for pod in pods),
        "memory_gib": sum(pod.memory_mib for pod in pods),
    }
    return {key: amount for key, amount in totals.items() if amount}


def _gate_keys(job: Job) -> dict[str, Any]:
    return {
        "tenant_id": job.tenant_id,
        "queue_id": job.queue_id,
        "project_id": job.project_id,
        "currency": job.tenant.currency,
    }
