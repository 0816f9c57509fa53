"""What a document says adds up: B01, B03, B05, B07, B13, B22, B25, B26 from imported usage to the issued statement."""

from decimal import Decimal

import pytest

from billing.selectors.statement_page import statement_view
from tests.integration.money_world import MoneyWorld, amounts, at, cards, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld().with_prices()


def test_three_equal_jobs_share_a_hundred_to_the_cent(world: MoneyWorld) -> None:
    """B01: 8 card-hours over three jobs are 33.34 + 33.33 + 33.33."""
    world.load(*(row("2026-04-10T00:00:00Z", "2026-04-10T02:40:00Z", job=job, card=job) for job in "123"))

    statement = world.close("2026-04")

    assert statement.total == Decimal("100.00")
    assert amounts(statement) == ["33.34", "33.33", "33.33"]


def test_an_hour_in_a_thousand_attempts_costs_an_hour(world: MoneyWorld) -> None:
    """B05: short attempts are not rounded one by one."""
    seconds = [f"2026-04-10T{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z" for second in range(3601)]
    attempts = zip(seconds[::10], seconds[10::10], strict=False)
    world.load(*(row(start, end, run=run) for run, (start, end) in enumerate(attempts, 1)))

    statement = world.close("2026-04")

    assert amounts(statement) == ["12.50"]


def test_queued_time_between_two_runs_is_free(world: MoneyWorld) -> None:
    """B13: 8 cards for 20 + 40 minutes are 8 card-hours, 100.00; the 40 minutes in the queue bill nothing."""
    world.load(
        *cards(8, "2026-04-10T10:00:00Z", "2026-04-10T10:20:00Z", run=1, reason="preempted"),
        *cards(8, "2026-04-10T11:00:00Z", "2026-04-10T11:40:00Z", run=2),
    )

    line = world.close("2026-04").lines.get()

    assert line.quantity == 28_800 * 7000
    assert line.amount == Decimal("100.00")


def test_ten_seconds_are_on_the_bill(world: MoneyWorld) -> None:
    """B22: 80 card-seconds."""
    world.load(*cards(8, "2026-04-10T10:00:00Z", "2026-04-10T10:00:10Z"))

    assert world.close("2026-04").lines.get().quantity == 80 * 7000


