"""What the loop makes of a real API server that loses answers, refuses, stalls, lies or says nothing. F03, F05 to F07, F17 to F22, F37."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduling.cluster.faults import FaultKind, FaultRule
from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.names import FIELD_MANAGER, MANAGED_BY
from scheduling.cluster.port import RefusalCode
from scheduling.control.clusters import port_of
from scheduling.control.reconcile import reconcile_clusters
from scheduling.models import Job, Lease, LeaseSegment, Run, Transition
from scheduling.services.cancel import cancel_job
from tests.kubernetes.faulty_calls import FaultyCalls
from tests.kubernetes.plane import plane
from tests.kubernetes.scene import Real, a_tenant_on_pods

pytestmark = pytest.mark.timeout(400)


class Faulty(Real):
    """Its connection goes wrong as planned."""

    calls: FaultyCalls

    def plan(self, operation: str, kind: FaultKind, **more: Any) -> None:
        self.calls.plan(FaultRule(0, operation, kind, **more))

    def pod_names(self) -> list[str]:
        return sorted(pod["metadata"]["name"] for pod in self.there("pods"))

    def backoff_of(self, job: Job) -> str:
        return str(Job.objects.get(pk=job.pk).backoff_message)


@pytest.fixture
def real(committed: None) -> Iterator[Faulty]:
    with a_tenant_on_pods(kind=Faulty) as made:
        assert isinstance(made, Faulty)
        port = port_of(made.flavor.pool.cluster)
        assert isinstance(port, KubernetesCluster)
        made.calls = port._given = FaultyCalls(str(plane().kubeconfig()))
        yield made


def test_a_create_whose_answer_was_lost_is_read_and_makes_one_gang(real: Faulty) -> None:
    """F03: of the owner, and of one pod of two."""
    real.plan("create_run", FaultKind.LOST_ANSWER, after=1)
    job = real.submit(cards=1)

    real.until_state(job, "running")

    there = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in real.there("pods")}
    run = Run.objects.get(job=job)
    assert dict(run.pods.values_list("name", "uid")) == there
    assert Transition.objects.filter(run_id=run.pk, new="starting").count() <= 1


def test_an_exceeded_quota_sends_back_only_who_exceeds_it(real: Faulty) -> None:
    """F05: with the API server's own words, without a hot loop, and with its cards given back."""
    quota = f"/api/v1/namespaces/{real.namespace}/resourcequotas/berth"
    real.client.merge(quota, {"spec": {"hard": {"pods": "2"}}})
    real.until_ready()
    large = real.submit(cards=1, replicas=3)
    real.until(lambda: "exceeded quota" in real.backoff_of(large), "the refusal")
    small = real.submit(cards=1, replicas=1)

    real.until_state(small, "running")

    job = Job.objects.get(pk=large.pk)
    first = Run.objects.get(job=large, number=1)
    assert job.backoff_until is not None
    assert first.ended_at is not None
    assert (first.end_reason, job.restarts_used) == ("platform-fault", 0)
    assert job.backoff_until - first.ended_at >= timedelta(seconds=9)
    assert not Lease.objects.filter(run=first, closed_at__isnull=True).exists()


def test_a_namespace_that_is_being_deleted_sends_its_job_back_with_that_reason(real: Faulty) -> None:
    """F06: the loop has just sent a run there and takes it for ready."""
    first = real.submit(cards=1, replicas=1, duration="1")
    real.until_state(first, "succeeded")
    hold = {"metadata": {"name": "hold", "finalizers": ["berth.test/hold"]}}
    real.client.send("POST", f"/api/v1/namespaces/{real.namespace}/configmaps", hold)
    real.client.send("DELETE", f"/api/v1/namespaces/{real.namespace}")
    try:
        job = real.submit(cards=1, replicas=1)
        real.until(lambda: "terminated" in real.backoff_of(job), "the refusal")
    finally:
        real.client.merge(f"/api/v1/namespaces/{real.namespace}/configmaps/hold", {"metadata": {"finalizers": None}})

    assert "namespace-terminating" in Job.objects.get(pk=job.pk).backoff_message
    assert Job.objects.get(pk=job.pk).state == "queued"


