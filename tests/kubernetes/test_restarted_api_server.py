"""The API server is killed and started again, twice, while a process of the loop starts and ends jobs on it. F47."""

import time
from collections.abc import Iterator

import pytest

from scheduling.control.reconcile import reconcile_clusters
from scheduling.models import Job, LeaseSegment, Run
from tests.integration.loop_processes import a_process, forget_the_lease
from tests.kubernetes.plane import plane
from tests.kubernetes.scene import Real, a_tenant_on_pods

pytestmark = pytest.mark.timeout(400)
DEADLINE_S = 200.0


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def wait_until_succeeded(jobs: list[Job], count: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while Job.objects.filter(pk__in=[job.pk for job in jobs], state="succeeded").count() < count:
        assert time.monotonic() < deadline, list(Job.objects.values_list("pk", "state", "backoff_message"))
        time.sleep(0.2)


def test_an_api_server_that_restarts_under_load_costs_no_run_and_doubles_none(real: Real) -> None:
    """F47: what ended while nobody could see it is charged its own times, and nothing is left behind."""
    jobs = [real.submit(cards=2, replicas=2, duration=str(2 + number)) for number in range(6)]

    with a_process("watch"):
        wait_until_succeeded(jobs, 1)
        plane().restart_api_server()
        jobs += [real.submit(cards=2, replicas=2, duration="3") for _ in range(4)]
        wait_until_succeeded(jobs, 5)
        plane().restart_api_server()
        wait_until_succeeded(jobs, len(jobs))

    forget_the_lease()
    real.until(
        lambda: bool(reconcile_clusters()) and not any(map(real.there, ("pods", "services", "secrets"))),
        "everything to be gone",
    )
    # A server that just came up may refuse what its admission is not ready for: such a run has cost nothing and is sent again.
    others = Run.objects.exclude(end_reason="succeeded")
    assert set(others.values_list("end_reason", flat=True)) <= {"platform-fault"}
    assert not LeaseSegment.objects.filter(lease__run__in=others, kind="billable").exists()
    assert Run.objects.filter(end_reason="succeeded").count() == len(jobs)
    for run in Run.objects.filter(end_reason="succeeded"):
        pods = list(run.pods.all())
        segments = list(LeaseSegment.objects.filter(lease__run=run))
        assert len(segments) == 4
        assert {(each.during.lower, each.during.upper) for each in segments} == {
            (pod.started_at, pod.finished_at) for pod in pods
        }
