"""Forms of the admin write through the services: what a service refuses is told beside its field, and nothing is written."""

from typing import Any

import pytest
from django.test import Client

from tenants.models import AuditEvent, Queue, Tenant
from tests.factories import a_platform_admin, a_pool, a_queue, a_tenant

pytestmark = pytest.mark.django_db

NO_ROWS = {f"{table}-{of}_FORMS": "0" for table in ("memberships", "queues") for of in ("TOTAL", "INITIAL")}


@pytest.fixture
def admin_client(client: Client) -> Client:
    client.force_login(a_platform_admin())
    return client


def tenant_body(tenant: Tenant, **changed: Any) -> dict[str, Any]:
    """What the form of a tenant sends back, with something changed."""
    body = {
        "name": tenant.name, "weight": "1", "isolation": tenant.isolation, "service_tier": tenant.service_tier,
        "cost_centre": tenant.cost_centre, "billing_timezone": tenant.billing_timezone, "currency": tenant.currency,
        "state": tenant.state, "cohort": tenant.cohort_id or "", **NO_ROWS,
    }  # fmt: skip
    return {**body, **changed}


def queue_body(queue: Queue, **changed: Any) -> dict[str, Any]:
    body = {"default_tier": queue.default_tier, "weight": "1", "loan_period_h": "4", "state": queue.state}
    return {**body, **changed}


def test_a_tenant_is_changed_and_the_trail_says_so(admin_client: Client) -> None:
    tenant = a_tenant()

    answer = admin_client.post(
        f"/admin/tenants/tenant/{tenant.pk}/change/", tenant_body(tenant, name="Vision", weight="2.5")
    )

    assert answer.status_code == 302
    tenant.refresh_from_db()
    assert (tenant.name, tenant.weight_ppm) == ("Vision", 2_500_000)
    assert AuditEvent.objects.get(action="tenant.change").detail.keys() == {"name", "weight_ppm"}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"currency": "XYZ"}, "ISO 4217"),
        ({"billing_timezone": "Mars/Olympus"}, "IANA"),
        ({"state": "closed"}, "cannot go from active to closed"),
        ({"weight": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_the_service_refuses_is_told_and_not_written(
    admin_client: Client, changed: dict[str, Any], told: str
) -> None:
    tenant = a_tenant()
    before = Tenant.objects.values().get(pk=tenant.pk)

    answer = admin_client.post(f"/admin/tenants/tenant/{tenant.pk}/change/", tenant_body(tenant, **changed))

    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert Tenant.objects.values().get(pk=tenant.pk) == before


def test_what_stays_for_ever_is_not_taken_from_a_form(admin_client: Client) -> None:
    queue = a_queue()
    other = a_pool()

    first = admin_client.post(
        f"/admin/tenants/tenant/{queue.tenant.pk}/change/",
        tenant_body(queue.tenant, slug="other", created_at_0="2001-01-01"),
    )
    second = admin_client.post(
        f"/admin/tenants/queue/{queue.pk}/change/", queue_body(queue, name="other", pool=other.pk, environment="prod")
    )

    assert (first.status_code, second.status_code) == (302, 302)
    was = (queue.tenant.slug, queue.tenant.created_at, queue.name, queue.pool_id, queue.environment)
    queue = Queue.objects.select_related("tenant").get(pk=queue.pk)
    assert (queue.tenant.slug, queue.tenant.created_at, queue.name, queue.pool_id, queue.environment) == was


def test_a_queue_is_changed_in_peoples_units(admin_client: Client) -> None:
    queue = a_queue()

    answer = admin_client.post(
        f"/admin/tenants/queue/{queue.pk}/change/",
        queue_body(queue, weight="0.5", loan_period_h="1.5", max_pool_share="0.25"),
    )

    assert answer.status_code == 302
    queue.refresh_from_db()
    assert (queue.weight_ppm, queue.effective_weight_ppm) == (500_000, 500_000)
    assert (queue.loan_period_s, queue.max_pool_share_ppm) == (5400, 250_000)


def test_a_tenant_and_its_queue_are_made(admin_client: Client) -> None:
    pool = a_pool()
    made = tenant_body(Tenant(name="Vision", currency="CNY"), slug="vision", billing_timezone="Asia/Shanghai")

    tenant = admin_client.post("/admin/tenants/tenant/add/", made)
    vision = Tenant.objects.get(slug="vision")
    queue = admin_client.post(
        "/admin/tenants/queue/add/",
        queue_body(Queue(), tenant=vision.pk, name="dev", environment="dev", pool=pool.pk, default_tier="development"),
    )

    assert (tenant.status_code, queue.status_code) == (302, 302)
    assert Queue.objects.get(tenant=vision).loan_period_s == 4 * 3600
    assert set(AuditEvent.objects.values_list("action", flat=True)) >= {"tenant.create", "queue.create"}
