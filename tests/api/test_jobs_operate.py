"""Cancel, suspend, resume, clone and change by REST (F37)."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from berth.common import clock
from scheduling.models import Job, Run, Transition, WaitReason
from scheduling.services.submit import submit_job
from scheduling.states import JobState, RunState
from scheduling.transitions import Cause, move_job
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_finance_user, a_job, a_member_of, a_run, an_outsider_member
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)
ORDERS = ["cancel", "suspend", "resume", "clone"]


def address(job: Job, what: str = "") -> str:
    return f"/api/v1/jobs/{job.pk}{'/' if what else ''}{what}"


def running(world: World, state: str = "running") -> tuple[Job, Run]:
    """A job in `state` with its run."""
    job = submit_job(world.member, world.body())
    cause = Cause(reason="start", at=NOW)
    move_job(job.pk, old=[JobState.QUEUED], new=JobState.STARTING, cause=cause, changes={"runs_count": 1})
    if state != "starting":
        move_job(job.pk, old=[JobState.STARTING], new=JobState.RUNNING, cause=cause)
    return job, a_run(job, state="starting" if state == "starting" else "running")


def test_a_queued_job_is_cancelled_at_once(client_for: ClientFor) -> None:
    """F37."""
    world = a_world()
    job = submit_job(world.member, world.body())

    found = client_for(world.member).post(address(job, "cancel")).json()

    assert (found["state"], found["end_reason"]) == ("cancelled", "cancelled")
    assert found["ended_at"] is not None
    last = Transition.objects.filter(job_id=job.pk).latest("id")
    assert (last.old, last.new, last.reason, last.actor) == ("queued", "cancelled", "cancelled", world.member.username)


@pytest.mark.parametrize("state", ["starting", "running"])
def test_what_holds_cards_is_asked_to_stop_within_30_s(client_for: ClientFor, state: str) -> None:
    """F37."""
    world = a_world()
    job, run = running(world, state)

    with clock.frozen_at(NOW):
        found = client_for(world.member).post(address(job, "cancel")).json()

    run.refresh_from_db()
    assert found["state"] == "stopping"
    assert (run.state, run.stop_reason, run.grace_until) == ("stopping", "cancelled", NOW + timedelta(seconds=30))


def test_a_job_that_is_leaving_anyway_leaves_within_the_cancels_grace_and_is_not_queued_again(
    client_for: ClientFor,
) -> None:
    """F37."""
    world = a_world()
    job, run = running(world)
    move_job(job.pk, old=[JobState.RUNNING], new=JobState.STOPPING, cause=Cause(reason="evict", at=NOW))
    Run.objects.filter(pk=run.pk).update(
        state=RunState.STOPPING, stop_reason="preempted", grace_until=NOW + timedelta(seconds=300)
    )

    with clock.frozen_at(NOW):
        client_for(world.member).post(address(job, "cancel"))

    run.refresh_from_db()
    assert run.grace_until == NOW + timedelta(seconds=30)
    assert Job.objects.get(pk=job.pk).cancel_asked_at == NOW


def test_cancelling_twice_changes_nothing_more(client_for: ClientFor) -> None:
    world = a_world()
    job = submit_job(world.member, world.body())
    client = client_for(world.member)

    client.post(address(job, "cancel"))
    again = client.post(address(job, "cancel"))

    assert (again.status_code, again.json()["state"]) == (200, "cancelled")
    assert Transition.objects.filter(job_id=job.pk, new="cancelled").count() == 1


def test_a_job_that_has_ended_cannot_be_cancelled(client_for: ClientFor) -> None:
    """F11."""
    world = a_world()
    job = a_job(world.queue, user=world.member, state="succeeded", ended_at=NOW)

    assert code_of(client_for(world.member).post(address(job, "cancel"))) == (409, "job-ended")


def test_a_queued_job_is_suspended_says_so_and_resumes_at_its_old_place(client_for: ClientFor) -> None:
    world = a_world()
    job = submit_job(world.member, world.body())
    client = client_for(world.member)

    parked = client.post(address(job, "suspend")).json()
    back = client.post(address(job, "resume")).json()

    assert (parked["state"], parked["wait"]["code"], parked["wait"]["need"]["gpu"]) == ("suspended", "suspended", 1)
    assert (back["state"], back["wait"]) == ("queued", None)
    assert Job.objects.get(pk=job.pk).order_at == job.order_at
    assert not WaitReason.objects.filter(until__isnull=True).exists()


def test_a_running_job_cannot_be_suspended_and_a_queued_one_not_resumed(client_for: ClientFor) -> None:
    world = a_world()
    job, _run = running(world)
    client = client_for(world.member)

    assert code_of(client.post(address(job, "suspend"))) == (409, "job-not-waiting")
    assert code_of(client.post(address(submit_job(world.member, world.body()), "resume"))) == (409, "job-not-suspended")


def test_priority_and_run_time_change_while_it_waits(client_for: ClientFor) -> None:
    world = a_world()
    job = submit_job(world.member, world.body(max_runtime=60))
    client = client_for(world.member)

    one = client.patch(address(job), {"priority": 7}).json()
    two = client.patch(address(job), {"max_runtime": None}).json()

    assert (one["priority"], one["max_runtime"]) == (7, 60)
    assert (two["priority"], two["max_runtime"]) == (7, None)


def test_a_change_names_wrong_unknown_and_forbidden_fields(client_for: ClientFor) -> None:
    """W05."""
    world = a_world()
    job = submit_job(world.member, world.body())
    client = client_for(world.member)

    answer = client.patch(address(job), {"priority": 1001, "max_runtime": 0, "state": "running"})

    assert wrong_fields(answer) == {"priority": "range", "max_runtime": "range", "state": "unknown-field"}
    assert code_of(client.patch(address(job), {"priority": 900})) == (403, "forbidden")
    assert client_for(world.admin).patch(address(job), {"priority": 900}).json()["priority"] == 900


def test_a_running_job_cannot_be_changed(client_for: ClientFor) -> None:
    world = a_world()
    job, _run = running(world)

    assert code_of(client_for(world.member).patch(address(job), {"priority": 1})) == (409, "job-not-waiting")


def test_a_clone_asks_for_the_same_again_in_its_own_name(client_for: ClientFor) -> None:
    world = a_world()
    job = submit_job(world.member, world.body(labels={"a": "b"}, max_runtime=60))
    colleague = a_member_of(world.tenant)

    answer = client_for(colleague).post(address(job, "clone"))

    found = answer.json()
    assert answer.status_code == 201
    assert (found["cloned_from"], found["user"], found["labels"], found["max_runtime"]) == (
        job.pk, colleague.username, {"a": "b"}, 60,
    )  # fmt: skip


def test_a_job_that_came_without_a_body_is_cloned_from_its_rows(client_for: ClientFor) -> None:
    world = a_world()
    job = a_job(world.queue, user=world.member, gpu=2, flavor=world.flavor)

    answer = client_for(world.member).post(address(job, "clone"))

    assert answer.status_code == 201, answer.content
    assert answer.json()["roles"][0]["resources"]["gpu"] == 2


@pytest.mark.parametrize("order", ORDERS)
def test_an_outsider_cannot_touch_a_job_nor_learn_that_it_is_there(client_for: ClientFor, order: str) -> None:
    """W01."""
    world = a_world()
    job = submit_job(world.member, world.body())

    assert code_of(client_for(an_outsider_member()).post(address(job, order))) == (404, "not-found")
    assert Job.objects.get().state == "queued"


@pytest.mark.parametrize("order", ["cancel", "suspend", "resume"])
def test_a_colleague_may_not_operate_the_job_and_the_tenants_admin_may(client_for: ClientFor, order: str) -> None:
    world = a_world()
    job = submit_job(world.member, world.body())
    if order == "resume":
        client_for(world.member).post(address(job, "suspend"))

    assert code_of(client_for(a_member_of(world.tenant)).post(address(job, order))) == (403, "forbidden")
    assert code_of(client_for(a_finance_user()).post(address(job, order))) == (403, "forbidden")
    assert client_for(world.admin).post(address(job, order)).status_code == 200


def test_a_cancel_takes_a_fixed_number_of_queries(
    client_for: ClientFor, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    world = a_world()
    job = submit_job(world.member, world.body(roles=[world.role(), world.role(name="ps")]))
    client = client_for(world.member)

    with django_assert_max_num_queries(22):
        client.post(address(job, "cancel"))