def test_a_server_that_sheds_load_is_left_alone_and_its_failures_cost_no_second_run(real: Faulty) -> None:
    """F07: 429 with a delay, 503, connection refused, an answer that does not come."""
    real.plan("create_run", FaultKind.REFUSE, code=RefusalCode.THROTTLED, retry_after_s=3)
    job = real.submit(cards=1, replicas=1)
    real.turn()
    began = time.monotonic()
    real.plan("create_run", FaultKind.UNREACHABLE)
    real.plan("create_run", FaultKind.STALL, seconds=1.0)
    # Nothing is tried before the delay is over.
    while time.monotonic() < began + 2:
        real.turn()
    assert real.pod_names() == []

    real.until_state(job, "running")

    assert Run.objects.filter(job=job).count() == 1
    assert len(real.pod_names()) == 1


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("watch_pods", FaultKind.STALL),
        ("watch_pods", FaultKind.EXPIRED),
        ("watch_pods", FaultKind.DUPLICATE),
        ("watch_pods", FaultKind.REORDER),
        ("list_pods", FaultKind.STALE),
    ],
    ids=["F17-silent", "F18-410", "F19-twice", "F19-backwards", "F20-stale"],
)
def test_whatever_a_watch_or_list_tells_the_end_is_the_same(real: Faulty, operation: str, kind: FaultKind) -> None:
    """F17, F18, F19, F20: one run, once through its states, charged its pods' own times."""
    real.turn()
    job = real.submit(cards=1, duration="3")
    for _ in range(4):
        real.plan(operation, kind, seconds=30.0)

    real.until_state(job, "succeeded")

    moves = list(Transition.objects.filter(job_id=job.pk, subject="job").order_by("id").values_list("new", flat=True))
    assert len(moves) == len(set(moves))
    run = Run.objects.get(job=job)
    pods = list(run.pods.all())
    segments = LeaseSegment.objects.filter(lease__run=run)
    assert {(each.during.lower, each.during.upper) for each in segments} == {
        (pod.started_at, pod.finished_at) for pod in pods
    }


def test_a_pod_that_somebody_deleted_ends_its_run_and_its_bill(real: Faulty) -> None:
    """F21."""
    job = real.submit(cards=1)
    real.until_state(job, "running")
    before = datetime.now(UTC)
    victim = real.there("pods")[0]["metadata"]["name"]
    real.client.send("DELETE", f"/api/v1/namespaces/{real.namespace}/pods/{victim}", {"gracePeriodSeconds": 0})

    real.until(lambda: Run.objects.filter(job=job, number=1, ended_at__isnull=False).exists(), "the run's end")

    first = Run.objects.get(job=job, number=1)
    segment = LeaseSegment.objects.get(lease__run=first, lease__pod__name=victim)
    assert segment.during.upper <= before + timedelta(seconds=15)
    assert first.end_reason == "platform-fault"
    real.until_state(job, "running")
    assert Run.objects.filter(job=job).count() == 2


def test_a_pod_with_our_labels_that_nobody_knows_is_told_of_and_left_alone(real: Faulty) -> None:
    """F22: and one that took the name of a run's pod keeps that run from nothing but its own start."""
    forged = a_forged_pod(real, "j999999-r1-worker-0")

    drift = reconcile_clusters()
    job = real.submit(cards=1, replicas=1)
    taken = a_forged_pod(real, f"j{job.pk}-r1-worker-0")
    real.until(lambda: "not this run's" in real.backoff_of(job), "the refusal")

    assert f"{real.namespace}/j999999-r1" in drift.strangers
    assert {forged, taken} <= {pod["metadata"]["uid"] for pod in real.there("pods")}
    assert not Lease.objects.filter(closed_at__isnull=True).exists()
    real.until_state(job, "running")
    assert f"j{job.pk}-r2-worker-0" in real.pod_names()


def a_forged_pod(real: Real, name: str) -> str:
    """As somebody with rights in the namespace could make it, or a backup that was restored; its uid."""
    security: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    amounts = {"cpu": "1", "memory": "1Gi"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "main", "image": "x", "securityContext": security, "resources": resources}
    labels = {MANAGED_BY: FIELD_MANAGER, "berth.dev/job": name.split("-", maxsplit=1)[0][1:], "berth.dev/run": "1"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": "n0", "automountServiceAccountToken": False, "containers": [container]},
    }
    made = real.client.send("POST", f"/api/v1/namespaces/{real.namespace}/pods", pod)
    return str(made["metadata"]["uid"])


def test_a_job_cancelled_in_any_state_leaves_no_pod_and_closes_once(real: Faulty) -> None:
    """F37: while it waits, between the decision and the first create, as its pods start, while it runs, and while it stops."""
    waiting = real.submit(cards=8, replicas=3)
    reserved = real.submit(cards=1, replicas=1)
    real.plan("create_run", FaultKind.UNREACHABLE)
    real.turn()
    assert Job.objects.get(pk=reserved.pk).state == "starting"
    cancel(waiting, reserved)
    real.until_state(reserved, "cancelled")
    starting = real.submit(cards=1, replicas=1, stop_delay="1")
    real.until_state(starting, "starting", "running")
    cancel(starting)
    running = real.submit(cards=1, replicas=1, stop_delay="1")
    real.until_state(running, "running")
    cancel(running)
    real.turn()
    cancel(running)

    for job in (waiting, reserved, starting, running):
        real.until_state(job, "cancelled")
    real.until(lambda: not any(map(real.there, ("pods", "services", "secrets"))), "everything to be gone")

    assert not Lease.objects.filter(closed_at__isnull=True).exists()
    ends = Transition.objects.filter(subject="job", new="cancelled").values_list("job_id", flat=True)
    assert sorted(ends) == sorted(job.pk for job in (waiting, reserved, starting, running))


def cancel(*jobs: Job) -> None:
    for job in jobs:
        cancel_job(job.user, Job.objects.get(pk=job.pk))
