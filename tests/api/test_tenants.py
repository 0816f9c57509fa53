"""`/tenants`."""

import pytest
from pytest_django import DjangoAssertNumQueries

from tenants.models import AuditEvent, Tenant
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import (
    a_cohort,
    a_finance_user,
    a_job,
    a_member_of,
    a_platform_admin,
    a_queue,
    a_tenant,
    an_admin_of,
    an_outsider_member,
)

pytestmark = pytest.mark.django_db

QUERIES = 2
"""Token with user, platform roles and memberships; the rows; one more notes the token's first use in a minute."""


def test_a_member_lists_the_own_tenant_and_no_other(client_for: ClientFor) -> None:
    mine = a_tenant("algo-a", cohort=a_cohort("root"), cost_centre="4711", service_tier="priority")
    a_tenant("algo-b")

    answer = client_for(a_member_of(mine)).get("/api/v1/tenants")

    assert answer.status_code == 200
    assert answer.json() == {
        "next": None,
        "previous": None,
        "results": [
            {
                "slug": "algo-a",
                "name": "algo-a",
                "cohort": "root",
                "weight": 1,
                "service_tier": "priority",
                "isolation": "shared",
                "cost_centre": "4711",
                "billing_timezone": "UTC",
                "currency": "CNY",
                "state": "active",
                "created_at": "2026-01-01T00:00:00Z",
            }
        ],
    }


def test_finance_sees_all_tenants_in_pages_that_join_up(client_for: ClientFor) -> None:
    slugs = [a_tenant(f"team-{number}").slug for number in range(5)]
    client = client_for(a_finance_user())

    first = client.get("/api/v1/tenants?limit=3").json()
    second = client.get(first["next"]).json()
    back = client.get(second["previous"]).json()

    assert [row["slug"] for row in first["results"] + second["results"]] == slugs
    assert second["next"] is None
    assert back["results"] == first["results"]


def test_ordering_is_from_a_list_and_may_be_turned_round(client_for: ClientFor) -> None:
    for slug in ("b-team", "a-team"):
        a_tenant(slug)
    client = client_for(a_finance_user())

    turned = client.get("/api/v1/tenants?ordering=-slug").json()["results"]

    assert [row["slug"] for row in turned] == ["b-team", "a-team"]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("ordering=secret", "ordering"),
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=1e9", "limit"),
        ("cursor=nonsense", "cursor"),
        ("tenent=algo-a", "tenent"),
    ],
)
def test_a_wrong_query_is_told_by_name(client_for: ClientFor, query: str, want: str) -> None:
    answer = client_for(a_finance_user()).get(f"/api/v1/tenants?{query}")

    assert want in wrong_fields(answer)
    assert answer.json()["errors"][0]["location"] == "query"


def test_a_tenant_of_others_is_not_found_whether_it_exists_or_not(client_for: ClientFor) -> None:
    a_tenant("algo-a")
    outsider = client_for(an_outsider_member())

    theirs, nobodys = outsider.get("/api/v1/tenants/algo-a"), outsider.get("/api/v1/tenants/nobody")
    change = outsider.patch("/api/v1/tenants/algo-a", {"name": "mine"})

    assert code_of(theirs) == code_of(nobodys) == code_of(change) == (404, "not-found")
    assert theirs.content == nobodys.content


def test_a_platform_admin_opens_a_tenant(client_for: ClientFor) -> None:
    a_cohort("root")
    admin = a_platform_admin()
    body = {
        "slug": "algo-c",
        "name": "Algorithms C",
        "cohort": "root",
        "weight": 1.5,
        "service_tier": "priority",
        "isolation": "shared",
        "cost_centre": "CC-1",
        "billing_timezone": "Asia/Shanghai",
        "currency": "USD",
    }

    answer = client_for(admin).post("/api/v1/tenants", body)

    assert answer.status_code == 201, answer.content
    assert answer.json().items() >= {**body, "state": "active"}.items()
    assert Tenant.objects.get(slug="algo-c").weight_ppm == 1_500_000
    assert AuditEvent.objects.filter(actor=admin, action="tenant.create").count() == 1


def test_every_wrong_field_of_a_new_tenant_is_told_at_once(client_for: ClientFor) -> None:
    body = {
        "slug": "Not A Slug",
        "weight": -1,
        "service_tier": "gold",
        "currency": "cny",
        "state": "closed",
        "is_staff": True,
        "cost_centre": 5,
    }

    answer = client_for(a_platform_admin()).post("/api/v1/tenants", body)

    assert wrong_fields(answer) == {
        "slug": "invalid",
        "name": "required",
        "weight": "out-of-range",
        "service_tier": "invalid-choice",
        "currency": "invalid-choice",
        "state": "invalid-choice",
        "is_staff": "unknown-field",
        "cost_centre": "invalid",
    }
    assert not Tenant.objects.exists()


