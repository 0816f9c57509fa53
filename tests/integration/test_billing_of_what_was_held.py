"""What was held is what is billed: whatever the metrics say, and whoever tries to remove the job. B21, F38."""

from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import ProtectedError

from billing.models import LedgerEntry
from billing.services.costs import record_costs, settle_ended
from scheduling.models import Card, UtilisationSample
from tests.integration.money_world import MoneyWorld
from tests.integration.test_billing_running import RunningJob, cost

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-11T10:00:00Z")
    return MoneyWorld().with_prices()


@pytest.mark.parametrize("measured_hours", [range(24), [*range(8), *range(11, 24)], []], ids=["all", "3 h out", "none"])
def test_an_outage_of_the_metrics_changes_no_bill(world: MoneyWorld, frozen_clock, measured_hours: list[int]) -> None:
    """B21: eight cards for 24 hours are 192 card-hours, 2,400.00, with and without samples, busy or idle."""
    running = RunningJob(world, "2026-05-10T10:00:00Z")
    for hour in measured_hours:
        UtilisationSample.objects.bulk_create(
            UtilisationSample(at=running.began.replace(hour=hour), card_id=card.pk, run_id=running.run.pk, busy_ppm=1)
            for card in Card.objects.all()
        )
    running.end("2026-05-11T10:00:00Z")

    settle_ended()

    assert cost(running.job) == (Decimal("2400.00"), True)
    line = world.draft("2026-05").lines.get(kind="usage", meter="card_hour")
    assert (line.amount, line.quantity) == (Decimal("2400.00"), Decimal(192) * 3600 * 7000)


@pytest.mark.parametrize(
    ("units", "want"),
    [(3500, "6.25"), (1750, "3.13"), (7, "0.01"), (1000, "1.79")],
    ids=["a half", "a quarter", "a thousandth", "a seventh"],
)
def test_an_hour_of_a_part_of_a_card_costs_that_part_of_its_price(world: MoneyWorld, units: int, want: str) -> None:
    """SCH-13, BIL-01: 12.50 an hour of the whole card."""
    running = RunningJob(world, "2026-05-11T08:00:00Z", cards=1, units=units)
    running.end("2026-05-11T09:00:00Z")

    settle_ended()

    assert cost(running.job) == (Decimal(want), True)
    line = world.draft("2026-05").lines.get(kind="usage", meter="card_hour")
    assert line.quantity == Decimal(units) * 3600


def test_a_job_cannot_be_deleted_under_the_metering_and_is_billed_once(world: MoneyWorld, frozen_clock) -> None:
    """F38."""
    running = RunningJob(world, "2026-05-11T08:00:00Z")
    running.end("2026-05-11T09:00:00Z")
    record_costs([running.job.pk])

    with pytest.raises(ProtectedError):
        running.job.delete()
    with pytest.raises(DatabaseError, match="Cannot delete rows"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DELETE FROM scheduling_job WHERE id = %s", [running.job.pk])
    settle_ended()

    assert cost(running.job) == (Decimal("100.00"), True)
    billed = LedgerEntry.objects.filter(job=running.job)
    assert sum(entry.seconds * entry.cards_u7000 for entry in billed) == 8 * 3600 * 7000
    assert world.draft("2026-05").total == Decimal("100.00")
