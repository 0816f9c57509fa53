"""Documents: closed once, numbered without a gap, immutable, corrected by new ones: B18, B19, B44, B46, B47, B48."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction

from billing.metering import Month
from billing.models import BillingPeriod, LedgerEntry, Statement, StatementLine
from billing.services.adjustments import PeriodClosedError, post_adjustment
from billing.services.closing import PeriodNotEndedError, close_month
from tests.integration.money_world import MoneyWorld, amounts, at, cards, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld().with_prices()


@pytest.fixture
def april(world: MoneyWorld) -> Statement:
    world.load(*cards(8, "2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    return world.close("2026-04")


ATTEMPTS = {
    "change the total": lambda s: Statement.objects.filter(pk=s.pk).update(total=0),
    "delete the statement": lambda s: Statement.objects.filter(pk=s.pk).delete(),
    "change a line": lambda s: StatementLine.objects.filter(statement=s).update(amount=0),
    "delete a line": lambda s: StatementLine.objects.filter(statement=s).delete(),
    "add a line": lambda s: StatementLine.objects.create(statement=s, kind="adjustment", amount=1, reason="x"),
    "move a line in": lambda s: StatementLine.objects.exclude(statement=s).update(statement=s),
    "reopen the period": lambda s: BillingPeriod.objects.filter(pk=s.period_id).update(state="open", closed_at=None),
    "move the period": lambda s: BillingPeriod.objects.filter(pk=s.period_id).update(
        ends_at=at("2027-01-01T00:00:00Z")
    ),
    "delete the period": lambda s: BillingPeriod.objects.filter(pk=s.period_id).delete(),
    "change an entry": lambda s: LedgerEntry.objects.filter(period=s.period_id).update(cards_u7000=1),
    "delete an entry": lambda s: LedgerEntry.objects.filter(period=s.period_id).delete(),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_the_database_refuses_to(world: MoneyWorld, april: Statement, attempt) -> None:
    """B44, B47: also for the application's role, which owns the tables."""
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z", job="may"))

    with pytest.raises(DatabaseError), transaction.atomic():
        attempt(april)

    stands = Statement.objects.get(pk=april.pk)
    assert (stands.total, amounts(stands)) == (Decimal("100.00"), ["100.00"])


def test_an_issued_statement_reads_the_same_after_a_rename(world: MoneyWorld, april: Statement) -> None:
    """B44."""
    world.tenant.name = "Another name"
    world.tenant.save(update_fields=["name"])
    world.queue.name = "renamed"
    world.queue.save(update_fields=["name"])

    stands = Statement.objects.get(pk=april.pk)

    assert stands.tenant_name == "algo"
    assert [line.queue_name for line in stands.lines.all()] == ["prod"]


def test_closing_again_changes_nothing(world: MoneyWorld, april: Statement) -> None:
    """B48: the same rows and ids, three times over."""
    before = list(StatementLine.objects.order_by("id").values_list())

    again = [world.close("2026-04").pk for _ in range(3)]

    assert again == [april.pk] * 3
    assert list(StatementLine.objects.order_by("id").values_list()) == before
    assert Statement.objects.filter(state="issued").count() == 1


def test_a_period_that_has_not_ended_stays_open(world: MoneyWorld) -> None:
    """BIL-07."""
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"))

    for month in ("2026-05", "2026-06", "2031-01"):
        with pytest.raises(PeriodNotEndedError):
            world.close(month)

    assert world.draft("2026-05").state == "draft"


def test_the_period_closes_at_its_last_instant_and_not_before(world: MoneyWorld, frozen_clock) -> None:
    """BIL-02: May ends at 16:00Z on the 31st in Shanghai."""
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z"))
    frozen_clock("2026-05-31T15:59:59Z")
    with pytest.raises(PeriodNotEndedError):
        world.close("2026-05")

    frozen_clock("2026-05-31T16:00:00Z")

    assert world.close("2026-05").total == Decimal("12.50")


