"""`GET /jobs` and `GET /jobs/{id}`."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from scheduling.api.job_schema import JobSchema
from scheduling.models import CycleOrder, Forecast, Job, WaitReason
from scheduling.services.submit import submit_job
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import a_finance_user, a_job, a_run, a_tenant, an_outsider_member
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
JOBS = "/api/v1/jobs"
AT = datetime(2026, 11, 29, 10, tzinfo=UTC)
QUERIES = 23
"""The same for one job and for many."""


def waiting(world: World, *, holders: list[dict[str, Any]], **fields: Any) -> Job:
    """A job that waits for 4 cards of which 1 is there."""
    job = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 4})], **fields))
    WaitReason.objects.create(
        job=job,
        code="cards-busy",
        since=AT,
        need={"gpu": 4000},
        have={"gpu": 1000},
        short={"gpu": 3000},
        holders=holders,
        suggestion="wait",
        hint={"gpu": 3000},
    )
    return job


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [row["name"] for row in answer.json()["results"]]


def test_a_waiting_job_says_why_with_numbers_and_where_it_stands(client_for: ClientFor) -> None:
    world = a_world()
    ahead = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 2})]))
    job = waiting(world, holders=[])
    CycleOrder.objects.create(cycle_id=7, job_ids=[ahead.pk, job.pk], changed_at=AT)
    Forecast.objects.create(job=job, at=AT, earliest=AT, likely=AT, latest=AT)
    Forecast.objects.create(job=ahead, at=AT, earliest=AT, likely=AT, latest=AT, started_at=AT, held=True)

    found = client_for(world.member).get(f"{JOBS}/{job.pk}").json()

    assert (found["position"], found["cards_ahead"]) == (2, 2)
    assert found["eta"] == {
        "earliest": "2026-11-29T10:00:00Z",
        "likely": "2026-11-29T10:00:00Z",
        "latest": "2026-11-29T10:00:00Z",
        "hit_rate": 1.0,
        "why_not": None,
    }
    wait = found["wait"]
    assert (wait["code"], wait["need"], wait["have"], wait["short"]) == (
        "cards-busy", {"gpu": 4}, {"gpu": 1}, {"gpu": 3},
    )  # fmt: skip
    assert all(number in wait["message"] for number in ("4 cards", "1 card", "3 cards"))
    assert wait["suggestion"] == "Nothing to do: wait for 3 cards to be given back."


def test_holders_are_named_inside_the_cohort_and_summed_outside_it(client_for: ClientFor) -> None:
    """SCH-21."""
    world = a_world()
    friend, stranger = a_tenant(cohort=world.cohort), a_tenant()
    job = waiting(
        world,
        holders=[
            {"tenant": world.tenant.slug, "queue": world.queue.name, "job": 5, "amounts": {"gpu": 1000}},
            {"tenant": friend.slug, "queue": "x", "job": 6, "amounts": {"gpu": 2000}},
            {"tenant": stranger.slug, "queue": "y", "job": 7, "amounts": {"gpu": 3000}, "until_ms": 0},
            {"tenant": stranger.slug, "queue": "z", "job": 8, "amounts": {"gpu": 4000}},
        ],
    )

    answer = client_for(world.member).get(f"{JOBS}/{job.pk}")

    assert [(each["tenant"], each["queue"], each["job"], each["amounts"]["gpu"]) for each in answer.json()["wait"]["holders"]] == [
        (world.tenant.slug, world.queue.name, 5, 1),
        (friend.slug, None, None, 2),
        (None, None, None, 7),
    ]  # fmt: skip
    assert stranger.slug not in answer.content.decode()


def test_an_outsider_finds_no_job_and_lists_none(client_for: ClientFor) -> None:
    """W01, W02."""
    world = a_world()
    job = submit_job(world.member, world.body())
    outsider = client_for(an_outsider_member())

    assert code_of(outsider.get(f"{JOBS}/{job.pk}")) == (404, "not-found")
    assert names(outsider.get(JOBS)) == []
    assert names(outsider.get(f"{JOBS}?tenant={world.tenant.slug}")) == []
    assert outsider.get(f"{JOBS}/{job.pk}").json() == outsider.get(f"{JOBS}/{job.pk + 1000}").json()


def test_finance_reads_the_jobs_of_all_tenants(client_for: ClientFor) -> None:
    world, other = a_world(), a_world()
    submit_job(world.member, world.body(name="one"))
    submit_job(other.member, other.body(name="two"))

    assert names(client_for(a_finance_user()).get(JOBS)) == ["two", "one"]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("state=running", ["running"]),
        ("state=running,queued", ["queued", "running"]),
        ("tier=batch", ["queued"]),
        ("label=team=a", ["queued"]),
        ("label=team:a", ["queued"]),
        ("label=team", ["queued"]),
        ("label=team=b", []),
        ("ordering=id", ["running", "queued"]),
        ("queue=no-such-queue", []),
        ("user=nobody", []),
        ("priority=700", ["queued"]),
        ("priority=0", []),
        ("kind=training", ["running"]),
        ("kind=interactive,service", ["queued"]),
    ],
)
def test_a_list_is_filtered_and_ordered_by_the_server(client_for: ClientFor, query: str, want: list[str]) -> None:
    world = a_world()
    a_job(world.queue, name="running", state="running", user=world.member)
    a_job(
        world.queue,
        name="queued",
        tier="batch",
        labels={"team": "a"},
        user=world.member,
        kind="interactive",
        priority=700,
    )

    assert names(client_for(world.member).get(f"{JOBS}?{query}")) == want


@pytest.mark.parametrize(
    "query",
    [
        "state=asleep",
        "tier=gold",
        "kind=toy",
        "priority=high",
        "priority=1001",
        "priority=-1",
        "colour=red",
        "limit=0",
        "limit=501",
        "ordering=cost",
    ],
)
def test_an_unknown_filter_or_value_is_400(client_for: ClientFor, query: str) -> None:
    assert client_for(a_world().member).get(f"{JOBS}?{query}").status_code == 400


def test_pages_join_up(client_for: ClientFor) -> None:
    world = a_world()
    for number in range(5):
        a_job(world.queue, name=f"job-{number}", user=world.member)
    client = client_for(world.member)

    first = client.get(f"{JOBS}?limit=3").json()
    second = client.get(first["next"]).json()

    assert [row["name"] for row in first["results"] + second["results"]] == [f"job-{4 - n}" for n in range(5)]


def test_a_list_takes_a_fixed_number_of_queries(
    client_for: ClientFor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world = a_world()
    client = client_for(world.member)
    for number in range(4):
        waiting(world, name=f"w{number}", holders=[{"tenant": "x", "queue": "", "job": 1, "amounts": {"gpu": 1}}])
        a_run(a_job(world.queue, user=world.member, state="running", runs_count=1))
    client.get(f"{JOBS}?limit=2")

    with django_assert_max_num_queries(QUERIES):
        client.get(f"{JOBS}?limit=2")
    with django_assert_max_num_queries(QUERIES):
        answer = client.get(f"{JOBS}?limit=100")

    assert len(answer.json()["results"]) == 8


def test_the_documented_members_of_a_job_are_those_served(client_for: ClientFor) -> None:
    world = a_world()
    job = waiting(world, holders=[])

    found = client_for(world.member).get(f"{JOBS}/{job.pk}").json()

    fields: Any = JobSchema().fields
    assert set(found) == set(fields)
    assert set(found["wait"]) == set(fields["wait"].fields)
    assert set(found["eta"]) == set(fields["eta"].fields)
    assert set(found["roles"][0]) == set(fields["roles"].child.fields)


def test_states_may_be_repeated_and_names_and_projects_narrow_the_list(client_for: ClientFor) -> None:
    world = a_world()
    first, second = (submit_job(world.member, world.body(name=name)) for name in ("one", "two"))
    client = client_for(world.member)

    def ids(query: str) -> set[int]:
        return {row["id"] for row in client.get(f"/api/v1/jobs?{query}").json()["results"]}

    assert ids("state=queued&state=running") == {first.pk, second.pk}
    assert ids("name=two") == {second.pk}
    assert ids("project=none") == set()
