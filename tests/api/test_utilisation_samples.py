"""`POST /utilisation-samples`: exporters tell how busy cards are; told twice counts once, and nothing is guessed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berth.common import clock
from scheduling.models import Job, Run, UtilisationHour, UtilisationSample
from tests.api.conftest import ClientFor
from tests.api.problems import wrong_fields
from tests.factories import a_job, a_lease, a_platform_admin, a_run
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
SAMPLES = "/api/v1/utilisation-samples"
NOW = datetime(2026, 11, 29, 10, 30, tzinfo=UTC)


def held(world: World, cards: int = 2, minutes: int = 20) -> Run:
    """A run that has held the first cards of the first node for some minutes."""
    run = a_run(a_job(world.queue, user=world.member, state="running", gpu=cards, flavor=world.flavor), state="running")
    node = world.flavor.nodes.earliest("id")
    for slot, card in enumerate(node.cards.order_by("index")[:cards]):
        lease = a_lease(run, card, slot=slot)
        lease.pod.started_at = NOW - timedelta(minutes=minutes)
        lease.pod.save()
    return run


def sample(world: World, *, card: int = 0, ago_s: float = 0, **members: Any) -> dict[str, Any]:
    node = world.flavor.nodes.earliest("id")
    at = f"{NOW - timedelta(seconds=ago_s):%Y-%m-%dT%H:%M:%SZ}"
    return {"cluster": node.cluster.name, "node": node.name, "card": card, "at": at, "utilisation": 0.5, **members}


def send(client: Any, *samples: dict[str, Any]) -> Any:
    return client.post(SAMPLES, {"samples": list(samples)}, format="json")


@pytest.fixture
def world() -> Any:
    with clock.frozen_at(NOW):
        yield a_world(nodes=1)


def test_samples_reach_the_hour_of_the_run_that_held_the_card(world: World, client_for: ClientFor) -> None:
    """One a minute for ten minutes, card 0 at 50 %: it speaks for 12 of its 20 minutes (3 before the first); card 1 is unknown."""
    run = held(world)
    told = [sample(world, ago_s=60 * minute, vram=40) for minute in range(10)]

    answer = send(client_for(a_platform_admin()), *told)

    assert (answer.status_code, answer.json()) == (200, {"stored": 10, "repeated": 0, "not_held": 0})
    [hour] = UtilisationHour.objects.filter(run_id=run.pk)
    minutes = [units // 7000 // 60 for units in (hour.held_units_s, hour.sampled_units_s, hour.busy_units_s)]
    assert (minutes, hour.peak_vram_mib) == ([40, 12, 6], 40 * 1024)


def test_a_card_and_minute_counts_once_however_often_and_by_whomever_it_is_told(
    world: World, client_for: ClientFor
) -> None:
    run = held(world)
    client = client_for(a_platform_admin())
    first = send(client, sample(world), sample(world, card=1)).json()
    before = UtilisationHour.objects.get(run_id=run.pk).sampled_units_s

    again = send(client, sample(world), sample(world, ago_s=0, card=1, utilisation=1), sample(world, ago_s=90)).json()

    assert (first["stored"], again) == (2, {"stored": 1, "repeated": 2, "not_held": 0})
    assert UtilisationSample.objects.filter(run_id=run.pk, busy_ppm=1_000_000).count() == 0
    assert UtilisationHour.objects.get(run_id=run.pk).sampled_units_s - before == 90 * 7000


def test_the_peak_of_a_run_is_the_most_that_any_card_told(world: World, client_for: ClientFor) -> None:
    """SCH-26: a lower one later changes nothing, and what was not told is no 0."""
    run = held(world)
    Job.objects.filter(pk=run.job_id).update(runs_count=1)
    client = client_for(a_platform_admin())
    told = [(60, 0, 20), (120, 1, 31), (180, 0, None), (0, 1, 7)]

    for ago_s, card, gib in told:
        assert send(client, sample(world, ago_s=ago_s, card=card, vram=gib)).status_code == 200

    [seen] = client_for(world.member).get(f"/api/v1/jobs/{run.job_id}").json()["runs"]
    assert seen["peak_vram_gib"] == 31


def test_a_card_that_nobody_held_is_no_sample(world: World, client_for: ClientFor) -> None:
    held(world, minutes=5)

    answer = send(client_for(a_platform_admin()), sample(world, card=7), sample(world, ago_s=600)).json()

    assert answer == {"stored": 0, "repeated": 0, "not_held": 2}
    assert not UtilisationSample.objects.exists()


@dataclass(frozen=True)
class Wrong:
    name: str
    members: dict[str, Any]
    want: str


WRONG = [
    Wrong("a card that the node does not have", {"card": 800}, "samples[1].card"),
    Wrong("an unknown node", {"node": "nowhere"}, "samples[1].card"),
    Wrong("yesterday", {"at": "2026-11-28T10:00:00Z"}, "samples[1].at"),
    Wrong("an instant to come", {"at": "2026-11-29T10:32:00Z"}, "samples[1].at"),
    Wrong("percent in place of a share", {"utilisation": 50}, "samples[1].utilisation"),
    Wrong("no instant", {"at": None}, "samples[1].at"),
    Wrong("a member that nobody knows", {"gpu": 1}, "samples[1].gpu"),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_one_wrong_sample_is_named_and_none_is_stored(case: Wrong, world: World, client_for: ClientFor) -> None:
    held(world)

    answer = send(client_for(a_platform_admin()), sample(world), sample(world, **{"card": 1, **case.members}))

    assert answer.status_code == 400
    assert case.want in wrong_fields(answer)
    assert not UtilisationSample.objects.exists()


@pytest.mark.parametrize("who", ["member", "admin"])
def test_only_the_platform_tells(who: str, world: World, client_for: ClientFor) -> None:
    held(world)

    answer = send(client_for(world.member if who == "member" else world.admin), sample(world))

    assert answer.status_code == 403
