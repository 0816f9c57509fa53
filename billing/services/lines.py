"""From quantities to the lines of a statement: priced exactly, rounded once, nothing hidden (BIL-04, BIL-05, BIL-06)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from berth.common.money import round_in_groups, round_money
from billing.models import Adjustment, BillingPeriod, LedgerEntry, StatementLine
from billing.rating import Meter, MissingPriceError, Price, PriceList, worth
from billing.selectors.periods import Calendar
from billing.selectors.quantities import Quantity
from scheduling.models import Job

EXCLUSIONS = {
    LedgerEntry.HeldAs.GRACE.value: "grace",
    LedgerEntry.HeldAs.FAULT.value: "platform-fault",
    LedgerEntry.HeldAs.AFTER_LAST_SIGN.value: "platform-fault",
    LedgerEntry.HeldAs.SET_ASIDE.value: "set-aside",
}
"""Why something held is not charged, as the line says it (BIL-05). `held_as` beside it tells the two faults apart."""

OWN_NODES = "own-nodes"
LATE_USAGE = "late-usage"
_METERS = tuple(Meter)


class LineKey(NamedTuple):
    """What makes a line one line; its order is the order in which ties of rounding are broken."""

    job_id: int
    meter: int
    flavor_id: int
    borrowed: bool
    held_as: str
    charged_period_id: int
    rate_id: int
    adjustment_id: int


class GroupKey(NamedTuple):
    """What a statement shows as one row: meter, flavor, own or borrowed, how held, late or not; whose; at which price."""

    held: tuple[int, int, bool, str, int]
    without_job: bool
    price: Decimal
    adjustment_id: int


@dataclass(slots=True)
class _Sum:
    """What is being added up for one line."""

    price: Price | None
    first: datetime
    last: datetime
    quantity: int = 0
    posted: int = 0
    exact: Fraction = field(default_factory=Fraction)

    def add(self, quantity: Quantity, amount: int, exact: Fraction) -> None:
        self.quantity += amount
        self.posted += amount if quantity.posted else 0
        self.exact += exact
        self.first, self.last = min(self.first, quantity.first), max(self.last, quantity.last)


@dataclass(frozen=True, slots=True)
class Rated:
    """Lines without a statement yet, the prices that were missing, and adjustments in another currency than the statement's."""

    lines: list[StatementLine]
    missing: list[MissingPriceError]
    foreign: list[Adjustment] = field(default_factory=list)


def key_of(line: StatementLine) -> LineKey:
    """The key a stored line was made from."""
    return LineKey(
        line.job_id or 0,
        _METERS.index(Meter(line.meter)) if line.meter else -1,
        line.flavor_id or 0,
        line.borrowed,
        line.held_as,
        line.charged_period_id or 0,
        line.rate_id or 0,
        line.adjustment_id or 0,
    )


def rate(
    quantities: Iterable[Quantity],
    adjustments: Sequence[Adjustment],
    *,
    period: BillingPeriod,
    calendar: Calendar,
    prices: PriceList,
    flavors: dict[int, str],
    currency: str,
) -> Rated:
    """All lines of a period's statement. What has no price is left out and reported, never put at zero (B38).

    So is an adjustment in another currency: amounts of two are never added (B08).
    """
    sums: dict[LineKey, _Sum] = {}
    missing: dict[tuple[Meter, str], MissingPriceError] = {}
    for quantity in quantities:
        home = calendar.home(quantity.first)
        late = 0 if home.pk == period.pk else home.pk
        for meter, amount in meters(quantity):
            flavor = flavors.get(quantity.flavor_id or 0, "")
            charged = quantity.held_as == LedgerEntry.HeldAs.BILLABLE
            price = prices.find(meter, flavor, quantity.first)
            if price is None and charged:
                error = MissingPriceError(meter=meter, flavor=flavor, tenant=prices.tenant, instant=quantity.first)
                missing.setdefault((meter, flavor), error)
                continue
            key = _key(quantity, meter, late, price)
            sums.setdefault(key, _Sum(price, quantity.first, quantity.last)).add(
                quantity, amount, worth(meter, amount, price) if price else Fraction(0)
            )
    own = [each for each in adjustments if each.currency == currency]
    foreign = [each for each in adjustments if each.currency != currency]
    return Rated(_lines(sums, own, currency, flavors), [missing[key] for key in sorted(missing)], foreign)