def test_names_that_point_nowhere_are_told_together(client_for: ClientFor) -> None:
    a_tenant("algo-a")
    body = {"slug": "algo-a", "name": "x", "cohort": "nowhere", "billing_timezone": "Mars/Olympus"}

    answer = client_for(a_platform_admin()).post("/api/v1/tenants", body)

    assert wrong_fields(answer) == {"slug": "taken", "cohort": "unknown", "billing_timezone": "invalid"}


@pytest.mark.parametrize("role", ["member", "admin"])
def test_a_role_that_is_too_low_is_403(client_for: ClientFor, role: str) -> None:
    tenant = a_tenant("algo-a")
    client = client_for(a_member_of(tenant) if role == "member" else an_admin_of(tenant))

    assert code_of(client.post("/api/v1/tenants", {"slug": "new", "name": "new"})) == (403, "forbidden")
    assert code_of(client.patch("/api/v1/tenants/algo-a", {"name": "new"})) == (403, "forbidden")


def test_a_tenant_moves_only_along_its_states(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    client = client_for(a_platform_admin())

    closing = client.patch("/api/v1/tenants/algo-a", {"state": "closing", "weight": 2})
    stopped = client.patch("/api/v1/tenants/algo-a", {"state": "budget-stopped"})

    assert closing.json()["state"] == "closing"
    assert closing.json()["weight"] == 2
    assert code_of(stopped) == (409, "conflict")
    assert AuditEvent.objects.get(tenant=tenant).detail == {
        "state": ["active", "closing"],
        "weight_ppm": ["1000000", "2000000"],
    }


def test_a_closing_tenant_is_not_closed_over_its_jobs(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a", state="closing")
    a_job(a_queue(tenant=tenant), state="running")

    answer = client_for(a_platform_admin()).patch("/api/v1/tenants/algo-a", {"state": "closed"})

    assert code_of(answer) == (409, "tenant-in-use")
    assert "starting, running or stopping jobs: 1" in answer.json()["detail"]


def test_the_slug_of_a_tenant_stays(client_for: ClientFor) -> None:
    a_tenant("algo-a")

    answer = client_for(a_platform_admin()).patch("/api/v1/tenants/algo-a", {"slug": "algo-z"})

    assert wrong_fields(answer) == {"slug": "unknown-field"}


def test_the_list_takes_the_same_queries_for_any_number_of_tenants(
    client_for: ClientFor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cohort = a_cohort()
    for _number in range(20):
        a_tenant(cohort=cohort)
    client = client_for(a_finance_user())
    client.get("/api/v1/tenants")

    with django_assert_num_queries(QUERIES):
        client.get("/api/v1/tenants")


def test_a_tenant_is_opened_by_the_whole_document(client_for: ClientFor) -> None:
    a_cohort("root")
    document = {
        "slug": "new",
        "name": "New",
        "cohort": "root",
        "weight": 2,
        "service_tier": "standard",
        "isolation": "shared",
        "cost_centre": "1",
        "billing_timezone": "Asia/Shanghai",
        "currency": "CNY",
        "state": "active",
    }

    answer = client_for(a_platform_admin()).post("/api/v1/tenants", document)

    assert answer.status_code == 201, answer.content
    assert {name: answer.json()[name] for name in document} == document


def test_a_wrong_choice_and_a_wrong_name_are_told_with_what_is_allowed(client_for: ClientFor) -> None:
    body = {"slug": "Not A Slug", "cohort": "none", "service_tier": "gold", "billing_timezone": "Mars"}

    answer = client_for(a_platform_admin()).post("/api/v1/tenants", body)

    assert set(wrong_fields(answer)) == {"slug", "name", "cohort", "service_tier", "billing_timezone"}
    told = {found["field"]: found["detail"] for found in answer.json()["errors"]}
    assert told["service_tier"] == "Choose one of: standard, priority."
    assert told["slug"] == "Use 1–40 lower-case letters, digits and hyphens; start with a letter."


@pytest.mark.parametrize("query", ["slug=a", "name=a", "cohort=root", "state=active&slug=a", "currency=CNY&slug=a"])
def test_tenants_are_narrowed_by_their_fields(client_for: ClientFor, query: str) -> None:
    a_tenant("a", cohort=a_cohort("root"))
    a_tenant("b")

    rows = client_for(a_finance_user()).get(f"/api/v1/tenants?{query}").json()["results"]

    assert [row["slug"] for row in rows] == ["a"]
