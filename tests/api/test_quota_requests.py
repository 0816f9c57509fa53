"""`/quota-requests`: ask, approve, reject."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from berth.common import clock
from tenants.models import Flavor, Notification, Queue, Quota
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import (
    a_flavor,
    a_member_of,
    a_platform_admin,
    a_queue,
    a_tenant,
    an_admin_of,
)

pytestmark = pytest.mark.django_db

URL = "/api/v1/quota-requests"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
EVENING = datetime(2026, 11, 29, 20, tzinfo=UTC)


@pytest.fixture
def flavor() -> Flavor:
    return a_flavor("a100-80g", cards=100)


@pytest.fixture
def queue(flavor: Flavor) -> Queue:
    return a_queue("prod", tenant=a_tenant("algo-a"), cards={flavor: 10})


def _asked(**more: Any) -> dict[str, Any]:
    return {
        "tenant": "algo-a",
        "queue": "prod",
        "resource": "gpu",
        "flavor": "a100-80g",
        "amount": 4.5,
        "reason": "paper deadline",
    } | more


def test_the_admin_asks_and_the_platform_grants(client_for: ClientFor, queue: Queue) -> None:
    asking, deciding = client_for(an_admin_of(queue.tenant)), client_for(a_platform_admin())

    asked = asking.post(URL, _asked())
    granted = deciding.post(f"{URL}/{asked.json()['id']}/approve", {"answer": "fine"})

    assert asked.status_code == 201, asked.content
    assert asked.json()["state"] == "waiting"
    assert asked.json()["amount"] == 4.5
    assert granted.status_code == 200, granted.content
    assert (granted.json()["state"], granted.json()["answer"]) == ("approved", "fine")
    assert Quota.objects.get(queue=queue, valid_to__isnull=True).nominal == 14_500
    assert Notification.objects.get(code="quota-request-approved").user is not None
    assert asking.get("/api/v1/notifications").json()["results"][0]["params"]["queue"] == "algo-a/prod"


def test_a_grant_for_a_while_ends_by_itself(client_for: ClientFor, queue: Queue) -> None:
    deciding = client_for(a_platform_admin())
    with clock.frozen_at(NOON):
        asked = client_for(an_admin_of(queue.tenant)).post(URL, _asked(until=EVENING.isoformat()))
        deciding.post(f"{URL}/{asked.json()['id']}/approve", {})

    lines = Quota.objects.filter(queue=queue).order_by("valid_from")
    assert [(line.nominal, line.valid_from, line.valid_to) for line in lines][1:] == [
        (14_500, NOON, EVENING),
        (10_000, EVENING, None),
    ]


def test_a_grant_where_there_was_no_line_makes_one(client_for: ClientFor, flavor: Flavor) -> None:
    queue = a_queue("prod", tenant=a_tenant("algo-a"), pool=flavor.pool)
    with clock.frozen_at(NOON):
        asked = client_for(an_admin_of(queue.tenant)).post(URL, _asked(until=EVENING.isoformat()))
        client_for(a_platform_admin()).post(f"{URL}/{asked.json()['id']}/approve", {})

    line = Quota.objects.get(queue=queue)
    assert (line.nominal, line.valid_from, line.valid_to) == (4_500, NOON, EVENING)


def test_a_grant_that_the_pool_cannot_back_is_refused_and_still_waits(client_for: ClientFor, queue: Queue) -> None:
    """SCH-15."""
    asked = client_for(an_admin_of(queue.tenant)).post(URL, _asked(amount=91))
    deciding = client_for(a_platform_admin())

    refused = deciding.post(f"{URL}/{asked.json()['id']}/approve", {})

    assert wrong_fields(refused) == {"quota.gpu.a100-80g.nominal": "over-capacity"}
    assert deciding.get(f"{URL}/{asked.json()['id']}").json()["state"] == "waiting"


def test_a_request_is_decided_once(client_for: ClientFor, queue: Queue) -> None:
    asked = client_for(an_admin_of(queue.tenant)).post(URL, _asked()).json()
    deciding = client_for(a_platform_admin())

    rejected = deciding.post(f"{URL}/{asked['id']}/reject", {"answer": "no cards"})
    again = deciding.post(f"{URL}/{asked['id']}/approve", {})

    assert (rejected.status_code, rejected.json()["state"]) == (200, "rejected")
    assert code_of(again) == (409, "conflict")


def test_roles_that_are_too_low(client_for: ClientFor, queue: Queue) -> None:
    member, admin = client_for(a_member_of(queue.tenant)), client_for(an_admin_of(queue.tenant))
    asked = admin.post(URL, _asked()).json()

    assert code_of(member.post(URL, _asked())) == (403, "forbidden")
    assert code_of(admin.post(f"{URL}/{asked['id']}/approve", {})) == (403, "forbidden")
    assert code_of(member.post(f"{URL}/{asked['id']}/reject", {})) == (403, "forbidden")


def test_an_outsider_finds_nothing(client_for: ClientFor, queue: Queue) -> None:
    """W01, W03."""
    asked = client_for(an_admin_of(queue.tenant)).post(URL, _asked()).json()
    outsider = client_for(an_admin_of(a_tenant("ext-d")))

    assert outsider.get(URL).json()["results"] == []
    assert outsider.get(f"{URL}?tenant=algo-a").json()["results"] == []
    for answer in (
        outsider.get(f"{URL}/{asked['id']}"),
        outsider.post(f"{URL}/{asked['id']}/approve", {}),
        outsider.post(URL, _asked()),
    ):
        assert code_of(answer) == (404, "not-found")


def test_wrong_bodies_are_told_by_field(client_for: ClientFor, queue: Queue) -> None:
    client = client_for(an_admin_of(queue.tenant))

    assert wrong_fields(client.post(URL, {"resource": "gold", "amount": 0, "until": "x", "state": "approved"})) == {
        "tenant": "required",
        "queue": "required",
        "resource": "invalid-choice",
        "amount": "min-value",
        "until": "invalid",
        "reason": "required",
        "state": "unknown-field",
    }
    assert wrong_fields(client.post(URL, _asked(flavor="h100", until="2020-01-01T00:00:00Z"))) == {
        "flavor": "unknown",
        "until": "out-of-range",
    }
    assert wrong_fields(client.post(URL, _asked(resource="cpu"))) == {"flavor": "invalid"}


def test_the_list_takes_the_same_queries_for_any_number_of_requests(
    client_for: ClientFor, queue: Queue, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_for(an_admin_of(queue.tenant))
    for number in range(8):
        client.post(URL, _asked(reason=str(number)))

    with django_assert_num_queries(2):
        client.get(URL)
