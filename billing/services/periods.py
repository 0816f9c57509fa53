"""Makes billing periods as time needs them: months of the tenant's zone, each starting where the one before ended."""

from datetime import datetime
from zoneinfo import ZoneInfo

from billing.metering import Month
from billing.models import BillingPeriod
from billing.selectors.periods import Calendar, calendar_of
from tenants.models import Tenant


def reach(tenant: Tenant, since: datetime, until: datetime) -> Calendar:
    """The tenant's calendar, extended so that it covers [since, until]. The caller holds the tenant's ledger lock.

    A period that exists keeps its zone; new ones take the tenant's present one, so that a change of zone takes effect
    at a period start and leaves neither gap nor overlap (B36).
    """
    zone = ZoneInfo(tenant.billing_timezone)
    periods = list(calendar_of(tenant.pk).periods)
    known = len(periods)
    if not periods:
        month = Month.of(since, zone)
        periods = [_period(tenant, month, month.start(zone), month.next.start(zone))]
    while periods[-1].ends_at <= until:
        month = Month.parse(periods[-1].label).next
        periods.append(_period(tenant, month, periods[-1].ends_at, month.next.start(zone)))
    later = len(periods)
    while periods[0].starts_at > since:
        month = _before(Month.parse(periods[0].label))
        periods.insert(0, _period(tenant, month, month.start(zone), periods[0].starts_at))
    if len(periods) == known:
        return Calendar(periods)
    _save(periods[: len(periods) - later], periods[len(periods) - later :])
    return calendar_of(tenant.pk)


def carrier_of(tenant: Tenant, calendar: Calendar, home: BillingPeriod) -> tuple[Calendar, BillingPeriod]:
    """The open period that carries usage of `home`, made if every later one is closed; and the calendar with it."""
    found = calendar.carrier(home)
    if found is None:
        calendar = reach(tenant, calendar.periods[0].starts_at, calendar.periods[-1].ends_at)
        found = calendar.periods[-1]
    return calendar, found


def _save(earlier: list[BillingPeriod], rest: list[BillingPeriod]) -> None:
    """Outwards from what exists, so that each new row touches one that is there."""
    for period in [*rest, *reversed(earlier)]:
        if period._state.adding:
            period.save(force_insert=True)


def _period(tenant: Tenant, month: Month, starts_at: datetime, ends_at: datetime) -> BillingPeriod:
    return BillingPeriod(
        tenant=tenant, label=str(month), starts_at=starts_at, ends_at=ends_at, timezone=tenant.billing_timezone
    )


def _before(month: Month) -> Month:
    return Month(month.year - 1, 12) if month.month == 1 else Month(month.year, month.month - 1)
