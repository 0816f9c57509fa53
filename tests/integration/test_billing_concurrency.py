"""Two at once: one statement, one entry, one number (B48)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections

from billing.metering import Month
from billing.models import LedgerEntry, Statement
from billing.services.closing import close_month, close_period
from billing.services.costs import record_costs
from billing.services.drafts import refresh_tenant
from scheduling.models import Job
from tests.integration.money_world import MoneyWorld, cards, row


@pytest.fixture
def world(committed: None, frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld().with_prices()


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run each in a thread with a connection of its own."""

    def run(work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        started = [pool.submit(copy_context().run, run, work) for work in works]
        return [each.result(timeout=60) for each in started]


def test_workers_that_close_at_once_issue_one_statement(world: MoneyWorld) -> None:
    world.load(*cards(8, "2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))

    issued = at_once(*[lambda: close_period(world.tenant, Month(2026, 4))] * 4)

    assert {(statement.number, statement.total) for statement in issued} == {("000001", Decimal("100.00"))}
    assert Statement.objects.filter(state="issued").count() == 1


def test_numbers_stay_gapless_when_tenants_close_at_once(world: MoneyWorld) -> None:
    """B46."""
    others = [world.add_tenant(slug)[0] for slug in ("beta", "gamma")]
    for number, tenant in enumerate([world.tenant, *others]):
        world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", tenant=tenant.slug, card=str(number)))

    at_once(*[lambda: close_month(Month(2026, 4))] * 3)

    numbers = Statement.objects.filter(state="issued").order_by("number").values_list("number", flat=True)
    assert list(numbers) == ["000001", "000002", "000003"]


def test_metering_drafting_and_closing_at_once_count_each_second_once(world: MoneyWorld) -> None:
    """B15, B48."""
    world.load(*cards(8, "2026-04-30T14:00:00Z", "2026-04-30T18:00:00Z"))
    jobs = list(Job.objects.values_list("pk", flat=True))

    at_once(
        lambda: record_costs(jobs),
        lambda: record_costs(jobs),
        lambda: refresh_tenant(world.tenant.pk),
        lambda: close_period(world.tenant, Month(2026, 4)),
    )

    assert sum(entry.seconds for entry in LedgerEntry.objects.all()) == 8 * 4 * 3600
    assert close_period(world.tenant, Month(2026, 4)).total == Decimal("200.00")
    assert world.draft("2026-05").total == Decimal("200.00")
