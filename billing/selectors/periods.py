"""A tenant's billing periods as a calendar: which month an instant lies in, and which bill carries it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from billing.models import BillingPeriod


@dataclass(frozen=True, slots=True)
class Calendar:
    """Periods of one tenant in time order, without gap (B36)."""

    periods: Sequence[BillingPeriod]

    def home(self, instant: datetime) -> BillingPeriod:
        """The period the instant lies in. The calendar must reach it."""
        position = bisect_right(self.periods, instant, key=lambda period: period.starts_at) - 1
        if position < 0 or instant >= self.periods[position].ends_at:
            raise LookupError(f"no billing period at {instant.isoformat()}")
        return self.periods[position]

    def carrier(self, home: BillingPeriod) -> BillingPeriod | None:
        """The period whose bill carries usage of `home`: itself while open, else the next open one (B18, B19)."""
        if home.state == BillingPeriod.State.OPEN:
            return home
        later = (period for period in self.periods if period.starts_at >= home.ends_at)
        return next((period for period in later if period.state == BillingPeriod.State.OPEN), None)

    def bounds(self) -> list[datetime]:
        """Every instant at which a period starts or ends, in order."""
        return [period.starts_at for period in self.periods] + [period.ends_at for period in self.periods[-1:]]


def calendar_of(tenant_id: int) -> Calendar:
    """The calendar as it stands."""
    return Calendar(list(BillingPeriod.objects.filter(tenant_id=tenant_id).order_by("starts_at")))


def zone_of(period: BillingPeriod) -> ZoneInfo:
    """The zone whose days the period counts in."""
    return ZoneInfo(period.timezone)
