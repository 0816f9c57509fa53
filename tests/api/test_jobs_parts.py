"""Events, runs, pods, cost and usage of a job by REST."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange

from berth.common import clock
from billing.models import LedgerEntry
from billing.services.metering import meter_jobs
from scheduling.api.job_schema import EventSchema, JobCostSchema, JobUsageSchema, PodSchema, RunSchema
from scheduling.models import Card, Job, LeaseSegment, Loan, LoanSide, Pod, Preemption, RunResize
from scheduling.services.submit import submit_job
from scheduling.states import JobState
from scheduling.transitions import Cause, move_job
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import a_job, a_lease, a_node, a_run, an_outsider_member
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 29, 10, tzinfo=UTC)
PARTS = ["events", "runs", "pods", "cost", "usage"]


def address(job: Job, part: str) -> str:
    return f"/api/v1/jobs/{job.pk}/{part}"


def evicted(world: World) -> Job:
    """An hour on two cards, one of them borrowed, then a notice and a minute of grace."""
    with clock.frozen_at(START - timedelta(minutes=1)):
        job = submit_job(world.member, world.body(roles=[world.role(resources={"gpu": 2})], max_runtime=7200))
    notice, left = START + timedelta(hours=1), START + timedelta(hours=1, minutes=1)
    move_job(
        job.pk,
        old=[JobState.QUEUED],
        new=JobState.STARTING,
        cause=Cause(reason="start", at=START, cycle_id=3),
        changes={"runs_count": 1, "started_at": START},
    )
    run = a_run(job, state="stopping", admitted_at=START, started_at=START, stop_reason="preempted")
    for slot, card in enumerate(Card.objects.order_by("id")[:2]):
        lease = a_lease(run, card, slot=slot, borrowed=slot == 1)
        for kind, begin, end in (("billable", START, notice), ("grace", notice, left)):
            LeaseSegment.objects.create(
                lease=lease,
                card=card,
                kind=kind,
                during=DateTimeTZRange(begin, end, "[)"),
                quantity=7000,
                borrowed=slot == 1,
            )
    Preemption.objects.create(run=run, job=job, reason="reclaim-nominal", notice_at=notice, grace_until=left)
    loan = Loan.objects.create(
        run=run,
        queue=world.queue,
        flavor=world.flavor,
        amount_m=1000,
        opened_at=START,
        expires_at=START + timedelta(hours=4),
    )
    LoanSide.objects.create(loan=loan, queue=a_world().queue, amount_m=1000)
    return job


def test_events_are_one_timeline_of_states_notices_loans_and_what_was_not_charged(client_for: ClientFor) -> None:
    world = a_world()
    job = evicted(world)

    events = client_for(world.member).get(address(job, "events")).json()["results"]

    told = [(event["kind"], event["code"]) for event in events]
    assert ("job", "queued") in told
    assert ("job", "starting") in told
    assert told.index(("loan", "opened")) < told.index(("preempt", "reclaim-nominal"))
    [grace] = [event for event in events if event["kind"] == "not-charged"]
    assert (grace["code"], grace["card_seconds"], grace["at"], grace["until"]) == (
        "grace", 120, "2026-11-29T11:00:00Z", "2026-11-29T11:01:00Z",
    )  # fmt: skip
    assert set(events[0]) == set(EventSchema().fields)


def test_the_timeline_tells_what_was_saved_and_what_a_run_resumed_from(client_for: ClientFor) -> None:
    world = a_world()
    job = a_job(world.queue, checkpoint_path="/ckpt", submitted_at=START, runs_count=2)
    times: dict[str, Any] = {
        "admitted_at": START,
        "started_at": START,
        "state": "ended",
        "ended_at": START + timedelta(hours=2),
    }
    a_run(job, checkpoint_at=START + timedelta(minutes=50), checkpoint_state="writing", **times)
    a_run(job, number=2, resumes=True, **times | {"started_at": START + timedelta(hours=1)})

    events = client_for(world.member).get(address(job, "events")).json()["results"]

    saved, resumed = (event for event in events if event["kind"] == "checkpoint")
    assert (saved["code"], saved["at"], saved["run"], saved["message"]) == (
        "saved",
        "2026-11-29T10:50:00Z",
        1,
        "/ckpt/r1",
    )
    assert (resumed["code"], resumed["at"], resumed["run"]) == ("resumed", "2026-11-29T11:00:00Z", 2)


def test_an_elastic_run_tells_its_size_its_range_and_how_it_came_to_it(client_for: ClientFor) -> None:
    """SCH-10."""
    world = a_world()
    job = a_job(world.queue, replicas=4, minimum=1, submitted_at=START, state="running", runs_count=1)
    run = a_run(job, admitted_at=START, started_at=START, state="running", wanted_size=4)
    node = a_node(flavor=world.flavor)
    for index, card in enumerate(node.cards.order_by("index")[:3]):
        a_lease(run, card, rank=index)
    gone = run.pods.get(index=2)
    later = START + timedelta(hours=1)
    Pod.objects.filter(pk=gone.pk).update(released_at=later, release_reason="reclaim-nominal", uid="u-2")
    RunResize.objects.create(run=run, at=later, role_name="worker", old=3, new=2, reason="reclaim-nominal", cycle_id=7)
    client = client_for(world.member)

    found = client.get(address(job, "runs")).json()["results"][0]
    events = client.get(address(job, "events")).json()["results"]
    pods = client.get(address(job, "pods")).json()["results"]

    assert found["size"] == {
        "role": "worker", "pods": 2, "min_replicas": 1, "replicas": 4, "wanted": 4, "why": "reclaim-nominal",
        "since": "2026-11-29T11:00:00Z",
    }  # fmt: skip
    assert found["cards"] == 2
    [event] = [event for event in events if event["kind"] == "resize"]
    assert (event["role"], event["from"], event["to"], event["code"], event["cycle"]) == (
        "worker", 3, 2, "reclaim-nominal", 7,
    )  # fmt: skip
    assert [(pod["index"], pod["uid"], pod["release_reason"]) for pod in pods] == [
        (0, None, None), (1, None, None), (2, "u-2", "reclaim-nominal"),
    ]  # fmt: skip


def test_a_run_says_what_it_holds_where_whose_it_is_and_until_when(client_for: ClientFor) -> None:
    world = a_world()
    job = evicted(world)

    [run] = client_for(world.member).get(address(job, "runs")).json()["results"]

    assert (run["cards"], run["borrowed"], run["flavors"]) == (2, 1, [world.flavor.name])
    [loan] = run["loans"]
    assert (loan["amount"], loan["expires_at"], len(loan["lenders"])) == (1, "2026-11-29T14:00:00Z", 1)
    assert run["preemption"]["reason"] == "reclaim-nominal"
    assert set(run) == set(RunSchema().fields)


def test_pods_name_their_node_and_cards(client_for: ClientFor) -> None:
    world = a_world()
    job = evicted(world)

    [pod] = client_for(world.member).get(address(job, "pods")).json()["results"]

    assert (pod["role"], pod["index"], pod["cards"]) == ("worker", 0, [0, 1])
    assert set(pod) == set(PodSchema().fields)


def test_usage_is_what_was_held_own_borrowed_and_not_charged(client_for: ClientFor) -> None:
    world = a_world()
    job = evicted(world)

    [line] = client_for(world.member).get(address(job, "usage")).json()["results"]

    assert (line["card_seconds"], line["own"], line["borrowed"], line["excluded"]) == (7320, 3600, 3600, {"grace": 120})
    assert (line["utilisation"], line["coverage"]) == (None, 0)
    assert set(line) == set(JobUsageSchema().fields)


def test_usage_counts_seconds_as_the_bill_does(client_for: ClientFor) -> None:
    """ADR 0013: each end is floored to its second, so 9.2 seconds over a tick are ten."""
    world = a_world()
    job = a_job(world.queue, user=world.member, state="running", runs_count=1)
    lease = a_lease(a_run(job), Card.objects.order_by("id")[0])
    held = DateTimeTZRange(START + timedelta(seconds=0.9), START + timedelta(seconds=10.1), "[)")
    LeaseSegment.objects.create(lease=lease, card=lease.card, kind="billable", during=held, quantity=7000)
    meter_jobs(world.tenant.pk, [job.pk])

    [line] = client_for(world.member).get(address(job, "usage")).json()["results"]

    (entry,) = LedgerEntry.objects.filter(job=job)
    assert (line["card_seconds"], entry.seconds) == (10, 10)


def test_cost_is_the_one_that_billing_recorded_and_null_before(client_for: ClientFor) -> None:
    world = a_world()
    job = evicted(world)
    client = client_for(world.member)
    before = client.get(address(job, "cost")).json()
    Job.objects.filter(pk=job.pk).update(cost_amount=Decimal("25.000000"), cost_currency="CNY", cost_final=True)

    after = client.get(address(job, "cost")).json()

    assert (before["amount"], before["final"]) == (None, False)
    assert (after["amount"], after["currency"], after["final"], after["tense"]) == ("25.00", "CNY", True, "final")
    assert after["not_charged"][0]["reason"] == "grace"
    assert set(after) == set(JobCostSchema().fields)


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_a_job_are_not_found_by_an_outsider(client_for: ClientFor, part: str) -> None:
    """W01, W02."""
    job = submit_job((world := a_world()).member, world.body())

    assert code_of(client_for(an_outsider_member()).get(address(job, part))) == (404, "not-found")


@pytest.mark.parametrize("part", PARTS)
def test_parts_of_a_new_job_are_there_and_empty(client_for: ClientFor, part: str) -> None:
    job = submit_job((world := a_world()).member, world.body())

    assert client_for(world.member).get(address(job, part)).status_code == 200


def test_parts_are_pages_whole_unless_a_limit_is_given(client_for: ClientFor) -> None:
    world = a_world()
    job, client = evicted(world), client_for(world.member)

    whole = client.get(address(job, "events")).json()
    first = client.get(address(job, "events"), {"limit": 2}).json()
    second = client.get(first["next"]).json()

    assert list(whole) == ["next", "previous", "results"]
    assert (whole["next"], whole["previous"]) == (None, None)
    assert first["results"] + second["results"] == whole["results"][:4]
    assert client.get(second["previous"]).json() == first
    assert code_of(client.get(address(job, "events"), {"limit": 501})) == (400, "invalid")
    assert code_of(client.get(address(job, "pods"), {"cursor": "x"})) == (400, "invalid")