def test_numbers_have_no_gap_even_where_a_close_failed(world: MoneyWorld) -> None:
    """B46: the tenant without a price takes no number."""
    others = [world.add_tenant(slug)[0] for slug in ("beta", "gamma")]
    world.flavors["new"] = type(world.flavors["h100"]).objects.create(name="new", pool=world.pool)
    world.load(
        row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"),
        row("2026-04-10T11:00:00Z", "2026-04-10T12:00:00Z", tenant="beta", flavor="new"),
        row("2026-04-10T12:00:00Z", "2026-04-10T13:00:00Z", tenant="gamma"),
    )

    first = close_month(Month(2026, 4))
    world.price("1.00", flavor="new")
    second = close_month(Month(2026, 4))

    assert [(each.tenant, each.statement and each.statement.number) for each in first] == [
        ("algo", "000001"),
        ("beta", None),
        ("gamma", "000002"),
    ]
    assert [each.statement and each.statement.number for each in second] == ["000001", "000003", "000002"]
    assert len(others) == 2


def test_usage_that_arrives_before_the_close_is_on_the_months_bill(world: MoneyWorld, frozen_clock) -> None:
    """B18: 30 April 23:10 local arrives on 2 May; the close is on 3 May."""
    world.load(*cards(8, "2026-04-30T23:10:00+08:00", "2026-04-30T23:40:00+08:00"))
    frozen_clock("2026-05-03T00:00:00Z")

    assert world.close("2026-04").total == Decimal("50.00")


def test_usage_that_arrives_after_the_close_is_a_correction_on_the_next_bill(world: MoneyWorld, frozen_clock) -> None:
    """B19: 8 card-hours of 30 April arrive on 4 May: 100.00 on May's bill, charged for April; April stands."""
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", job="early"))
    frozen_clock("2026-05-03T00:00:00Z")
    april = world.close("2026-04")
    frozen_clock("2026-05-04T00:00:00Z")
    world.load(*cards(8, "2026-04-30T10:00:00+08:00", "2026-04-30T11:00:00+08:00", job="late"))

    line = world.draft("2026-05").lines.get()

    assert (line.kind, line.amount, line.reason) == ("adjustment", Decimal("100.00"), "late-usage")
    assert (line.charged_period, line.charged_from) == (april.period, at("2026-04-30T02:00:00Z"))
    assert Statement.objects.get(pk=april.pk).total == Decimal("12.50")
    frozen_clock("2026-06-02T00:00:00Z")
    assert world.close("2026-05").total == Decimal("100.00")


def test_an_adjustment_goes_to_the_open_period_and_names_what_it_corrects(world: MoneyWorld, april: Statement) -> None:
    """B45, BIL-07."""
    with pytest.raises(PeriodClosedError):
        post_adjustment(world.tenant, Month(2026, 4), amount=Decimal("-12.50"), reason="goodwill", refers_to=april)
    adjustment = post_adjustment(
        world.tenant, Month(2026, 5), amount=Decimal("-12.50"), reason="goodwill", refers_to=april
    )

    draft = world.draft("2026-05")

    assert (draft.total, draft.lines.get().adjustment) == (Decimal("-12.50"), adjustment)
    assert draft.lines.get().charged_period == april.period
    with pytest.raises(DatabaseError), transaction.atomic():
        type(adjustment).objects.filter(pk=adjustment.pk).update(amount=0)


def test_a_draft_grows_in_place(world: MoneyWorld, frozen_clock) -> None:
    """BIL-07: more usage is no new version."""
    frozen_clock("2026-05-20T00:00:00Z")
    world.load(row("2026-05-01T10:00:00Z", "2026-05-01T11:00:00Z", job="a"))
    first = world.draft("2026-05")
    world.load(row("2026-05-01T11:00:00Z", "2026-05-01T13:00:00Z", job="b"))

    draft = world.draft("2026-05")

    assert (draft.pk, draft.version, draft.total) == (first.pk, 1, Decimal("37.50"))
