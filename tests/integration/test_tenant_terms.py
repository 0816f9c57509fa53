"""A tenant's currency and its closing wait for what is still going on: B07, B08."""

from decimal import Decimal

import pytest

from berth.common.errors import ConflictError, InvalidError
from billing.metering import Month
from billing.models import Statement
from billing.services.adjustments import post_adjustment
from billing.services.closing import close_month
from tenants.models import Tenant
from tenants.services.tenants import change_tenant
from tests.factories import a_job, a_platform_admin
from tests.integration.money_world import MoneyWorld, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld().with_prices()


def to(world: MoneyWorld, **new: str) -> Tenant:
    world.tenant.refresh_from_db()
    return change_tenant(by=a_platform_admin(), tenant=world.tenant, **new)


def refused_currency(world: MoneyWorld) -> str:
    with pytest.raises(InvalidError) as error:
        to(world, currency="USD")
    return str(error.value)


def test_the_currency_stays_while_an_open_period_holds_an_adjustment(world: MoneyWorld) -> None:
    post_adjustment(world.tenant, None, amount=Decimal("2008.19"), reason="a gift")

    assert refused_currency(world) == (
        "currency: Stays CNY until everything is billed in it; "
        "open are statements that are not issued and not empty: 1."
    )
    assert to(world, currency="CNY", name="the same").name == "the same"


def test_the_currency_stays_while_an_open_period_holds_usage_and_may_change_once_it_is_billed(
    world: MoneyWorld, frozen_clock
) -> None:
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    assert "1" in refused_currency(world)

    world.close("2026-04")

    assert to(world, currency="USD").currency == "USD"
    assert Statement.objects.get(period__label="2026-04").currency == "CNY"


def test_the_currency_stays_while_a_job_runs(world: MoneyWorld) -> None:
    a_job(world.queue, state="running")

    assert "starting, running or stopping jobs: 1" in refused_currency(world)


def test_amounts_of_two_currencies_are_never_added(world: MoneyWorld) -> None:
    """B08: were the currency changed past every rule, the close stops and names the adjustment."""
    old = post_adjustment(world.tenant, Month(2026, 5), amount=Decimal("2008.19"), reason="a gift")
    Tenant.objects.update(currency="USD")
    world.tenant.refresh_from_db()
    post_adjustment(world.tenant, Month(2026, 5), amount=Decimal("1.00"), reason="another")

    draft = world.draft("2026-05")

    assert (draft.total, draft.currency) == (Decimal("1.00"), "USD")
    assert draft.unpriced == f"adjustment {old.pk} is in CNY"


def test_a_close_stops_at_an_adjustment_in_another_currency(world: MoneyWorld, frozen_clock) -> None:
    """B08."""
    old = post_adjustment(world.tenant, Month(2026, 5), amount=Decimal("2008.19"), reason="a gift")
    Tenant.objects.update(currency="USD")

    frozen_clock("2026-06-02T00:00:00Z")
    closing = close_month(Month(2026, 5))[0]

    assert closing.statement is None
    assert str(closing.error) == (
        f"Adjustment {old.pk} of algo is in CNY and the statement in USD: they cannot be added."
    )
    assert not Statement.objects.filter(state="issued").exists()


@pytest.mark.parametrize("state", ["queued", "starting", "running", "stopping", "suspended"])
def test_a_tenant_with_a_job_that_is_not_over_cannot_be_closed(world: MoneyWorld, state: str) -> None:
    a_job(world.queue, state=state)
    to(world, state="closing")

    with pytest.raises(ConflictError, match="jobs: 1"):
        to(world, state="closed")

    world.tenant.refresh_from_db()
    assert world.tenant.state == "closing"


def test_a_tenant_is_closed_once_its_last_statement_is_issued(world: MoneyWorld) -> None:
    world.load(row("2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z"))
    to(world, state="closing")

    with pytest.raises(ConflictError, match="not empty: 1"):
        to(world, state="closed")
    world.close("2026-04")

    assert to(world, state="closed").state == "closed"
