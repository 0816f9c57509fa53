"""Submitting from many sides at once, and with the broker gone: everything accepted is stored once (Q01, Q03, F13)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from rest_framework.test import APIClient

from scheduling.models import Job, Role, Transition
from scheduling.services.submit import submit_job
from tests.factories import a_token
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 8
JOBS = "/api/v1/jobs"
ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 2.0
"""Far above what a submit takes and below any chain of time-outs: the broker is given half a second in all."""


def in_parallel(count: int, work: Callable[[int], Any]) -> list[Any]:
    """`work(0) … work(count - 1)` on threads with connections of their own."""

    def alone(number: int) -> Any:
        try:
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(alone, range(count), timeout=90))


def a_client(world: World) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(world.member)}")
    client.default_format = "json"
    client.get("/api/v1/me")
    return client


def test_fifty_submissions_that_each_fit_alone_are_all_stored_whole() -> None:
    """Q01: over quota now is no reason to refuse; the loop is what admits, and admits no more than the quota."""
    world = a_world(nodes=2, nominal=16)
    body = world.body(roles=[world.role(resources={"gpu": 8})])

    jobs = in_parallel(50, lambda _number: submit_job(world.member, body).pk)

    assert len(set(jobs)) == 50
    assert Job.objects.filter(state="queued").count() == Role.objects.count() == 50
    assert Transition.objects.filter(job_id__in=jobs, new="queued").count() == 50


def test_one_key_from_many_sides_makes_one_job_and_one_answer() -> None:
    """Q03."""
    world = a_world()
    client = a_client(world)
    body = world.body()

    answers = in_parallel(AT_ONCE, lambda _number: client.post(JOBS, body, HTTP_IDEMPOTENCY_KEY="the-same").json())

    assert Job.objects.count() == 1
    assert {answer["id"] for answer in answers} == {Job.objects.get().pk}


def test_the_same_key_of_two_people_makes_two_jobs() -> None:
    """Q03."""
    world, other = a_world(), a_world()

    one = a_client(world).post(JOBS, world.body(), HTTP_IDEMPOTENCY_KEY="k")
    two = a_client(other).post(JOBS, other.body(), HTTP_IDEMPOTENCY_KEY="k")

    assert (one.status_code, two.status_code) == (201, 201)
    assert Job.objects.count() == 2


SUBMIT = """
import json, sys, time
import berth_paths
import django
django.setup()
from rest_framework.test import APIClient
given = json.load(sys.stdin)
client = APIClient(HTTP_AUTHORIZATION="Bearer " + given["token"], HTTP_HOST="127.0.0.1")
client.get("/api/v1/me")
told = []
for _attempt in range(3):
    began = time.monotonic()
    answer = client.post("/api/v1/jobs", given["body"], format="json")
    told.append([answer.status_code, time.monotonic() - began])
print(json.dumps(told))
"""


def test_with_the_broker_gone_submissions_are_still_accepted_and_nobody_waits_for_it() -> None:
    """F13: the limiter fails open, the ring is lost; the periodic cycle finds the job."""
    world = a_world()
    given = json.dumps({"token": a_token(world.member), "body": world.body()})
    database = connection.settings_dict
    environment = {
        **os.environ,
        "REDIS_URL": "redis://127.0.0.1:9/0",
        "DATABASE_URL": f"{os.environ['DATABASE_URL'].rpartition('/')[0]}/{database['NAME']}",
        "DJANGO_SETTINGS_MODULE": "berth.settings",
    }
    script = SUBMIT.replace("import berth_paths", f"sys.path.append({str(ROOT / 'platform')!r})")

    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        input=given,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert [status for status, _seconds in told] == [201, 201, 201]
    assert max(seconds for _status, seconds in told[1:]) < LONGEST_S
    assert Job.objects.filter(state="queued").count() == 3
