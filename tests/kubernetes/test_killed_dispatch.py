"""Worker and watcher killed at every named point of dispatch and of taking down, on a real API server. F01, F02, F04, F28, F31.

Whoever dies where: one gang, one bill, no pod without a job.
"""

from collections.abc import Callable, Iterator

import pytest

from berth.common import clock
from berth.common.crash_points import POINTS
from scheduling.cluster.names import parse_pod_name
from scheduling.control.reconcile import reconcile_clusters
from scheduling.control.take_down import FORCE_AFTER
from scheduling.models import Job, LeaseSegment, Run, Transition
from scheduling.services.cancel import cancel_job
from tests.kubernetes.processes import die_at, watcher, worker
from tests.kubernetes.scene import Real, a_tenant_on_pods

pytestmark = pytest.mark.timeout(400)
OF_DISPATCH = POINTS[: POINTS.index("recorded") + 1]


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def pods_by_job(real: Real) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for pod in real.there("pods"):
        parsed = parse_pod_name(pod["metadata"]["name"])
        assert parsed is not None
        found.setdefault(parsed.job, []).append(pod["metadata"]["name"])
    return found


@pytest.mark.parametrize("role", [worker, watcher])
def test_whoever_dies_anywhere_in_dispatch_leaves_one_gang_and_one_bill(
    real: Real, role: Callable[[], Callable[[], object]]
) -> None:
    """F01, F02, F04: each process is the successor of the one before it, and dies at the next point."""
    jobs = []
    for point in OF_DISPATCH:
        jobs.append(real.submit(cards=1, replicas=2, duration="4"))
        die_at(point, role)
        assert set(pods_by_job(real)) <= {job.pk for job in jobs}

    for job in jobs:
        real.until_state(job, "succeeded")

    def everything_is_gone() -> bool:
        """The sweep, which has its own period, removes what one that died knew to have ended."""
        reconcile_clusters()
        return not any(map(real.there, ("pods", "services", "secrets")))

    real.until(everything_is_gone, "everything of the runs to be gone")

    # A quota that still counts what a dead process made may refuse a run for a moment: it goes back and costs nothing (F05).
    others = Run.objects.exclude(end_reason="succeeded")
    told = list(others.values_list("pk", "end_reason", "end_message"))
    assert all("exceeded quota" in message for *_run, message in told), told
    assert not LeaseSegment.objects.filter(lease__run__in=others, kind="billable").exists()
    assert Run.objects.filter(end_reason="succeeded").count() == len(jobs)
    sent = list(Transition.objects.filter(subject="run", new="starting").values_list("run_id", flat=True))
    assert len(sent) == len(set(sent))
    for run in Run.objects.filter(end_reason="succeeded"):
        pods = list(run.pods.all())
        segments = list(LeaseSegment.objects.filter(lease__run=run))
        assert len(segments) == len(pods) == 2
        assert {(each.kind, each.during.lower, each.during.upper) for each in segments} == {
            ("billable", pod.started_at, pod.finished_at) for pod in pods
        }


def test_whoever_dies_while_pods_are_taken_down_neither_forgets_them_nor_begins_their_grace_anew(real: Real) -> None:
    """F28, F31, F37."""
    leaves = real.submit(cards=1, replicas=2, stop_delay="1")
    stays = real.submit(cards=1, replicas=2, stop_delay="never")
    real.until_state(leaves, "running")
    real.until_state(stays, "running")
    for job in (leaves, stays):
        cancel_job(job.user, Job.objects.get(pk=job.pk))
    asked = {run.pk: run.grace_until for run in Run.objects.all()}

    for point in ("stopping", "warned", "stop-asked"):
        die_at(point, worker)
    real.until_state(leaves, "cancelled")

    assert {run.pk: run.grace_until for run in Run.objects.all()} == asked
    Run.objects.filter(job=stays).update(grace_until=clock.now() - FORCE_AFTER)
    die_at("force-noted", worker)
    noted = Run.objects.get(job=stays).force_deleted_at
    assert noted is not None
    assert len(pods_by_job(real)[stays.pk]) == 2
    real.until_state(stays, "cancelled")

    assert Run.objects.get(job=stays).force_deleted_at == noted
    assert pods_by_job(real) == {}


def test_what_a_killed_process_did_not_remove_of_an_ended_run_is_swept(real: Real) -> None:
    """F04."""
    job = real.submit(cards=1, replicas=1, duration="1")
    die_at("owner-deleting", watcher)
    assert Job.objects.get(pk=job.pk).state == "succeeded"

    real.until(lambda: bool(reconcile_clusters()) and not real.there("pods"), "the pod to be removed")

    assert real.there("services") == []
