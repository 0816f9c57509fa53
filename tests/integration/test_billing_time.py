"""Months and days of the tenant's zone on real statements: B30 to B36."""

from decimal import Decimal
from itertools import pairwise

import pytest

from billing.metering import Month
from billing.models import BillingPeriod
from billing.services.closing import close_period
from billing.services.drafts import refresh_tenant
from tests.integration.money_world import MoneyWorld, amounts, at, cards, hours, row

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("zone", "want_april", "want_may"),
    [
        pytest.param("Asia/Shanghai", "150.00", "200.00", id="B30 in Shanghai the month ends at 16:00Z"),
        pytest.param("UTC", "350.00", "0.00", id="B31 in UTC all of it is April"),
    ],
)
def test_a_job_over_the_end_of_the_month(frozen_clock, zone: str, want_april: str, want_may: str) -> None:
    """B30, B31: 8 cards from 14:30Z to 18:00Z; the sum over months is the same in every zone."""
    frozen_clock("2026-06-02T00:00:00Z")
    world = MoneyWorld(zone=zone).with_prices()
    world.load(*cards(8, "2026-04-30T14:30:00Z", "2026-04-30T18:00:00Z"))

    april, may = world.close("2026-04"), world.close("2026-05")

    assert (f"{april.total:.2f}", f"{may.total:.2f}") == (want_april, want_may)
    assert april.total + may.total == Decimal("350.00")


@pytest.mark.parametrize(
    ("zone", "month", "start", "end", "want_hours"),
    [
        pytest.param("Europe/Berlin", "2026-03", "2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00", "743", id="Berlin in March"),
        pytest.param("Europe/Berlin", "2026-10", "2026-10-01T00:00:00+02:00", "2026-11-01T00:00:00+01:00", "745", id="Berlin in October"),
        pytest.param("America/New_York", "2026-11", "2026-11-01T00:00:00-04:00", "2026-12-01T00:00:00-05:00", "721", id="New York in November"),
        pytest.param("Australia/Lord_Howe", "2026-10", "2026-10-01T00:00:00+10:30", "2026-11-01T00:00:00+11:00", "743.5", id="Lord Howe in October"),
    ],
)  # fmt: skip
def test_a_card_held_all_month_is_charged_real_hours(
    frozen_clock, zone: str, month: str, start: str, end: str, want_hours: str
) -> None:
    """B32."""
    frozen_clock("2027-01-01T00:00:00Z")
    world = MoneyWorld(zone=zone).with_prices()
    world.load(row(start, end))

    line = world.close(month).lines.get()

    assert hours(line) == Decimal(want_hours)
    assert line.amount == Decimal("12.50") * Decimal(want_hours)


def test_the_repeated_hour_is_charged_once(frozen_clock) -> None:
    """B33."""
    frozen_clock("2026-12-01T00:00:00Z")
    world = MoneyWorld(zone="Europe/Berlin").with_prices()
    world.load(row("2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"))

    assert amounts(world.close("2026-10")) == ["12.50"]


def test_a_leap_second_is_no_second_of_its_own(frozen_clock) -> None:
    """B34: the :60 of a source is the next midnight; the two rows touch and do not overlap."""
    frozen_clock("2017-02-02T00:00:00Z")
    world = MoneyWorld(zone="UTC").with_prices()
    world.load(
        row("2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", run=1),
        row("2016-12-31T23:59:60Z", "2017-01-01T00:00:01Z", run=2),
    )

    december, january = world.close("2016-12"), world.close("2017-01")

    assert [line.quantity for line in december.lines.all()] == [7000]
    assert [line.quantity for line in january.lines.all()] == [7000]


def test_a_change_of_zone_leaves_neither_gap_nor_overlap(frozen_clock) -> None:
    """B36: April ends by the old zone, May runs from there to the new zone's June: 752 hours."""
    frozen_clock("2026-04-20T00:00:00Z")
    world = MoneyWorld(zone="Asia/Shanghai").with_prices()
    refresh_tenant(world.tenant.pk)
    world.tenant.billing_timezone = "UTC"
    world.tenant.save(update_fields=["billing_timezone"])
    frozen_clock("2026-06-10T00:00:00Z")
    world.load(row("2026-04-30T15:00:00Z", "2026-06-01T01:00:00Z"))

    totals = {month: hours(world.close(month).lines.get()) for month in ("2026-04", "2026-05")}
    periods = list(BillingPeriod.objects.filter(tenant=world.tenant).order_by("starts_at"))

    assert totals == {"2026-04": 1, "2026-05": 752}
    assert all(earlier.ends_at == later.starts_at for earlier, later in pairwise(periods))
    assert periods[0].ends_at == at("2026-04-30T16:00:00Z")
    assert periods[1].ends_at == at("2026-06-01T00:00:00Z")


def test_periods_reach_back_to_older_usage_without_a_gap(frozen_clock) -> None:
    """B36."""
    frozen_clock("2026-05-10T00:00:00Z")
    world = MoneyWorld().with_prices()
    refresh_tenant(world.tenant.pk)
    world.load(row("2025-12-31T15:00:00Z", "2025-12-31T17:00:00Z"))

    labels = [period.label for period in BillingPeriod.objects.filter(tenant=world.tenant).order_by("starts_at")]

    assert labels == ["2025-12", "2026-01", "2026-02", "2026-03", "2026-04", "2026-05"]
    assert close_period(world.tenant, Month(2025, 12)).total == Decimal("12.50")


def test_fractions_of_a_second_never_add_up_to_another_one(frozen_clock) -> None:
    """B24: rows that touch inside a second share it once."""
    frozen_clock("2026-05-10T00:00:00Z")
    world = MoneyWorld().with_prices()
    world.load(
        row("2026-04-10T00:00:00.250Z", "2026-04-10T00:00:01.700Z", run=1),
        row("2026-04-10T00:00:01.700Z", "2026-04-10T00:00:03.100Z", run=2),
    )

    assert world.close("2026-04").lines.get().quantity == 3 * 7000
