"""A job from the queue to real pods and back, in a tenant's namespace that was made for it. F02, F06, F22."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from testplane.api import RefusedError

from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Card, Job, LeaseSegment, Node, NodeDomain, NodeInterval, Run
from scheduling.services.cancel import cancel_job
from tests.kubernetes.plane import plane
from tests.kubernetes.scene import Real, a_tenant_on_pods

FORBIDDEN = 403
SMALL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def test_nodes_of_a_flavor_that_is_defined_are_found_with_their_cards_and_places(real: Real) -> None:
    nodes = {node.name: node for node in Node.objects.all()}

    assert sorted(nodes) == ["n0", "n1"]
    assert all((node.gpus, node.cpu_m, node.memory_mib) == (8, 128_000, 1024 * 1024) for node in nodes.values())
    assert Card.objects.filter(flavor=real.flavor).count() == 16
    assert set(NodeDomain.objects.filter(level="zone").values_list("domain", flat=True)) == {"z1"}
    assert NodeInterval.objects.filter(during__upper_inf=True, cards=8, state="ready").count() == 2


def test_a_gang_runs_as_pods_is_charged_their_own_times_and_leaves_nothing(real: Real) -> None:
    job = real.submit(duration="3")

    real.until_state(job, "running", "succeeded")
    pods = real.there("pods")
    real.until_state(job, "succeeded")

    run = Run.objects.get(job=job)
    assert sorted(pod["metadata"]["name"] for pod in pods) == [f"j{job.pk}-r1-worker-{index}" for index in range(2)]
    assert all(pod["metadata"]["ownerReferences"][0]["name"] == f"j{job.pk}-r1" for pod in pods)
    segments = list(LeaseSegment.objects.filter(lease__run=run))
    assert len(segments) == 8
    started = {pod.name: pod.started_at for pod in run.pods.all()}
    assert {pod["metadata"]["name"]: pod["status"]["startTime"] for pod in pods} == {
        name: at.strftime("%Y-%m-%dT%H:%M:%SZ") for name, at in started.items() if at is not None
    }
    assert {(each.during.upper - each.during.lower).total_seconds() for each in segments} == {3.0}
    real.until(lambda: not any(map(real.there, ("pods", "services", "secrets"))), "everything of the run to be gone")


def test_a_failure_keeps_its_reason_and_a_cancelled_job_its_time(real: Real) -> None:
    failed = real.submit(duration="1", outcome="oom")
    cancelled = real.submit(cards=1, replicas=1, stop_delay="1")
    real.until_state(failed, "failed")
    real.until_state(cancelled, "running")

    cancel_job(cancelled.user, Job.objects.get(pk=cancelled.pk))
    real.until_state(cancelled, "cancelled")

    assert (Run.objects.get(job=failed).end_reason, Run.objects.get(job=failed).exit_code) == ("oom", 137)
    run = Run.objects.get(job=cancelled)
    assert run.exit_code in (143, None)
    (segment,) = LeaseSegment.objects.filter(lease__run=run)
    assert (segment.during.lower, segment.kind) == (run.started_at, "billable")


def test_a_run_whose_namespace_is_not_there_waits_with_the_clusters_words_and_bars_nobody(committed: None) -> None:
    """F06: nothing was reconciled yet."""
    real = Real(plane().client())
    real.turn()
    real.turn()
    job = real.submit()

    real.until(lambda: bool(Job.objects.get(pk=job.pk).backoff_message), "the refusal")

    job.refresh_from_db()
    assert job.state == "queued"
    assert f'namespaces "{real.namespace}" not found' in job.backoff_message


def test_tenants_are_fenced_and_drift_is_repaired_and_told_with_what_and_who(real: Real, capsys: Any) -> None:
    space = f"/apis/networking.k8s.io/v1/namespaces/{real.namespace}/networkpolicies"
    real.client.send("DELETE", f"{space}/berth-deny")
    quota = f"/api/v1/namespaces/{real.namespace}/resourcequotas/berth"
    real.client.merge(f"{quota}?fieldManager=somebody", {"spec": {"hard": {"pods": "7"}}})

    call_command("reconcile_tenants", "--dry-run")
    told = capsys.readouterr().out
    untouched = real.client.send("GET", quota)["spec"]["hard"]["pods"]
    done = reconcile_tenants()
    again = reconcile_tenants()

    assert f"NetworkPolicy {real.namespace}/berth-deny: missing" in told
    assert f"ResourceQuota {real.namespace}/berth: spec.hard.pods (also written by somebody)" in told
    assert "2 would change" in told
    assert untouched == "7"
    assert len(done.changed) == 2
    assert (again.changed, again.failed) == ([], [])
    assert real.client.send("GET", quota)["spec"]["hard"]["pods"] == "5k"
    assert real.client.send("GET", f"{space}/berth-deny")["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_a_loose_pod_is_refused_in_a_tenants_namespace(real: Real) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "loose"},
        "spec": {"containers": [{"name": "main", "image": "x", "resources": SMALL}]},
    }

    with pytest.raises(RefusedError, match="violates PodSecurity") as refused:
        real.client.send("POST", f"/api/v1/namespaces/{real.namespace}/pods", pod)

    assert refused.value.status == FORBIDDEN
