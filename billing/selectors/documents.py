"""Statements as people and scripts read them: lists, lines, and the ways to add the same lines up (B02)."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from django.db.models import F, Q, QuerySet, Sum

from berth.common.money import spread
from billing.metering import local_day
from billing.models import LedgerEntry, Statement, StatementLine
from billing.selectors.periods import zone_of

VIEWS: Final = ("job", "project", "user", "queue", "flavor", "kind", "meter", "day")

_VIEW_FIELDS: Final = {
    "job": "job_id",
    "project": "project_name",
    "user": "user__username",
    "queue": "queue_name",
    "flavor": "flavor_name",
    "kind": "kind",
    "meter": "meter",
}


def statements() -> QuerySet[Statement]:
    """Statements with what their lists show."""
    return Statement.objects.select_related("tenant", "period")


def versions_of(statement: Statement) -> list[str]:
    """Numbers of the superseded drafts of the same period, oldest first."""
    earlier = Statement.objects.filter(period_id=statement.period_id, superseded_at__isnull=False)
    return list(earlier.order_by("version").values_list("number", flat=True))


def lines_of(statement: Statement) -> QuerySet[StatementLine]:
    """Lines in the order they were made."""
    related = ("statement", "user", "charged_period", "rate", "adjustment__refers_to")
    return StatementLine.objects.filter(statement=statement).select_related(*related).order_by("id")


def lines_to_write(statement: Statement) -> QuerySet[StatementLine]:
    """The same lines with no more beside them than a file names; the statement itself is at hand."""
    related = StatementLine.objects.filter(statement=statement).select_related("user", "charged_period")
    own = (
        "id",
        "kind",
        "meter",
        "flavor_name",
        "borrowed",
        "held_as",
        "quantity",
        "rate_id",
        "unit_price",
        "amount",
        "worth",
    )
    named = (
        "job_id",
        "job_name",
        "queue_name",
        "project_name",
        "adjustment_id",
        "charged_from",
        "charged_to",
        "reason",
    )
    return related.only("statement_id", *own, *named, "user__username", "charged_period__label").order_by("id")


@dataclass(frozen=True, slots=True)
class Part:
    """One group of a view and its share of the document."""

    key: str | int | date | None
    amount: Decimal


def view_of(statement: Statement, by: str) -> list[Part]:
    """The document by job, person, project, queue, flavor, kind, meter or day; dearest first, and always the whole of it.

    Every view adds up the same rounded lines; a line that runs over several days is spread over them by what was held.
    """
    if by == "day":
        parts = _by_day(statement)
    else:
        name = _VIEW_FIELDS[by]
        rows = statement.lines.order_by().values(key=F(name)).annotate(amount=Sum("amount"))
        parts = [Part(row["key"], row["amount"]) for row in rows]
    return sorted(parts, key=lambda part: (-part.amount, str(part.key)))


def _by_day(statement: Statement) -> list[Part]:
    zone = zone_of(statement.period)
    held = _held_by_day(statement)
    days: dict[date | None, Decimal] = defaultdict(Decimal)
    for line in statement.lines.all():
        if not line.amount:
            continue
        if line.charged_from is None:
            days[None] += line.amount
            continue
        weights = held.get((line.job_id, line.flavor_id, line.borrowed if line.job_id else False), {})
        first, last = local_day(line.charged_from, zone), line.charged_to and local_day(line.charged_to, zone)
        inside = {day: weight for day, weight in weights.items() if first <= day <= (last or first)}
        for day, amount in spread(line.amount, inside or {first: 1}, statement.currency).items():
            days[day] += amount
    return [Part(day, amount) for day, amount in days.items()]


def _held_by_day(statement: Statement) -> dict[tuple[int | None, int | None, bool], dict[date, int]]:
    """Charged seconds by job, flavor, own or borrowed, and day."""
    rows = (
        LedgerEntry.objects.filter(period_id=statement.period_id, held_as=LedgerEntry.HeldAs.BILLABLE)
        .order_by()
        .values_list("job_id", "flavor_id", "borrowed", "day")
        .annotate(seconds=Sum("seconds"))
    )
    found: dict[tuple[int | None, int | None, bool], dict[date, int]] = defaultdict(dict)
    for job_id, flavor_id, borrowed, day, seconds in rows:
        found[job_id, flavor_id, borrowed][day] = seconds
    return found


def entries_of(line: StatementLine) -> QuerySet[LedgerEntry]:
    """What a line adds up, down to segment, lease, pod and node (BIL-08); of a draft, what has been posted so far."""
    entries = LedgerEntry.objects.filter(
        Q(job_id=line.job_id) if line.job_id else Q(job__isnull=True),
        Q(flavor_id=line.flavor_id) if line.flavor_id else Q(flavor__isnull=True),
        period_id=line.statement.period_id,
        held_as=line.held_as,
        ends_at__gt=line.charged_from,
        starts_at__lt=line.charged_to,
    )
    if line.meter in ("card_hour", "borrowed_card_hour"):
        entries = entries.filter(borrowed=line.borrowed)
    return entries.select_related(
        "segment__lease__pod", "segment__lease__node__cluster", "segment__card", "run", "node_interval__node"
    )
