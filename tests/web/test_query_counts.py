"""Pages cost the same number of queries however much stands on them."""

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.web.scene import Scene, add_job, add_prices, add_run, add_wait, bill, build_scene

pytestmark = pytest.mark.django_db

KEPT_COPIES = 2
"""A process keeps the clock's anchor for two seconds, and asks whether its copy of the configuration still stands."""


def grow(scene: Scene, start: int, end: int) -> None:
    for number in range(start, end):
        waiting = add_job(scene, "algo-b", f"waits-{number}", cards=1)
        add_wait(scene, waiting, "cards-busy", need=1, have=0, short=1)
        running = add_job(scene, "algo-b", f"runs-{number}", cards=1, state="running")
        add_run(scene, running, minutes=10, borrowed=1)
        ended = add_job(scene, "algo-b", f"ended-{number}", cards=1, state="succeeded")
        add_run(scene, ended, minutes=10, ended="succeeded")
    bill(scene)


def queries(client: Client, path: str) -> int:
    """The fewest of three looks: a copy that is kept for seconds may have to be read anew in any one of them."""
    counts = []
    for _look in range(3):
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        counts.append(len(seen))
    return min(counts)


@pytest.fixture
def small_world() -> Scene:
    scene = build_scene()
    add_prices(scene)
    grow(scene, 0, 2)
    return scene


@pytest.fixture
def member(small_world: Scene) -> Client:
    client = Client()
    client.force_login(small_world.users["algo-b-member"], settings.AUTHENTICATION_BACKENDS[0])
    return client


@pytest.mark.parametrize(
    ("path", "most"),
    [("/", 45), ("/jobs/", 22), ("/quota/", 24), ("/queues/algo-b/dev/", 36), ("/statements/", 10), ("/submit/", 15)],
)
def test_a_page_costs_as_much_with_three_times_as_much_on_it(
    small_world: Scene, member: Client, path: str, most: int
) -> None:
    before = queries(member, path)

    grow(small_world, 2, 6)

    assert abs(queries(member, path) - before) <= KEPT_COPIES
    assert before <= most, before


def test_a_jobs_page_costs_as_much_whatever_stands_beside_it(small_world: Scene, member: Client) -> None:
    job = small_world.queues["algo-b"].jobs.filter(state="running").earliest("id")
    before = queries(member, f"/jobs/{job.pk}/")

    grow(small_world, 2, 6)

    assert abs(queries(member, f"/jobs/{job.pk}/") - before) <= KEPT_COPIES
    assert before <= 36, before


def test_a_poll_that_finds_nothing_new_costs_next_to_nothing(member: Client) -> None:
    etag = member.get("/jobs/", headers={"HX-Request": "true"}).headers["ETag"]

    with CaptureQueriesContext(connection) as seen:
        answer = member.get("/jobs/", headers={"HX-Request": "true", "If-None-Match": etag})

    assert (answer.status_code, answer.content) == (304, b"")
    assert len(seen) <= 8
