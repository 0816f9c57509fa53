"""`/quota-transfers`: lending by agreement, for a period (SCH-25)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berth.common import clock
from tenants.models import Flavor, Queue
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_cohort, a_flavor, a_member_of, a_queue, a_tenant, an_admin_of

pytestmark = pytest.mark.django_db

URL = "/api/v1/quota-transfers"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def flavor() -> Flavor:
    return a_flavor("a100-80g", cards=100)


@pytest.fixture
def giver(flavor: Flavor) -> Queue:
    """algo-a/prod with 16 cards; algo-b/dev in the same cohort, ext-d/prod in none."""
    cohort = a_cohort()
    a_queue("dev", tenant=a_tenant("algo-b", cohort=cohort), cards={flavor: 0})
    a_queue("prod", tenant=a_tenant("ext-d"), cards={flavor: 0})
    return a_queue("prod", tenant=a_tenant("algo-a", cohort=cohort), cards={flavor: 16})


def _body(**more: Any) -> dict[str, Any]:
    return {
        "giver": "algo-a/prod",
        "receiver": "algo-b/dev",
        "resource": "gpu",
        "flavor": "a100-80g",
        "amount": 8,
        "valid_from": NOON.isoformat(),
        "valid_to": (NOON + timedelta(days=2)).isoformat(),
    } | more


def test_the_givers_admin_lends_and_both_sides_see_it(client_for: ClientFor, giver: Queue) -> None:
    with clock.frozen_at(NOON):
        answer = client_for(an_admin_of(giver.tenant)).post(URL, _body())

    assert answer.status_code == 201, answer.content
    assert answer.json()["amount"] == 8
    taker = client_for(a_member_of(Queue.objects.get(name="dev").tenant))
    assert [row["giver"] for row in taker.get(URL).json()["results"]] == ["algo-a/prod"]
    assert taker.get(f"{URL}/{answer.json()['id']}").status_code == 200
    assert taker.get("/api/v1/notifications").json()["results"][0]["code"] == "quota-transfer"


def test_nobody_gives_more_than_they_have_at_any_time(client_for: ClientFor, giver: Queue) -> None:
    client = client_for(an_admin_of(giver.tenant))
    later = {"valid_from": (NOON + timedelta(days=1)).isoformat(), "valid_to": (NOON + timedelta(days=5)).isoformat()}

    with clock.frozen_at(NOON):
        first = client.post(URL, _body(amount=10))
        overlapping = client.post(URL, _body(amount=7, **later))
        fitting = client.post(URL, _body(amount=6, **later))

    assert (first.status_code, fitting.status_code) == (201, 201)
    assert wrong_fields(overlapping) == {"amount": "out-of-range"}
    assert "6 cards" in overlapping.json()["errors"][0]["detail"]


def test_a_queue_outside_the_cohort_is_not_found(client_for: ClientFor, giver: Queue) -> None:
    client = client_for(an_admin_of(giver.tenant))

    with clock.frozen_at(NOON):
        assert code_of(client.post(URL, _body(receiver="ext-d/prod"))) == (404, "not-found")
        assert code_of(client.post(URL, _body(receiver="nobody/prod"))) == (404, "not-found")


def test_others_do_not_give_what_is_not_theirs(client_for: ClientFor, giver: Queue) -> None:
    with clock.frozen_at(NOON):
        taker = client_for(an_admin_of(Queue.objects.get(name="dev").tenant))
        assert code_of(taker.post(URL, _body())) == (404, "not-found")
        assert code_of(client_for(a_member_of(giver.tenant)).post(URL, _body())) == (403, "forbidden")


def test_wrong_bodies_are_told_by_field(client_for: ClientFor, giver: Queue) -> None:
    client = client_for(an_admin_of(giver.tenant))

    assert wrong_fields(client.post(URL, {"giver": "algo-a", "amount": -1, "valid_to": 5})) == {
        "giver": "invalid",
        "receiver": "required",
        "resource": "required",
        "amount": "min-value",
        "valid_to": "invalid",
    }
    with clock.frozen_at(NOON):
        answer = client.post(URL, _body(receiver="algo-a/prod", valid_to=NOON.isoformat(), flavor=None))
    assert wrong_fields(answer) == {"receiver": "invalid", "valid_to": "out-of-range", "flavor": "unknown"}
