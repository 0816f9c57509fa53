"""Statements, their lines and the views of one document: every view is a sum over the same lines (B02)."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from billing.models import Adjustment, BillingPeriod, LedgerEntry, Statement
from billing.selectors.periods import Calendar


def drafts_due(
    calendar: Calendar, now: datetime, labels: frozenset[str] | None, *, written: bool = False
) -> list[BillingPeriod]:
    """Open periods whose draft is to be written: the named ones; or those running or outdated, and with `written` all
    that have one.
    """
    is_open = [
        period
        for period in calendar.periods
        if period.state == BillingPeriod.State.OPEN and (labels is None or period.label in labels)
    ]
    if labels is not None:
        return is_open
    running = {period.pk for period in is_open if period.starts_at <= now < period.ends_at}
    outdated = _outdated([period.pk for period in is_open])
    drafted = _drafted([period.pk for period in is_open]) if written else set()
    return [period for period in is_open if period.pk in running | outdated | drafted]


def _drafted(period_ids: Iterable[int]) -> set[int]:
    current = Statement.objects.filter(period_id__in=list(period_ids), superseded_at__isnull=True)
    return set(current.values_list("period_id", flat=True))


def last_rows(period: BillingPeriod) -> tuple[int, int]:
    """Ids of the last ledger entry and the last adjustment of a period; 0 for none."""
    entry = LedgerEntry.objects.filter(period=period).order_by("-id").values_list("id", flat=True).first()
    adjustment = Adjustment.objects.filter(period=period).order_by("-id").values_list("id", flat=True).first()
    return entry or 0, adjustment or 0


def tenants_with_news() -> list[int]:
    """Tenants with an open period whose current draft does not know the last row posted to it, or that has none."""
    periods = _with_last_rows(BillingPeriod.objects.filter(state=BillingPeriod.State.OPEN)).filter(_NEWS)
    return sorted(set(periods.order_by().values_list("tenant_id", flat=True)))


def _outdated(period_ids: Iterable[int]) -> set[int]:
    """Periods with something posted that their current draft does not know, or that ended since it was written."""
    periods = _with_last_rows(BillingPeriod.objects.filter(pk__in=list(period_ids)))
    return set(periods.filter(_NEWS | Q(billed_to__lt=F("ends_at"))).values_list("pk", flat=True))


_NEWS = Q(entry__gt=F("entries_to")) | Q(adjustment__gt=F("adjustments_to"))


def _with_last_rows(periods: QuerySet[BillingPeriod]) -> QuerySet[BillingPeriod]:
    def last(model: type[LedgerEntry] | type[Adjustment]) -> Coalesce:
        rows = model.objects.filter(period=OuterRef("pk")).order_by("-id").values("id")[:1]
        return Coalesce(Subquery(rows), 0)

    def of_draft(name: str) -> Subquery:
        return Subquery(Statement.objects.filter(period=OuterRef("pk"), superseded_at__isnull=True).values(name)[:1])

    return periods.annotate(
        entry=last(LedgerEntry),
        adjustment=last(Adjustment),
        entries_to=Coalesce(of_draft("entries_to"), 0),
        adjustments_to=Coalesce(of_draft("adjustments_to"), 0),
        billed_to=of_draft("billed_to"),
    )