def test_seven_sevenths_of_a_card_cost_one_card(world: MoneyWorld) -> None:
    """B25: four at 1.79 and three at 1.78 are 12.50."""
    world.load(
        *(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", job=f"j{part}", card="3:1/7") for part in range(7))
    )

    statement = world.close("2026-04")

    assert amounts(statement) == ["1.79"] * 4 + ["1.78"] * 3
    assert statement.total == Decimal("12.50")


def test_four_quarters_of_a_card_are_one_card_hour(world: MoneyWorld) -> None:
    """B25."""
    world.load(
        *(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", job=f"j{part}", card="3:250") for part in range(4))
    )

    assert amounts(world.close("2026-04")) == ["3.13", "3.13", "3.12", "3.12"]


def test_the_card_that_was_attached_is_the_one_on_the_bill(world: MoneyWorld) -> None:
    """B26: 2 h on an A100 and 1 h on an H100 are 24.50."""
    world.load(
        row("2026-04-10T10:00:00Z", "2026-04-10T12:00:00Z", run=1, flavor="a100"),
        row("2026-04-10T12:00:00Z", "2026-04-10T13:00:00Z", run=2, flavor="h100", node="n001"),
    )

    statement = world.close("2026-04")

    assert statement.total == Decimal("24.50")
    assert sorted((line.flavor_name, str(line.amount)) for line in statement.lines.all()) == [
        ("a100", "12.000000"),
        ("h100", "12.500000"),
    ]


def test_yen_are_whole(frozen_clock) -> None:
    """B06: 1000 yen over three jobs."""
    frozen_clock("2026-05-02T00:00:00Z")
    world = MoneyWorld(currency="JPY")
    world.price("1000")
    world.load(*(row("2026-04-10T00:00:00Z", "2026-04-10T00:20:00Z", job=job, card=job) for job in "123"))

    assert [line.amount for line in world.close("2026-04").lines.all()] == [334, 333, 333]


def test_crediting_every_line_brings_a_document_to_zero(world: MoneyWorld) -> None:
    """B07, B45: credits for what April charged leave the two documents at 0.00, and April still says 100.00."""
    from billing.metering import Month
    from billing.services.adjustments import post_adjustment

    world.load(*(row("2026-04-10T00:00:00Z", "2026-04-10T02:40:00Z", job=job, card=job) for job in "123"))
    april = world.close("2026-04")
    for line in april.lines.all():
        post_adjustment(
            world.tenant, Month(2026, 5), amount=-line.amount, reason="waived", refers_to=april, kind="credit"
        )

    may = world.draft("2026-05")

    assert amounts(may, kind="credit") == ["-33.34", "-33.33", "-33.33"]
    assert april.total + may.total == 0


def test_borrowed_hours_have_their_own_line_and_price(world: MoneyWorld) -> None:
    """B27: what was borrowed is billed once, as borrowed."""
    world.price("8.00", meter="borrowed_card_hour")
    world.load(
        row("2026-04-10T10:00:00Z", "2026-04-10T12:00:00Z", card="0"),
        row("2026-04-10T10:00:00Z", "2026-04-10T12:00:00Z", card="1", borrowed=True),
    )

    lines = {line.borrowed: line for line in world.close("2026-04").lines.all()}

    assert (lines[False].amount, lines[False].unit_price) == (Decimal("25.00"), Decimal("12.50"))
    assert (lines[True].amount, lines[True].unit_price) == (Decimal("16.00"), Decimal("8.00"))


def test_what_stands_in_one_row_of_a_statement_keeps_within_a_cent_of_its_exact_sum(world: MoneyWorld) -> None:
    """BIL-06: ten own jobs of a second are 3.47 cents, ten borrowed ones of two are 6.94; not 0 and 10, which also add up."""
    for job in range(10):
        start, own, lent = (f"2026-04-10T10:{job:02d}:0{second}Z" for second in (0, 1, 3))
        world.load(row(start, own, job=f"own{job}"), row(own, lent, job=f"lent{job}", borrowed=True))

    statement = world.close("2026-04")

    assert statement.total == Decimal("0.10")
    assert sum(line.amount for line in statement.lines.filter(borrowed=False)) == Decimal("0.03")
    assert sum(line.amount for line in statement.lines.filter(borrowed=True)) == Decimal("0.07")
    assert statement.lines.filter(amount__gt=Decimal("0.01")).count() == 0


def test_what_was_not_charged_is_rounded_once_too(world: MoneyWorld) -> None:
    """BIL-05, BIL-06: three seconds lost to the platform would have been 1.04 cents, although each alone is none."""
    for job in range(3):
        start, end = (f"2026-04-10T10:{job:02d}:0{second}Z" for second in (0, 1))
        world.load(row(start, end, job=f"j{job}", reason="node-lost", last_alive=start))

    statement = world.close("2026-04")

    assert statement.total == 0
    assert [line.worth for line in statement.lines.order_by("job_id")] == [Decimal("0.01"), 0, 0]
    assert statement_view(statement).worth_excluded == Decimal("0.01")


def test_the_tenants_are_the_platform(world: MoneyWorld) -> None:
    """B56: the sum over tenants is the whole; nobody's second is on two bills."""
    other, _queue = world.add_tenant("beta")
    world.load(
        row("2026-04-10T10:00:00Z", "2026-04-10T12:00:00Z", card="0"),
        row("2026-04-10T12:00:00Z", "2026-04-10T15:00:00Z", card="0", tenant="beta"),
    )

    mine, theirs = world.close("2026-04"), world.close("2026-04", other)

    assert (mine.total, theirs.total) == (Decimal("25.00"), Decimal("37.50"))
    assert at("2026-04-10T12:00:00Z") == mine.lines.get().charged_to == theirs.lines.get().charged_from
