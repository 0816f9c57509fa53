"""A statement as a person reads and checks it: lines of a kind added up, opened into jobs, then into leases, segments and price versions.

Every level repeats its total, and every total is the sum of the level below (BIL-08). Nothing here rates or rounds anew.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django.db.models import Count, Min, Sum

from berth.common.errors import NotFoundError
from berth.common.money import round_money
from billing.models import Budget, LedgerEntry, Statement, StatementLine
from billing.rating import PER_UNIT, Meter
from billing.selectors.documents import entries_of, lines_of, statements, versions_of
from tenants.models import Tenant, User

LISTED: Final = 100
STEP: Final = 100
GROUP: Final = ("kind", "meter", "flavor_name", "borrowed", "held_as", "reason", "unit_price", "charged_period__label")
BY_HAND: Final = (StatementLine.Kind.ADJUSTMENT.value, StatementLine.Kind.CREDIT.value)
ENTRY_QUANTITY: Final = {
    Meter.CARD_HOUR.value: "cards_u7000",
    Meter.BORROWED_CARD_HOUR.value: "cards_u7000",
    Meter.CPU_CORE_HOUR.value: "cpu_m",
    Meter.MEMORY_GIB_HOUR.value: "memory_mib",
}


@dataclass(frozen=True, slots=True)
class Group:
    """Lines that differ in nothing but the job. `units` in the meter's unit; `exact` only where rounding moved a cent."""

    key: int
    kind: str
    meter: str
    flavor: str
    borrowed: bool
    held_as: str
    reason: str
    unit_price: Decimal | None
    late_period: str
    units: Decimal | None
    amount: Decimal
    worth: Decimal | None
    lines: int
    exact: Decimal | None


@dataclass(frozen=True, slots=True)
class JobLine:
    """One line: one job's part of a group."""

    line: StatementLine
    units: Decimal | None


@dataclass(frozen=True, slots=True)
class Segment:
    """One ledger entry of a line: whose lease it came from, from when to when, how much of the line's unit."""

    entry: LedgerEntry
    units: Decimal


@dataclass(frozen=True, slots=True)
class StatementView:
    """`charged` add up to the total; `excluded` cost nothing and say what they would have."""

    statement: Statement
    charged: tuple[Group, ...]
    excluded: tuple[Group, ...]
    versions: tuple[str, ...]

    @property
    def moved(self) -> bool:
        """Whether rounding moved a cent in some line."""
        return any(group.exact is not None for group in self.charged)

    @property
    def worth_excluded(self) -> Decimal:
        return sum((group.worth or Decimal(0) for group in self.excluded), Decimal(0))


def statement_list(user: User, tenant: Tenant | None) -> list[Statement]:
    """Current versions the user may see, newest period first, at most 100."""
    rows = statements().filter(pk__in=Statement.objects.visible_to(user).values("pk"), superseded_at__isnull=True)
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    return list(rows.order_by("-period__starts_at", "tenant__slug", "-id")[:LISTED])


def visible_statement(user: User, number: str) -> Statement:
    """Raises NotFoundError, also for what is not visible."""
    found: Statement | None = (
        statements().filter(pk__in=Statement.objects.visible_to(user).values("pk"), number=number).first()
    )
    if found is None:
        raise NotFoundError
    return found


def statement_view(statement: Statement) -> StatementView:
    """In two queries, however many lines there are."""
    groups = sorted(_groups(statement), key=_reading_order)
    return StatementView(
        statement=statement,
        charged=tuple(group for group in groups if group.kind != StatementLine.Kind.EXCLUDED),
        excluded=tuple(group for group in groups if group.kind == StatementLine.Kind.EXCLUDED),
        versions=tuple(versions_of(statement)),
    )


def group_jobs(statement: Statement, key: int, *, after: int = 0) -> tuple[Group, list[JobLine]]:
    """The next hundred lines of the group that holds line `key` (any of its lines names it) after the `after` dearest.

    Raises NotFoundError.
    """
    group = next((found for found in _groups(statement) if found.key == key), None)
    named = lines_of(statement).filter(pk=key).first()
    if group is None or named is None:
        raise NotFoundError
    same = {name.removesuffix("__label"): getattr(named, name.removesuffix("__label")) for name in GROUP}
    lines = lines_of(statement).filter(**same).order_by("-amount", "-worth", "id")[after : after + STEP]
    return group, [JobLine(line, units_of(line.meter, line.quantity)) for line in lines]


