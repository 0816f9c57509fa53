"""`POST /jobs`."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from scheduling.models import Job
from scheduling.selectors.configured import configured
from tenants.models import Flavor
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_finance_user, an_outsider_member
from tests.factories.worlds import a_world

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs"
QUERIES = 7
"""Token with user, platform roles and memberships; its first use noted; whether the configuration changed; the transaction's
two ends, the rows' keys, and all rows at once. The answer reads nothing that was just written."""


def test_a_member_submits_and_gets_the_job_with_its_defaults(client_for: ClientFor) -> None:
    world = a_world()

    answer = client_for(world.member).post(JOBS, world.body(labels={"project": "x"}))

    assert answer.status_code == 201, answer.content
    job = answer.json()
    assert (job["state"], job["tier"], job["priority"], job["max_restarts"]) == ("queued", "development", 500, 3)
    assert job["roles"][0]["resources"] == {
        "gpu": 1,
        "flavors": [world.flavor.name],
        "cpu": 16,
        "memory": 128,
        "vram_per_gpu": None,
    }
    assert job["cost"] == {"amount": None, "currency": "CNY", "final": False, "as_of": None}
    assert (job["user"], job["labels"], job["runs"], job["wait"]) == (world.member.username, {"project": "x"}, [], None)
    assert job["submitted_at"].endswith("Z")
    assert Job.objects.get().pk == job["id"]


def test_a_member_of_another_tenant_gets_404_and_nothing_is_stored(client_for: ClientFor) -> None:
    """W01, W03."""
    world = a_world()

    answer = client_for(an_outsider_member()).post(JOBS, world.body())

    assert code_of(answer) == (404, "not-found")
    assert not Job.objects.exists()


def test_finance_may_not_submit(client_for: ClientFor) -> None:
    world = a_world()

    answer = client_for(a_finance_user()).post(JOBS, world.body())

    assert code_of(answer) == (403, "forbidden")


def test_a_token_that_may_only_read_may_not_submit(client_for: ClientFor) -> None:
    """W32."""
    world = a_world()

    answer = client_for(world.member, scopes=["jobs:read"]).post(JOBS, world.body())

    assert code_of(answer) == (403, "forbidden")


def test_bad_input_lists_every_wrong_field(client_for: ClientFor) -> None:
    world = a_world()
    body = world.body(priority=5000, colour="red", roles=[world.role(replicas=0, resources={"gpu": 1.5})])

    answer = client_for(world.member).post(JOBS, body)

    assert wrong_fields(answer) == {
        "priority": "range",
        "colour": "unknown-field",
        "roles[0].replicas": "range",
        "roles[0].resources.gpu": "range",
    }


@pytest.mark.parametrize("body", [[], "text", 7, None, {}], ids=["a list", "text", "a number", "null", "nothing"])
def test_what_is_no_job_at_all_is_bad_input(client_for: ClientFor, body: object) -> None:
    world = a_world()

    answer = client_for(world.member).post(JOBS, body)

    assert answer.status_code == 400, answer.content


def test_every_column_of_a_job_sent_as_a_field_is_refused_by_name(client_for: ClientFor) -> None:
    """W05."""
    world = a_world()
    columns = {field.attname: 1 for field in Job._meta.concrete_fields} | {"state": "succeeded", "user": "root"}
    known = {"tenant", "queue", "name", "kind", "tier", "priority", "objective", "labels", "callback_url", "deadline"}
    columns = {name: value for name, value in columns.items() if name not in known | {"not_before", "max_restarts"}}

    answer = client_for(world.member).post(JOBS, {**columns, **world.body()})

    assert set(wrong_fields(answer)) >= set(columns) - {"project_id"}
    assert not Job.objects.exists()


def test_urgency_without_the_admins_role_is_403_and_with_it_is_taken(client_for: ClientFor) -> None:
    world = a_world()

    assert code_of(client_for(world.member).post(JOBS, world.body(priority=950))) == (403, "forbidden")
    assert client_for(world.admin).post(JOBS, world.body(priority=950)).status_code == 201


def test_one_key_makes_one_job_and_repeats_its_answer(client_for: ClientFor) -> None:
    """Q03."""
    world = a_world()
    client = client_for(world.member)
    key: dict[str, Any] = {"HTTP_IDEMPOTENCY_KEY": "once"}

    first = client.post(JOBS, world.body(), **key)
    again = client.post(JOBS, world.body(), **key)
    other = client.post(JOBS, world.body(name="another"), **key)

    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409)
    assert first.json() == again.json()
    assert Job.objects.count() == 1


def test_a_refused_body_leaves_its_key_free(client_for: ClientFor) -> None:
    """Q03."""
    world = a_world()
    client = client_for(world.member)

    refused = client.post(JOBS, world.body(priority=-1), HTTP_IDEMPOTENCY_KEY="k")
    accepted = client.post(JOBS, world.body(priority=1), HTTP_IDEMPOTENCY_KEY="k")

    assert (refused.status_code, accepted.status_code) == (400, 201)


def test_a_submit_takes_a_fixed_number_of_queries(
    client_for: ClientFor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    world = a_world()
    client = client_for(world.member)
    configured(fresh=True)

    with django_assert_num_queries(QUERIES):
        client.post(JOBS, world.body(roles=[world.role(), world.role(name="ps"), world.role(name="evaluator")]))


def test_problems_are_told_in_the_readers_language(client_for: ClientFor) -> None:
    world = a_world()

    answer = client_for(world.member).post(JOBS, world.body(priority=-1), HTTP_ACCEPT_LANGUAGE="zh-hans")

    assert answer.headers["Content-Language"] == "zh-hans"
    assert wrong_fields(answer) == {"priority": "range"}


def test_a_share_of_a_card_is_taken_and_shown_as_its_part(client_for: ClientFor) -> None:
    """SCH-13: CPU and memory left out are the same part of the card's."""
    world = a_world()
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="any")
    client = client_for(world.member)

    answer = client.post(JOBS, world.body(roles=[world.role(resources={"gpu": 0.5, "vram_per_gpu": 30})]))

    assert answer.status_code == 201, answer.content
    role = client.get(f"{JOBS}/{answer.json()['id']}").json()["roles"][0]["resources"]
    assert (role["gpu"], role["vram_per_gpu"], role["cpu"], role["memory"]) == (0.5, 30, 8, 64)


def test_a_share_that_no_card_can_hold_is_refused_with_the_most_there_is(client_for: ClientFor) -> None:
    world = a_world()
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="any")

    answer = client_for(world.member).post(
        JOBS, world.body(roles=[world.role(resources={"gpu": 0.5, "vram_per_gpu": 96})])
    )

    assert wrong_fields(answer) == {"roles[0].resources.vram_per_gpu": "impossible"}


def test_where_cards_are_whole_only_a_share_is_refused(client_for: ClientFor) -> None:
    world = a_world()
    Flavor.objects.filter(pk=world.flavor.pk).update(mode="whole")

    answer = client_for(world.member).post(JOBS, world.body(roles=[world.role(resources={"gpu": 0.5})]))

    assert wrong_fields(answer) == {"roles[0].resources.gpu": "impossible"}
