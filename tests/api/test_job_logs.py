"""`GET /jobs/{id}/logs` by role, by rank and run, as a document and as text; of kept copies, since a test's transaction asks no cluster."""

from datetime import UTC, datetime, timedelta

import pytest

from scheduling.cluster.port import LogTail
from scheduling.models import Job, Pod
from scheduling.services.pod_logs import ReadLog, keep_logs
from tenants.models import Queue
from tests.api.conftest import ClientFor
from tests.api.matrix_world import build
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_job, a_node, a_run

pytestmark = pytest.mark.django_db

AT = datetime(2026, 11, 29, 11, 0, tzinfo=UTC)
ODD = "loss \x1b[31m0.5\x1b[0m <script>alert(1)</script> 训练\n"


def its_queue() -> Queue:
    return Queue.objects.get(tenant__slug="algo", name="prod")


def a_job_with_logs() -> Job:
    """Two runs of two pods; of the first only rank 1 is kept, cut; of the second everything."""
    job = a_job(its_queue(), state="failed", end_reason="failed", runs_count=2, ended_at=AT)
    node = a_node()
    for number in (1, 2):
        run = a_run(job, number=number, state="ended", ended_at=AT, end_reason="failed")
        for rank in (0, 1):
            pod = Pod.objects.create(
                run=run,
                role_name="worker",
                rank=rank,
                index=rank,
                name=f"j{job.pk}-r{number}-worker-{rank}",
                node=node,
                uid="u",
                phase="failed",
                exit_code=(143, 1)[rank],
                finished_at=AT - timedelta(minutes=10 - rank),
            )
            if (number, rank) != (1, 0):
                text = f"run {number} rank {rank}\n{ODD}last of {rank}\n"
                keep_logs([ReadLog(pod, LogTail(text, available=True, truncated=number == 1), whole=True)])
    return job


def test_the_newest_run_and_the_rank_that_failed_first_are_shown_unless_others_are_asked_for(
    client_for: ClientFor,
) -> None:
    """The rank that was stopped because of the other's failure comes second, though its end was seen first."""
    world = build()
    job = a_job_with_logs()
    client = client_for(world.people["member"])

    newest = client.get(f"/api/v1/jobs/{job.pk}/logs").json()
    earlier = client.get(f"/api/v1/jobs/{job.pk}/logs?run=1&rank=1&tail=1").json()
    named = client.get(f"/api/v1/jobs/{job.pk}/logs?run=2&pod=j{job.pk}-r2-worker-0").json()
    absent = client.get(f"/api/v1/jobs/{job.pk}/logs?run=1&rank=0").json()

    assert (newest["run"], newest["rank"], newest["state"], newest["whole"], newest["cut"]) == (
        2,
        1,
        "kept",
        True,
        False,
    )
    assert newest["text"] == f"run 2 rank 1\n{ODD}last of 1\n"
    assert (earlier["text"], earlier["cut"]) == ("last of 1\n", True)
    assert (named["rank"], named["pod"]) == (0, f"j{job.pk}-r2-worker-0")
    assert (absent["state"], absent["why"], absent["text"]) == ("none", "not-collected", "")
    assert absent["message"] == "No log was collected for this pod."


def test_as_text_it_is_an_inert_file_named_after_its_pod(client_for: ClientFor) -> None:
    """W18."""
    world = build()
    job = a_job_with_logs()

    answer = client_for(world.people["member"]).get(f"/api/v1/jobs/{job.pk}/logs?format=text&rank=0")

    assert answer.content.decode() == f"run 2 rank 0\n{ODD}last of 0\n"
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="j{job.pk}-r2-worker-0.log"'
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")


def test_logs_are_for_the_tenants_people_and_the_platforms_admin(client_for: ClientFor) -> None:
    """W01, W02, W43: an outsider finds nothing, finance has no business with them."""
    world = build()
    job = a_job_with_logs()
    path = f"/api/v1/jobs/{job.pk}/logs?run=2&rank=0&format=text"

    found = {name: client_for(person).get(path).status_code for name, person in world.people.items()}

    assert found == {
        "anonymous": 401,
        "outsider": 404,
        "member": 200,
        "admin": 200,
        "finance": 403,
        "platform": 200,
    }
    narrow = client_for(world.people["member"], scopes=["usage:read"])
    assert narrow.get(path).status_code == 403


def test_a_pod_of_another_job_is_not_found_under_this_one(client_for: ClientFor) -> None:
    """W43: what is read is chosen by this job's rows."""
    world = build()
    job, other = a_job_with_logs(), a_job_with_logs()
    client = client_for(world.people["member"])

    for query in (f"pod=j{other.pk}-r2-worker-0", "pod=../../etc/passwd", "run=3", "rank=2", "run=1&rank=7"):
        assert code_of(client.get(f"/api/v1/jobs/{job.pk}/logs?{query}")) == (404, "not-found"), query


def test_every_wrong_value_is_named(client_for: ClientFor) -> None:
    world = build()
    job = a_job_with_logs()

    wrong = client_for(world.people["member"]).get(f"/api/v1/jobs/{job.pk}/logs?run=x&rank=-1&tail=0&format=xml")

    assert set(wrong_fields(wrong)) == {"run", "rank", "tail", "format"}
    assert "from 1 to 50000" in wrong.content.decode()


def test_a_job_that_never_ran_says_so(client_for: ClientFor) -> None:
    world = build()
    job = a_job(its_queue())

    for query in ("", "?rank=3"):
        answer = client_for(world.people["member"]).get(f"/api/v1/jobs/{job.pk}/logs{query}").json()
        assert (answer["state"], answer["why"], answer["run"], answer["pod"]) == ("none", "not-started", None, None)
