"""`POST /runs/{id}/report` as a pod uses it: with its run's token, for its own run, as often as it likes."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from scheduling.control.run_specs import read_run_specs, run_token, token_digest
from scheduling.models import Run
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import a_job, a_platform_admin, a_run
from tests.factories.worlds import a_world

pytestmark = pytest.mark.django_db
FAR = 700_001
"""A number that is no run's id."""
DONE = {"checkpoint": {"state": "done", "path": "/ckpt/r1/step-10"}}


def a_saving_run(*, number: int = 1, **fields: Any) -> Run:
    """The latest run of a job that saves itself, with the token that its pods find."""
    job = a_job(a_world().queue, state="running", checkpoint_path="/ckpt", runs_count=number)
    values: dict[str, Any] = {"state": "running", "token_digest": token_digest(job.pk, number)}
    return a_run(job, number=number, **values | fields)


def pod_of(run: Run) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {run_token(run.job_id, run.number)}")
    return client


def test_a_pod_names_its_run_by_id_or_by_the_number_that_it_finds_in_its_environment() -> None:
    """`$BERTH_API/runs/$BERTH_RUN/report`: the number is another run's id, and still means this one."""
    another = a_saving_run()
    run = a_saving_run(number=another.pk)

    for name in (run.pk, run.number):
        assert pod_of(run).post(f"/api/v1/runs/{name}/report", {"progress": 0.5}).status_code == 200

    run.refresh_from_db()
    another.refresh_from_db()
    assert (run.progress_ppm, another.progress_ppm) == (500_000, None)


def test_a_token_opens_its_own_run_and_nothing_else(client_for: ClientFor, settings: Any) -> None:
    """W01: a person's token is none, another run's is none, and neither is told whether the run exists."""
    # What is no run's counts by address, and other tests come from the same one.
    settings.BERTH_RATE_LIMITS = False
    mine, other = a_saving_run(number=FAR), a_saving_run(number=FAR + 1)

    answers = [
        pod_of(mine).post(f"/api/v1/runs/{other.pk}/report", {}),
        pod_of(mine).post(f"/api/v1/runs/{FAR + 1}/report", {}),
        pod_of(mine).post(f"/api/v1/runs/{FAR + 2}/report", {}),
        pod_of(mine).post("/api/v1/runs/99999999999999999999999/report", {}),
        client_for(a_platform_admin()).post(f"/api/v1/runs/{mine.pk}/report", {}),
        pod_of(mine).get("/api/v1/me"),
        pod_of(mine).get(f"/api/v1/jobs/{mine.job_id}/logs"),
    ]

    assert {code_of(answer) for answer in answers} == {(401, "unauthenticated")}
    assert not Run.objects.filter(token_digest=run_token(mine.job_id, mine.number)).exists(), "only its digest is kept"


def test_a_pod_may_report_before_its_dispatch_is_written_down() -> None:
    run = a_saving_run(state="admitted")

    assert pod_of(run).post(f"/api/v1/runs/{run.number}/report", {"step": 1}).status_code == 200


@pytest.mark.parametrize("after", [{"state": "ended", "ended_at": "2026-11-29T10:00:00Z"}, {"fenced": True}])
def test_a_token_is_dead_once_its_run_has_ended_or_was_fenced(after: dict[str, Any]) -> None:
    """F25."""
    run = a_saving_run(**after)

    assert code_of(pod_of(run).post(f"/api/v1/runs/{run.pk}/report", DONE)) == (409, "run-ended")
    assert Run.objects.get(pk=run.pk).checkpoint_state == ""


@pytest.mark.parametrize(
    ("wanted", "want"), [(1, 400), (2, 200), (4, 200), (5, 400)], ids=["too small", "least", "most", "too large"]
)
def test_a_size_asked_for_lies_in_the_range_of_the_job(wanted: int, want: int) -> None:
    """SCH-10."""
    run = a_saving_run()
    run.job.roles.update(minimum=2, replicas=4)

    answer = pod_of(run).post(f"/api/v1/runs/{run.pk}/report", {"wanted_size": wanted, "step": 7})

    assert answer.status_code == want
    run.refresh_from_db()
    assert (run.wanted_size, run.step) == ((wanted, 7) if want == 200 else (None, None))
    if want == 400:
        assert [(problem["field"], problem["code"]) for problem in answer.json()["errors"]] == [
            ("wanted_size", "range")
        ]


def test_the_same_report_twice_is_the_same_report() -> None:
    run = a_saving_run()
    body = {
        **DONE,
        "progress": 0.25,
        "wanted_size": 4,
        "checkpoint": {**DONE["checkpoint"], "at": "2026-11-29T09:00:00Z"},
    }

    answers = [pod_of(run).post(f"/api/v1/runs/{run.pk}/report", body).json() for _ in range(2)]

    assert answers[0] == answers[1]
    run.refresh_from_db()
    assert (run.progress_ppm, run.wanted_size, run.checkpoint_state) == (250_000, 4, "done")


def test_a_checkpoint_being_written_is_nothing_to_resume_from() -> None:
    """The next attempt finds the last whole one, whichever earlier attempt saved it."""
    first = a_saving_run()
    pod_of(first).post(f"/api/v1/runs/{first.pk}/report", DONE)
    whole_at = Run.objects.get(pk=first.pk).checkpoint_at

    pod_of(first).post(
        f"/api/v1/runs/{first.pk}/report", {"checkpoint": {"state": "writing", "path": "/ckpt/r1/step-20"}}
    )

    first.refresh_from_db()
    assert (first.checkpoint_state, first.checkpoint_path, first.checkpoint_at) == (
        "writing",
        "/ckpt/r1/step-10",
        whole_at,
    )
    Run.objects.filter(pk=first.pk).update(state="ended", ended_at=first.admitted_at)
    a_run(first.job, number=2, state="ended", ended_at=first.admitted_at, started_at=first.admitted_at, resumes=True)
    third = a_run(first.job, number=3, resumes=True)
    saved = read_run_specs([third])[third.pk].checkpoint
    assert saved is not None
    assert (saved.resume, saved.resume_from) == (True, "/ckpt/r1/step-10")


def test_the_pods_of_a_run_share_a_limit_and_strangers_have_that_of_their_address() -> None:
    """W33, LIM-03: thousands of pods may come through one address."""
    run = a_saving_run()
    path = f"/api/v1/runs/{run.pk}/report"

    mine = pod_of(run).post(path, {}).headers["RateLimit-Policy"]
    theirs = APIClient(REMOTE_ADDR="192.0.2.77").post(path, {}, format="json").headers["RateLimit-Policy"]

    assert mine == '"run";q=100;w=1;reason="run"'
    assert theirs == '"address";q=20;w=1;reason="not-signed-in"'
