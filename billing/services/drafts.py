"""Keeps draft statements true to the ledger: they grow in place, and a new version takes over when something is taken away."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from berth.common import clock
from billing import ledger
from billing.ledger import total_of
from billing.metering import within
from billing.models import Adjustment, BillingPeriod, Statement, StatementLine
from billing.rating import PriceList
from billing.selectors.held import going_on_of, nodes_of, not_posted, unsettled_jobs
from billing.selectors.periods import Calendar
from billing.selectors.prices import flavor_names, price_list
from billing.selectors.quantities import Quantity, of_held, of_period
from billing.selectors.statements import drafts_due, last_rows, tenants_with_news
from billing.services.lines import LineKey, Rated, key_of, rate
from billing.services.metering import meter_new, pieces
from billing.services.periods import reach
from tenants.models import Tenant

_SHOWN = 200


def refresh_tenant(
    tenant_id: int, *, labels: frozenset[str] | None = None, rated_anew: bool = False
) -> list[Statement]:
    """Bring the drafts of the tenant's open periods (or of the named ones) up to now; the present one always exists.

    Without `rated_anew` only those that something was posted to or that time passed for; with it all that have a draft.
    """
    with transaction.atomic():
        ledger.hold_tenant(tenant_id)
        tenant = Tenant.objects.get(pk=tenant_id)
        now = clock.now()
        meter_new(tenant_id, unsettled_jobs(tenant_id))
        calendar = reach(tenant, now, now)
        due = drafts_due(calendar, now, labels, written=rated_anew)
        drafts = []
        for period in due:
            as_of = min(now, period.ends_at)
            rated = rate_period(tenant, calendar, period, as_of=as_of)
            drafts.append(write_draft(tenant, period, rated, as_of=as_of))
        return drafts


def refresh_all() -> int:
    """Bring every tenant's drafts up to now; returns how many were written."""
    open_tenants = Tenant.objects.exclude(state=Tenant.State.CLOSED).order_by("id").values_list("id", flat=True)
    return sum(len(refresh_tenant(tenant_id)) for tenant_id in open_tenants)


def refresh_outdated() -> int:
    """Bring up to now only the drafts of tenants that something was posted to since; returns how many were written."""
    return sum(len(refresh_tenant(tenant_id)) for tenant_id in tenants_with_news())


def write_draft(tenant: Tenant, period: BillingPeriod, rated: Rated, *, as_of: datetime) -> Statement:
    """Write the period's draft from its lines. The caller holds the tenant's ledger lock.

    What cannot be priced is left out and named in `unpriced`; a close would stop there (B38).
    """
    current = Statement.objects.filter(period=period, superseded_at__isnull=True).first()
    if current is not None and current.state == Statement.State.ISSUED:
        return current
    entries_to, adjustments_to = last_rows(period)
    header = {
        "currency": tenant.currency,
        "total": total_of(rated.lines),
        "tenant_slug": tenant.slug,
        "tenant_name": tenant.name,
        "cost_centre": tenant.cost_centre,
        "billed_to": as_of,
        "refreshed_at": clock.now(),
        "entries_to": entries_to,
        "adjustments_to": adjustments_to,
        "unpriced": "; ".join([*map(str, rated.missing), *map(_foreign, rated.foreign)])[:_SHOWN],
    }
    if current is not None:
        stored = {key_of(line): line for line in current.lines.all()}
        if _only_adds(stored, rated.lines):
            return _grow(current, header, stored, rated.lines)
        ledger.supersede(current, number=f"{current.number}-v{current.version}", at=clock.now())
    draft = Statement(
        number=f"draft-{tenant.slug}-{period.label}",
        tenant=tenant,
        period=period,
        version=current.version + 1 if current else 1,
        created_at=clock.now(),
        **header,
    )
    return ledger.open_draft(draft, rated.lines)


def rate_period(tenant: Tenant, calendar: Calendar, period: BillingPeriod, *, as_of: datetime) -> Rated:
    """The period's lines from the ledger, from what goes on until `as_of`, and from its adjustments."""
    prices = price_list(tenant)
    changes = prices.changes()

    def quantities() -> Iterator[Quantity]:
        yield from of_period(period, changes=changes, bounds=calendar.bounds())
        yield from _going_on(tenant, calendar, period, prices, as_of)

    adjustments = Adjustment.objects.filter(period=period).select_related("refers_to").order_by("id")
    return rate(
        quantities(),
        list(adjustments),
        period=period,
        calendar=calendar,
        prices=prices,
        flavors=flavor_names(),
        currency=tenant.currency,
    )


def _going_on(
    tenant: Tenant, calendar: Calendar, period: BillingPeriod, prices: PriceList, as_of: datetime
) -> Iterator[Quantity]:
    """Of this period, what is held now and will be posted when it ends or the period does."""
    changes = prices.changes()
    held = going_on_of(tenant_id=tenant.pk) + [node for node in nodes_of(tenant.pk) if node.going_on]
    for each in not_posted(held):
        whole = each.until(as_of)
        inside = within(whole, period.starts_at, period.ends_at) if whole else None
        if inside is not None:
            for piece, _ in pieces(inside, calendar):
                yield from of_held(each, piece, changes=changes)


def _only_adds(stored: Mapping[LineKey, StatementLine], lines: list[StatementLine]) -> bool:
    """Whether the new lines keep what the draft says of the ledger: no posted quantity gone, no adjustment either.

    What went on when the draft was written may have turned out otherwise; nobody was billed for it.
    """
    new = {key_of(line): line for line in lines}
    return all(
        key in new and abs(new[key].posted) >= abs(old.posted)
        for key, old in stored.items()
        if old.posted or old.adjustment_id
    )


def _grow(
    current: Statement, header: dict[str, Any], stored: Mapping[LineKey, StatementLine], lines: list[StatementLine]
) -> Statement:
    added, changed = [], []
    for line in lines:
        old = stored.get(key_of(line))
        if old is None:
            added.append(line)
        elif _figures(old) != _figures(line):
            line.pk, line.statement = old.pk, current
            changed.append(line)
    kept = {key_of(line) for line in lines}
    removed = [old for key, old in stored.items() if key not in kept]
    ledger.grow_draft(current, header=header, added=added, changed=changed, removed=removed)
    return current


def _foreign(adjustment: Adjustment) -> str:
    return f"adjustment {adjustment.pk} is in {adjustment.currency}"


def _figures(line: StatementLine) -> tuple[Any, ...]:
    return line.quantity, line.posted, line.amount, line.worth, line.charged_from, line.charged_to