def line_segments(statement: Statement, line_id: int, *, after: int = 0) -> tuple[StatementLine, list[Segment], int]:
    """The next hundred ledger entries of one line in time order, and how many there are in all. Raises NotFoundError."""
    line = lines_of(statement).select_related("rate__price_book").filter(pk=line_id).first()
    if line is None or line.charged_from is None or line.meter not in ENTRY_QUANTITY:
        raise NotFoundError
    entries = entries_of(line).order_by("starts_at", "id")
    total = entries.count()
    field = ENTRY_QUANTITY[line.meter]
    return (
        line,
        [
            Segment(entry, units_of(line.meter, getattr(entry, field) * entry.seconds) or Decimal(0))
            for entry in entries[after : after + STEP]
        ],
        total,
    )


def units_of(meter: str, quantity: Decimal | int) -> Decimal | None:
    """A metered integer in the meter's unit, to six decimals; None where the line is not metered."""
    if not meter or meter not in Meter._value2member_map_:
        return None
    return _decimal(Fraction(int(quantity), PER_UNIT[Meter(meter)])) if Meter(meter) in PER_UNIT else Decimal(quantity)


@dataclass(frozen=True, slots=True)
class MonthSoFar:
    """The open period's draft and the budget over it; `budget` None where there is none."""

    statement: Statement
    budget: Decimal | None


def month_so_far(user: User, tenant: Tenant) -> MonthSoFar | None:
    """Of the newest open period; None before billing has written a draft, or where the user may not see it."""
    visible = Statement.objects.visible_to(user).values("pk")
    draft = (
        statements()
        .filter(pk__in=visible, tenant=tenant, superseded_at__isnull=True, period__state="open")
        .order_by("-period__starts_at")
        .first()
    )
    if draft is None:
        return None
    budget = Budget.objects.filter(
        tenant=tenant, queue__isnull=True, project__isnull=True, ended_at__isnull=True, currency=draft.currency
    ).first()
    return MonthSoFar(draft, budget.amount if budget else None)


def _reading_order(group: Group) -> tuple[Any, ...]:
    """Usage before corrections, cards before CPU and memory, own before borrowed."""
    meters = [meter.value for meter in Meter]
    return (
        group.kind in BY_HAND,
        not group.meter.endswith("card_hour"),
        group.flavor,
        meters.index(group.meter) if group.meter in meters else len(meters),
        group.held_as,
        group.borrowed,
        group.key,
    )


def _groups(statement: Statement) -> list[Group]:
    rows = (
        StatementLine.objects.filter(statement=statement)
        .order_by()
        .values(*GROUP)
        .annotate(total=Sum("quantity"), sum=Sum("amount"), would=Sum("worth"), count=Count("pk"), first=Min("pk"))
        .order_by("first")
    )
    return [_group(row, statement.currency) for row in rows]


def _group(row: dict[str, Any], currency: str) -> Group:
    exact = _exact(row)
    moved = exact is not None and row["kind"] == StatementLine.Kind.USAGE and round_money(exact, currency) != row["sum"]
    return Group(
        key=row["first"],
        kind=row["kind"],
        meter=row["meter"],
        flavor=row["flavor_name"],
        borrowed=row["borrowed"],
        held_as=row["held_as"],
        reason=row["reason"],
        unit_price=row["unit_price"],
        late_period=row["charged_period__label"] or "",
        units=units_of(row["meter"], row["total"]) if row["meter"] else None,
        amount=row["sum"],
        worth=row["would"],
        lines=row["count"],
        exact=_decimal(exact) if moved and exact is not None else None,
    )


def _exact(row: dict[str, Any]) -> Fraction | None:
    if row["unit_price"] is None or row["meter"] not in ENTRY_QUANTITY:
        return None
    return Fraction(int(row["total"]), PER_UNIT[Meter(row["meter"])]) * Fraction(row["unit_price"])


def _decimal(value: Fraction) -> Decimal:
    return Decimal(round(value * 1_000_000)) / 1_000_000
