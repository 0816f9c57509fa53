"""Prices: one at an instant, frozen once set, and never zero by default: B37, B38, B39, B49."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from berth.common.errors import InvalidError
from billing.models import Rate, Statement
from billing.services.closing import PriceMissingError
from billing.services.costs import rerate
from billing.services.prices import PriceFrozenError, RateOverlapError, end_rate
from scheduling.models import EffectivePrice, Job
from tests.integration.money_world import CREATED, MoneyWorld, amounts, at, cards, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld()


def test_a_price_change_in_mid_job_makes_two_lines(world: MoneyWorld) -> None:
    """B37: 8 cards from 22:00 to 01:00 local, 12.50 until midnight and 10.00 after, are 200.00 + 80.00."""
    change = at("2026-04-15T00:00:00+08:00")
    world.price("12.50", end=change)
    world.price("10.00", start=change)
    world.load(*cards(8, "2026-04-14T22:00:00+08:00", "2026-04-15T01:00:00+08:00"))

    statement = world.close("2026-04")

    assert sorted((str(line.unit_price), str(line.amount)) for line in statement.lines.all()) == [
        ("10.000000", "80.000000"),
        ("12.500000", "200.000000"),
    ]
    assert statement.total == Decimal("280.00")


def test_a_price_change_inside_a_day_cuts_the_day(world: MoneyWorld) -> None:
    """B37: the change need not be at midnight."""
    change = at("2026-04-15T10:20:00Z")
    world.price("12.50", end=change)
    world.price("10.00", start=change)
    world.load(row("2026-04-15T10:00:00Z", "2026-04-15T11:00:00Z"))

    assert sorted(amounts(world.close("2026-04"))) == ["4.17", "6.66"]
    assert world.close("2026-04").total == Decimal("10.83")


def test_a_missing_price_stops_the_close_and_is_named(world: MoneyWorld) -> None:
    """B38: the error names the meter, the flavor and the instant; nothing is issued."""
    world.price("12.50", end=at("2026-04-10T10:30:00Z"))
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))

    with pytest.raises(PriceMissingError, match=r"card_hour of h100 for algo at 2026-04-10T10:30:00Z"):
        world.close("2026-04")

    assert not Statement.objects.filter(state="issued").exists()
    assert "h100" in world.draft("2026-04").unpriced


def test_the_close_goes_through_once_the_price_is_there(world: MoneyWorld) -> None:
    """B38."""
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    with pytest.raises(PriceMissingError):
        world.close("2026-04")

    world.price("12.50")

    assert world.close("2026-04").total == Decimal("12.50")


def test_two_prices_for_an_instant_are_refused(world: MoneyWorld) -> None:
    """B38: by the service and by the database."""
    first = world.price("12.50")
    with pytest.raises(RateOverlapError):
        world.price("10.00", start=at("2026-04-15T00:00:00Z"))

    with pytest.raises(IntegrityError, match="rate_one_price_at_an_instant"), transaction.atomic():
        Rate.objects.create(
            price_book=world.book,
            meter="card_hour",
            flavor=world.flavors["h100"],
            price=1,
            currency="CNY",
            valid_from=at("2030-01-01T00:00:00Z"),
            created_at=CREATED,
        )
    assert Rate.objects.get().pk == first.pk


@pytest.mark.parametrize("change", [{"price": Decimal(1)}, {"meter": "egress_gb"}, {"valid_from": at("2015-01-01T00:00:00Z")}], ids=str)  # fmt: skip
def test_nothing_of_a_price_changes_but_its_end(world: MoneyWorld, change: dict) -> None:
    """B39: refused by the database, also for the application's role."""
    rate = world.price("12.50")

    with pytest.raises(DatabaseError), transaction.atomic():
        Rate.objects.filter(pk=rate.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        Rate.objects.filter(pk=rate.pk).delete()

    assert Rate.objects.get(pk=rate.pk).price == Decimal("12.50")


def test_a_price_may_end_after_the_last_closed_period_only(world: MoneyWorld) -> None:
    """B39, BIL-03."""
    rate = world.price("12.50")
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    closed = world.close("2026-04").period.ends_at

    with pytest.raises(PriceFrozenError):
        end_rate(rate, valid_to=at("2026-04-30T15:59:59Z"))
    with pytest.raises(IntegrityError, match="closed period"), transaction.atomic():
        Rate.objects.filter(pk=rate.pk).update(valid_to=at("2026-04-30T15:59:59Z"))
    end_rate(rate, valid_to=closed)

    assert Rate.objects.get(pk=rate.pk).valid_to == closed


def test_history_cannot_be_priced_anew_but_a_gap_can_be_filled(world: MoneyWorld) -> None:
    """B39, B49."""
    world.price("12.50")
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    world.close("2026-04")

    with pytest.raises(PriceFrozenError):
        world.price("9.00", tenant=world.tenant, start=at("2026-04-01T00:00:00Z"))

    assert world.price("6.00", flavor="a100", start=at("2026-04-01T00:00:00Z")).pk


def test_a_corrected_price_re_rates_the_open_month_and_no_other(world: MoneyWorld, frozen_clock) -> None:
    """B49: the draft goes from 100.00 to 80.00, the superseded one stays readable, closed months stand."""
    rate = world.price("12.50")
    world.load(*cards(8, "2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", job="a"))
    april = world.close("2026-04")
    frozen_clock("2026-05-20T00:00:00Z")
    world.load(*cards(8, "2026-05-10T10:00:00Z", "2026-05-10T11:00:00Z", job="m"))
    before = world.draft("2026-05")

    end_rate(rate, valid_to=april.period.ends_at)
    world.price("10.00", start=april.period.ends_at)

    after = world.draft("2026-05")
    superseded = Statement.objects.get(pk=before.pk)
    assert (after.number, after.total) == ("draft-algo-2026-05", Decimal("80.00"))
    assert superseded.number == "draft-algo-2026-05-v1"
    assert (superseded.total, amounts(superseded)) == (Decimal("100.00"), ["100.00"])
    assert Statement.objects.get(pk=april.pk).total == Decimal("100.00")


def test_a_superseded_draft_cannot_be_changed(world: MoneyWorld) -> None:
    """B49: by the database."""
    rate = world.price("12.50")
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"))
    draft = world.draft("2026-05")
    end_rate(rate, valid_to=rate.valid_from)
    assert world.draft("2026-05").pk != draft.pk

    with pytest.raises(DatabaseError), transaction.atomic():
        Statement.objects.filter(pk=draft.pk).update(total=0)
    with pytest.raises(IntegrityError, match="superseded"), transaction.atomic():
        draft.lines.update(amount=0)


def test_the_price_of_the_tenant_goes_before_the_list(world: MoneyWorld) -> None:
    world.price("12.50")
    world.price("9.00", tenant=world.tenant)
    other, _queue = world.add_tenant("beta")
    world.load(
        row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"),
        row("2026-04-10T11:00:00Z", "2026-04-10T12:00:00Z", tenant="beta"),
    )

    assert (world.close("2026-04").total, world.close("2026-04", other).total) == (Decimal("9.00"), Decimal("12.50"))


def test_prices_of_another_currency_are_not_seen(world: MoneyWorld) -> None:
    """B08: a tenant billed in dollars never meets a price in yuan."""
    world.price("12.50")
    world.tenant.currency = "USD"
    world.tenant.save(update_fields=["currency"])
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))

    with pytest.raises(PriceMissingError):
        world.close("2026-04")
    with pytest.raises(InvalidError, match="billed in USD"):
        world.price("1.00", tenant=world.tenant)


def test_the_cost_on_a_job_follows_the_price(world: MoneyWorld) -> None:
    """DESIGN section 3: the amount on a job is the one billing recorded; with no price it is unknown, not zero (B38)."""
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"))
    assert Job.objects.get().cost_amount is None

    world.price("12.50")
    rerate([world.tenant.pk])

    job = Job.objects.get()
    assert (job.cost_amount, job.cost_currency, job.cost_final) == (Decimal("12.50"), "CNY", True)


def test_estimates_are_told_what_a_tenant_pays_now(world: MoneyWorld) -> None:
    world.price("12.50")
    world.price("0.00", flavor=None, meter="cpu_core_hour")
    world.price("9.00", tenant=world.tenant, start=at("2026-05-01T00:00:00Z"))

    published = {
        (price.meter, price.flavor.name if price.flavor else ""): price.price
        for price in EffectivePrice.objects.filter(tenant=world.tenant).select_related("flavor")
    }

    assert published == {
        ("card_hour", "h100"): Decimal("9.00"),
        ("borrowed_card_hour", "h100"): Decimal("9.00"),
        ("cpu_core_hour", ""): Decimal(0),
    }
