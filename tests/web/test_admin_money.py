"""Money on admin pages reads as on all others: an amount in the currency's own decimals, a price without zeros that say nothing."""

import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.test import Client

from billing.models import Adjustment, BillingPeriod, PriceBook, Rate, Statement
from billing.services.prices import NewRate, create_price_book, create_rate
from scheduling.models import Job
from tenants.models import Tenant
from tests.factories import a_flavor, a_job, a_platform_admin, a_tenant

pytestmark = pytest.mark.django_db

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
APRIL = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.fixture
def admin_client(client: Client) -> Client:
    client.force_login(a_platform_admin())
    return client


@pytest.fixture
def rate() -> Rate:
    book = create_price_book(name="list", currency="CNY")
    create_rate(new_rate(book, "memory_gib_hour", "0.000125"))
    return create_rate(new_rate(book, "card_hour", "12.5"))


def new_rate(book: PriceBook, meter: str, price: str) -> NewRate:
    flavor = a_flavor() if meter == "card_hour" else None
    return NewRate(
        price_book=book,
        meter=meter,
        flavor=flavor,
        tenant=None,
        price=Decimal(price),
        currency="CNY",
        valid_from=APRIL,
    )


def a_period(tenant: Tenant) -> BillingPeriod:
    return BillingPeriod.objects.create(
        tenant=tenant, label="2026-03", starts_at=MARCH, ends_at=APRIL, timezone="UTC", state="open"
    )


def a_statement(total: str, currency: str = "CNY") -> Statement:
    tenant = a_tenant()
    return Statement.objects.create(
        number=f"{tenant.slug}-2026-03-v1",
        tenant=tenant,
        period=a_period(tenant),
        currency=currency,
        total=Decimal(total),
        tenant_slug=tenant.slug,
        tenant_name=tenant.name,
        billed_to=APRIL,
        created_at=APRIL,
        refreshed_at=APRIL,
    )


def texts(client: Client, address: str) -> str:
    """What stands on the page, tags and all blanks left out."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def test_a_job_costs_an_amount_of_its_currency(admin_client: Client) -> None:
    job = a_job()
    Job.objects.filter(pk=job.pk).update(cost_amount=Decimal("849518.44"), cost_currency="CNY")
    Job.objects.filter(pk=job.pk).update(refused_estimate=Decimal(1200))

    rows = texts(admin_client, "/admin/scheduling/job/")
    shown = texts(admin_client, f"/admin/scheduling/job/{job.pk}/change/")

    assert "CNY 849,518.44" in rows
    assert "Cost CNY 849,518.44" in shown
    assert "Estimate refused CNY 1,200.00" in shown
    assert not re.search(r"\.\d{6}\b", rows + shown)


@pytest.mark.parametrize(("currency", "want"), [("CNY", "849,518.44 CNY"), ("JPY", "849,518 JPY")])
def test_a_statement_tells_its_total_in_the_currencys_decimals(admin_client: Client, currency: str, want: str) -> None:
    statement = a_statement("849518.44", currency)

    rows = texts(admin_client, "/admin/billing/statement/")
    shown = texts(admin_client, f"/admin/billing/statement/{statement.pk}/change/")

    assert want in rows
    assert f"Total {want.split(maxsplit=1)[0]} " in shown
    assert not re.search(r"\.\d{6}\b", rows + shown)


def test_an_adjustment_gives_back_with_a_minus(admin_client: Client) -> None:
    tenant = a_tenant()
    gift = Adjustment.objects.create(
        tenant=tenant,
        period=a_period(tenant),
        kind="credit",
        amount=Decimal("-1250.5"),
        currency="CNY",
        reason="goodwill",
        created_at=APRIL,
    )

    rows = texts(admin_client, "/admin/billing/adjustment/")
    shown = texts(admin_client, f"/admin/billing/adjustment/{gift.pk}/change/")

    assert "−1,250.50 CNY" in rows
    assert "Amount −1,250.50" in shown
    assert not re.search(r"\.\d{6}\b", rows + shown)


def test_a_price_keeps_two_decimals_and_no_idle_zeros(admin_client: Client, rate: Rate) -> None:
    rows = texts(admin_client, "/admin/billing/rate/")
    shown = texts(admin_client, f"/admin/billing/rate/{rate.pk}/change/")
    book = texts(admin_client, f"/admin/billing/pricebook/{rate.price_book_id}/change/")

    assert "12.50 CNY" in rows
    assert "0.000125 CNY" in rows
    assert "Price 12.50" in shown
    assert "12.50" in book
    assert "12.500000" not in rows + shown + book


def test_a_price_is_entered_when_its_rate_is_made_and_never_after(admin_client: Client, rate: Rate) -> None:
    """BIL-03."""
    made = admin_client.get("/admin/billing/rate/add/").content.decode()
    kept = admin_client.get(f"/admin/billing/rate/{rate.pk}/change/").content.decode()

    assert 'name="price"' in made
    assert 'name="price"' not in kept
    assert 'name="valid_to_0"' in kept
