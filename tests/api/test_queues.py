"""`/queues`."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from berth.common import clock
from scheduling.api.queues import QueueSchema
from scheduling.models import Loan, LoanSide, QueueUse
from scheduling.selectors.quota_lines import queue_quota_lines, tenant_quota_lines
from scheduling.services.submit import submit_job
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import (
    a_job,
    a_lease,
    a_member_of,
    a_platform_admin,
    a_queue,
    a_quota,
    a_run,
    a_tenant,
    an_outsider_member,
)
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
QUEUES = "/api/v1/queues"
AT = datetime(2026, 11, 29, 10, tzinfo=UTC)


def held(world: World, *, cards: int, borrowed: int = 0) -> None:
    """A run of the queue on this many cards of its first node, the last of them borrowed."""
    run = a_run(a_job(world.queue, user=world.member, state="running", gpu=cards, flavor=world.flavor), state="running")
    node = world.flavor.nodes.earliest("id")
    for slot, card in enumerate(node.cards.order_by("index")[:cards]):
        a_lease(run, card, slot=slot, borrowed=slot >= cards - borrowed, cpu_m=1000 if slot == 0 else 0)
    if borrowed:
        loan = Loan.objects.create(
            run=run, queue=world.queue, flavor=world.flavor, amount_m=borrowed * 1000, opened_at=AT,
            expires_at=AT + timedelta(hours=4),
        )  # fmt: skip
        LoanSide.objects.create(
            loan=loan, queue=a_queue(tenant=world.tenant, pool=world.queue.pool), amount_m=borrowed * 1000
        )


def test_a_queue_tells_its_quota_and_what_stands_on_it(client_for: ClientFor) -> None:
    world = a_world(nodes=2, nominal=2)
    held(world, cards=4, borrowed=2)
    submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 1})]))

    found = client_for(world.member).get(f"{QUEUES}/{world.tenant.slug}/{world.queue.name}").json()

    line = found["quota"]["gpu"][world.flavor.name]
    assert (line["nominal"], line["borrowing_limit"], line["lending_limit"]) == (2, None, None)
    assert (line["used"], line["own"], line["borrowed"], line["lent"], line["pending"]) == (4, 2, 2, 0, 1)
    assert found["used"]["gpu"] == {world.flavor.name: 4}
    assert (found["share"], found["effective_weight"]) == (0.25, 1)
    assert set(found) == set(QueueSchema().fields)


def test_a_queue_and_its_waiting_jobs_tell_what_makes_their_weight(client_for: ClientFor) -> None:
    """SCH-06: of two queues one used 30 card-hours, 40 % busy, all of it sampled: F = 1/4, p = 1/3."""
    world = a_world(nodes=2, nominal=2)
    a_queue(tenant=world.tenant, pool=world.queue.pool)
    job = submit_job(world.member, world.body())
    QueueUse.objects.create(
        queue=world.queue, decayed_card_ms=108_000_000, as_of=clock.now(), held_units_s=1000, sampled_units_s=1000,
        busy_units_s=400,
    )  # fmt: skip

    found = client_for(world.member).get(f"{QUEUES}/{world.tenant.slug}/{world.queue.name}").json()
    asked = client_for(world.member).get(f"/api/v1/jobs/{job.pk}").json()

    assert found["weights"]["queue"] == {
        "weight": 1, "effective_weight": 0.516666, "history_factor": 0.25, "idle_penalty": 0.333333,
        "utilisation": 0.4, "coverage": 1, "decayed_card_hours": pytest.approx(30, abs=0.01),
    }  # fmt: skip
    assert found["effective_weight"] == 0.516666
    assert found["weights"]["tenant"]["history_factor"] == 1
    assert asked["weights"] == found["weights"]


def test_what_a_queue_lends_is_told(client_for: ClientFor) -> None:
    world = a_world(nodes=2, nominal=2)
    held(world, cards=4, borrowed=2)
    lender = world.tenant.queues.exclude(pk=world.queue.pk).get()

    found = client_for(world.member).get(f"{QUEUES}/{world.tenant.slug}/{lender.name}").json()

    assert found["lent"]["gpu"] == {world.flavor.name: 2}


def test_what_a_tenant_lends_stands_on_its_queues_by_their_unused_nominal(client_for: ClientFor) -> None:
    """SCH-16: a loan's side is the tenant's; 4 of 6 + 2 idle cards are 3 and 1, and a queue that keeps all back lends none."""
    borrower = a_world(nodes=2, nominal=2)
    lender = a_tenant(cohort=borrower.cohort)
    queues = {
        name: a_queue(name, tenant=lender, pool=borrower.queue.pool) for name in ("first", "second", "third", "other")
    }
    for name, nominal, lending in (("first", 6, None), ("second", 2, None), ("third", 5, 0)):
        a_quota(queues[name], flavor=borrower.flavor, nominal=nominal, lending_limit=lending)
    held(borrower, cards=6, borrowed=4)
    LoanSide.objects.update(queue=None, tenant=lender)

    client = client_for(a_member_of(lender))
    listed = {row["name"]: row["lent"]["gpu"] for row in client.get(f"{QUEUES}?tenant={lender.slug}").json()["results"]}
    single = client.get(f"{QUEUES}/{lender.slug}/second").json()

    flavor = borrower.flavor.name
    assert {name: lent.get(flavor, 0) for name, lent in listed.items()} == {
        "first": 3, "second": 1, "third": 0, "other": 0
    }  # fmt: skip
    assert single["quota"]["gpu"][flavor]["lent"] == 1
    [line] = [line for line in queue_quota_lines(queues["first"]) if line.resource == "gpu"]
    [whole] = [line for line in tenant_quota_lines(lender) if line.resource == "gpu"]
    assert (line.lent, line.remaining) == (3_000, 3_000)
    assert (whole.nominal, whole.lent) == (13_000, 4_000)


def test_an_outsider_finds_no_queue_and_lists_none(client_for: ClientFor) -> None:
    """W01, W02."""
    world = a_world()
    client = client_for(an_outsider_member())

    assert code_of(client.get(f"{QUEUES}/{world.tenant.slug}/{world.queue.name}")) == (404, "not-found")
    assert client.get(f"{QUEUES}?tenant={world.tenant.slug}").json()["results"] == []


def test_a_platform_admin_opens_and_changes_a_queue_and_a_tenant_admin_may_not(client_for: ClientFor) -> None:
    world = a_world(nodes=2, nominal=4)
    body = {
        "tenant": world.tenant.slug,
        "name": "second",
        "pool": world.queue.pool.name,
        "quota": {"gpu": {world.flavor.name: {"nominal": 8, "borrowing_limit": 0}}},
    }
    admin = client_for(a_platform_admin())

    made = admin.post(QUEUES, body)
    changed = admin.patch(
        f"{QUEUES}/{world.tenant.slug}/second", {"weight": 2, "quota": {"gpu": {world.flavor.name: {"nominal": 4}}}}
    )

    assert made.status_code == 201, made.content
    assert made.json()["quota"]["gpu"][world.flavor.name]["borrowing_limit"] == 0
    assert (changed.json()["weight"], changed.json()["quota"]["gpu"][world.flavor.name]["nominal"]) == (2, 4)
    assert code_of(client_for(world.admin).post(QUEUES, {**body, "name": "third"})) == (403, "forbidden")


def test_a_list_takes_a_fixed_number_of_queries(
    client_for: ClientFor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world = a_world()
    for number in range(4):
        a_queue(f"q{number}", tenant=world.tenant, pool=world.queue.pool)
    client = client_for(world.member)
    client.get(QUEUES)

    with django_assert_max_num_queries(14):
        answer = client.get(QUEUES)

    assert len(answer.json()["results"]) == 5


def test_what_is_wrong_with_quota_is_listed_beside_all_else(client_for: ClientFor) -> None:
    world = a_world()
    flavor, admin = world.flavor.name, client_for(a_platform_admin())
    quota = {"gpu": {flavor: {"nominal": -5, "foo": 1}, "nope": {"nominal": 1}}, "cpu": 3}
    want = {"weight", "colour", f"quota.gpu.{flavor}.nominal", f"quota.gpu.{flavor}.foo", "quota.gpu.nope", "quota.cpu"}

    changed = admin.patch(
        f"{QUEUES}/{world.tenant.slug}/{world.queue.name}", {"weight": -1, "colour": "red", "quota": quota}
    )
    made = admin.post(
        QUEUES,
        {
            "tenant": world.tenant.slug,
            "name": "Q 1",
            "pool": world.queue.pool.name,
            "weight": -1,
            "colour": "red",
            "quota": quota,
        },
    )

    assert set(wrong_fields(changed)) == want
    assert set(wrong_fields(made)) == want | {"name"}


def test_queues_are_narrowed_by_their_fields(client_for: ClientFor) -> None:
    world = a_world()
    a_queue("second", tenant=world.tenant, pool=world.queue.pool, default_tier="batch")
    client = client_for(world.member)

    assert [row["name"] for row in client.get(f"{QUEUES}?default_tier=batch").json()["results"]] == ["second"]
    assert len(client.get(f"{QUEUES}?state=open&pool={world.queue.pool.name}").json()["results"]) == 2
