"""SCH-26 at the next submit of the same job: what its last run had of its cards' memory, what it used, and what would serve it better."""

from typing import Any

import pytest

from berth.common import clock
from scheduling.api.preview_schema import MemorySchema
from scheduling.models import Node
from tests.api.conftest import ClientFor
from tests.factories import a_flavor, a_job, a_lease, a_node, a_quota, a_run
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
GIB = 1024


def ended_run(world: World, *, name: str = "train", peak_gib: float | None = None, reason: str = "succeeded") -> Any:
    """A job of that name that has run on one card; its number."""
    now = clock.now()
    state = "succeeded" if reason == "succeeded" else "failed"
    job = a_job(world.queue, user=world.member, state=state, flavor=world.flavor, name=name, ended_at=now)
    peak = None if peak_gib is None else int(peak_gib * GIB)
    run = a_run(job, state="ended", ended_at=now, end_reason=reason, peak_vram_mib=peak)
    a_lease(run, Node.objects.order_by("pk")[0].cards.order_by("index")[0], closed_at=now)
    return job.pk


def add_flavor(world: World, name: str, vram_gib: int, **fields: Any) -> None:
    flavor = a_flavor(name, pool=world.flavor.pool, cards=8, vram_gib=vram_gib, **fields)
    a_node(flavor=flavor)
    a_quota(world.queue, flavor=flavor, nominal=8)


def preview(client_for: ClientFor, world: World, **fields: Any) -> dict[str, Any]:
    answer = client_for(world.member).post("/api/v1/jobs/preview", world.body(**fields))
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_run_that_used_little_is_told_with_the_cards_that_would_do(client_for: ClientFor) -> None:
    """31 GiB and a tenth more are 34.1: 35 in whole GiB. Cards of 24 are too small, of 40 enough."""
    world = a_world()
    add_flavor(world, "small-24g", 24, mode="whole")
    add_flavor(world, "middle-40g", 40, mode="whole")
    job = ended_run(world, peak_gib=31)

    found = preview(client_for, world)

    assert set(found["memory"]) == set(MemorySchema().fields)
    assert found["memory"] | {"message": ""} == {
        "job": job, "run": 1, "had_gib": 80, "peak_gib": 31, "ran_out": False, "enough_gib": 35, "message": "",
    }  # fmt: skip
    assert (
        found["memory"]["message"]
        == f"The last run of this job (j{job}, r1) had 80 GiB a card and used 31 GiB at most."
    )
    assert found["suggestions"] == ["35 GiB would do: cards of middle-40g."]


def test_where_cards_are_shared_a_share_with_that_cap_would_do_too(client_for: ClientFor) -> None:
    world = a_world()
    add_flavor(world, "shared-80g", 80, mode="shared")
    ended_run(world, peak_gib=31)

    assert preview(client_for, world)["suggestions"] == ["35 GiB would do: a share of a card with that cap."]


def test_a_run_that_ran_out_is_told_with_the_cards_that_have_more(client_for: ClientFor) -> None:
    world = a_world()
    add_flavor(world, "large-141g", 141, mode="whole")
    job = ended_run(world, peak_gib=79, reason="gpu-oom")

    found = preview(client_for, world)

    assert (found["memory"]["ran_out"], found["memory"]["enough_gib"]) == (True, None)
    assert (
        found["memory"]["message"] == f"The last run of this job (j{job}, r1) ran out of card memory at 79 of 80 GiB."
    )
    assert found["suggestions"] == ["Ask for cards with more memory (large-141g), or make the batch smaller."]


def test_a_run_that_used_most_of_it_is_told_without_advice(client_for: ClientFor) -> None:
    world = a_world()
    add_flavor(world, "middle-40g", 40, mode="whole")
    ended_run(world, peak_gib=71)

    found = preview(client_for, world)

    assert (found["memory"]["peak_gib"], found["suggestions"]) == (71, [])


def test_only_the_newest_run_of_the_tenants_own_jobs_of_that_name_counts(client_for: ClientFor) -> None:
    world, other = a_world(), a_world()
    ended_run(world, peak_gib=20)
    newest = ended_run(world, peak_gib=70)
    ended_run(world)
    ended_run(world, name="another", peak_gib=10)
    ended_run(other, peak_gib=5)

    assert preview(client_for, world)["memory"]["job"] == newest
    assert preview(client_for, world, name="never run")["memory"] is None


def test_a_job_without_cards_is_told_nothing_of_their_memory(client_for: ClientFor) -> None:
    world = a_world()
    ended_run(world, peak_gib=31)

    found = preview(client_for, world, roles=[world.role(resources={"gpu": 0, "cpu": 1, "memory": 1})])

    assert (found["problems"], found["memory"]) == ([], None)