def meters(quantity: Quantity) -> Iterator[tuple[Meter, int]]:
    """The meters a quantity runs, and how far; a meter that holds nothing is not named."""
    cards = Meter.BORROWED_CARD_HOUR if quantity.borrowed else Meter.CARD_HOUR
    for meter, amount in (
        (cards, quantity.cards),
        (Meter.CPU_CORE_HOUR, quantity.cpu),
        (Meter.MEMORY_GIB_HOUR, quantity.memory),
    ):
        if amount:
            yield meter, amount


def _key(quantity: Quantity, meter: Meter, late: int, price: Price | None) -> LineKey:
    return LineKey(
        job_id=quantity.job_id or 0,
        meter=_METERS.index(meter),
        flavor_id=quantity.flavor_id or 0,
        borrowed=meter is Meter.BORROWED_CARD_HOUR,
        held_as=quantity.held_as,
        charged_period_id=late,
        rate_id=price.id if price else 0,
        adjustment_id=0,
    )


def _lines(
    sums: dict[LineKey, _Sum], adjustments: Sequence[Adjustment], currency: str, flavors: dict[int, str]
) -> list[StatementLine]:
    posted = {LineKey(0, -1, 0, False, "", 0, 0, each.pk): each for each in adjustments}

    def shown_together(key: LineKey) -> GroupKey:
        """The lines that people read as one: they differ in the job and the price's version, not in its amount."""
        price = sums[key].price if key in sums else None
        amount = price.amount if price else Decimal(0)
        return GroupKey(key[1:6], key.job_id == 0, amount, key.adjustment_id)

    charged = {key: found.exact for key, found in sums.items() if key.held_as == LedgerEntry.HeldAs.BILLABLE}
    charged |= {key: Fraction(each.amount) for key, each in posted.items()}
    spared = {key: found.exact for key, found in sums.items() if key not in charged and found.price}
    amounts = round_in_groups(charged, shown_together, currency)
    worths = round_in_groups(spared, shown_together, currency)
    nothing = round_money(0, currency)
    jobs = _jobs({key.job_id for key in sums if key.job_id})
    lines = []
    for key in sorted([*sums, *posted]):
        line = _adjustment_line(posted[key]) if key in posted else _usage_line(key, sums[key], jobs, flavors)
        line.amount, line.worth = amounts.get(key, nothing), worths.get(key)
        lines.append(line)
    return lines


def _usage_line(key: LineKey, found: _Sum, jobs: dict[int, Job], flavors: dict[int, str]) -> StatementLine:
    charged = key.held_as == LedgerEntry.HeldAs.BILLABLE
    job = jobs.get(key.job_id)
    kind, reason = StatementLine.Kind.USAGE, "" if job else OWN_NODES
    if not charged:
        kind, reason = StatementLine.Kind.EXCLUDED, EXCLUSIONS[key.held_as]
    elif key.charged_period_id:
        kind, reason = StatementLine.Kind.ADJUSTMENT, LATE_USAGE
    return StatementLine(
        kind=kind,
        meter=_METERS[key.meter].value,
        flavor_id=key.flavor_id or None,
        flavor_name=flavors.get(key.flavor_id, ""),
        borrowed=key.borrowed,
        held_as=key.held_as,
        quantity=found.quantity,
        posted=found.posted,
        rate_id=key.rate_id or None,
        unit_price=found.price.amount if found.price else None,
        job=job,
        job_name=job.name if job else "",
        user_id=job.user_id if job else None,
        queue=job.queue if job else None,
        queue_name=job.queue.name if job else "",
        project=job.project if job else None,
        project_name=job.project.slug if job and job.project else "",
        charged_period_id=key.charged_period_id or None,
        charged_from=found.first,
        charged_to=found.last,
        reason=reason,
    )


def _adjustment_line(adjustment: Adjustment) -> StatementLine:
    refers_to = adjustment.refers_to
    return StatementLine(
        kind=adjustment.kind,
        adjustment=adjustment,
        charged_period_id=refers_to.period_id if refers_to else None,
        reason=adjustment.reason,
    )


def _jobs(ids: set[int]) -> dict[int, Job]:
    found = Job.objects.filter(pk__in=ids).select_related("queue", "project")
    return {job.pk: job for job in found.only("id", "name", "user_id", "queue__name", "project__slug")}
