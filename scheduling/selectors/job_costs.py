"""A job's cost in its three tenses: what it may cost, what billing has recorded so far, and what is not charged and why (SCH-20, BIL-05).

Amounts that stand on a job are the ones billing recorded; the estimate and the worth of what is not charged use published prices.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import BigIntegerField, F, Func, Sum

from berth.common import clock
from berth.common.units import MIB_PER_GIB, MILLI, UNITS_PER_CARD
from scheduling.models import EffectivePrice, Job, LeaseSegment
from scheduling.selectors.asked_cards import unit_of
from scheduling.states import JobState

SECONDS_PER_HOUR = 3600


class SecondsOf(Func):
    """Whole seconds of a range of instants, each end floored to its second, as bills count them (ADR 0013)."""

    template = "EXTRACT(EPOCH FROM date_trunc('second', upper(%(expressions)s)) - date_trunc('second', lower(%(expressions)s)))::bigint"
    output_field = BigIntegerField()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Whole-run estimate. `low` is None where only an upper bound can be told (a limit, but no expected run time)."""

    low: Decimal | None
    high: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class NotCharged:
    """Card-time that nobody pays for: segment kind, seconds × cards, and what it would have cost."""

    kind: str
    card_hours: Decimal
    worth: Decimal | None


@dataclass(frozen=True, slots=True)
class JobCost:
    """`tense` is the strong one: `estimate` before the first start, `so-far` while it may grow, `final` once billing said so."""

    tense: str
    estimate: Estimate | None
    so_far: Decimal | None
    as_of: datetime | None
    currency: str
    not_charged: tuple[NotCharged, ...]


def job_cost(job: Job) -> JobCost:
    """The job must carry its roles."""
    prices = _prices(job)
    tense = "final" if job.cost_final else "estimate" if job.started_at is None else "so-far"
    return JobCost(
        tense=tense,
        estimate=None if job.cost_final else _estimate(job, prices),
        so_far=job.cost_amount if job.cost_amount is not None else Decimal(0) if job.started_at is None else None,
        as_of=job.cost_as_of,
        currency=job.cost_currency or job.tenant.currency,
        not_charged=_not_charged(job, prices) if job.runs_count else (),
    )


def _prices(job: Job) -> Mapping[tuple[str, str], Decimal]:
    rows = EffectivePrice.objects.filter(tenant_id=job.tenant_id).values_list("meter", "flavor__name", "price")
    return {(meter, flavor or ""): price for meter, flavor, price in rows}


def _estimate(job: Job, prices: Mapping[tuple[str, str], Decimal]) -> Estimate | None:
    """None where no run time was declared, where a price is missing, and once the job has ended."""
    likely, limit = job.expected_runtime_s, job.max_runtime_s
    if job.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED) or (likely is None and limit is None):
        return None
    cheap = dear = Decimal(0)
    for role in job.roles.all():
        hourly = _hourly(role, prices)
        if hourly is None:
            return None
        cheap, dear = cheap + hourly[0], dear + hourly[1]
    longest = max(likely or 0, limit or 0)
    low = None if likely is None else cheap * likely / SECONDS_PER_HOUR
    return Estimate(low, dear * longest / SECONDS_PER_HOUR, job.tenant.currency)


def _hourly(role: Any, prices: Mapping[tuple[str, str], Decimal]) -> tuple[Decimal, Decimal] | None:
    """An hour of the role at its cheapest and dearest: over the flavors it accepts, own and borrowed, an instance by its sevenths."""
    plain = Decimal(role.replicas) * (
        Decimal(role.cpu_m) / MILLI * prices.get(("cpu_core_hour", ""), Decimal(0))
        + Decimal(role.memory_mib) / MIB_PER_GIB * prices.get(("memory_gib_hour", ""), Decimal(0))
    )
    if not role.cards_m:
        return plain, plain
    found = [
        price * unit_of(accepted.flavor.mig_profile) / UNITS_PER_CARD
        for accepted in role.role_flavors.all()
        for meter in ("card_hour", "borrowed_card_hour")
        if (price := prices.get((meter, accepted.flavor.name))) is not None
    ]
    if not found:
        return None
    cards = Decimal(role.replicas * role.cards_m) / MILLI
    return plain + cards * min(found), plain + cards * max(found)


def _not_charged(job: Job, prices: Mapping[tuple[str, str], Decimal]) -> tuple[NotCharged, ...]:
    rows: Any = (
        LeaseSegment.objects.filter(lease__run__job=job)
        .exclude(kind=LeaseSegment.Kind.BILLABLE)
        .values("kind", "borrowed", flavor=F("lease__flavor__name"))
        .annotate(unit_s=Sum(F("quantity") * SecondsOf("during")))
        .order_by()
    )
    hours: dict[str, Decimal] = defaultdict(Decimal)
    worth: dict[str, Decimal | None] = {}
    for row in rows:
        card_hours = Decimal(row["unit_s"] or 0) / UNITS_PER_CARD / SECONDS_PER_HOUR
        hours[row["kind"]] += card_hours
        price = prices.get(("borrowed_card_hour" if row["borrowed"] else "card_hour", row["flavor"] or ""))
        so_far = worth.get(row["kind"], Decimal(0))
        worth[row["kind"]] = None if price is None or so_far is None else so_far + card_hours * price
    return tuple(NotCharged(kind, hours[kind], worth[kind]) for kind in sorted(hours))


def running_estimate_end(job: Job) -> datetime | None:
    """When a running job would end by its expected run time; None where none was declared or it has passed."""
    if job.started_at is None or job.expected_runtime_s is None or job.state != JobState.RUNNING:
        return None
    end = job.started_at.timestamp() + job.expected_runtime_s
    at = datetime.fromtimestamp(end, tz=clock.now().tzinfo)
    return at if at > clock.now() else None
