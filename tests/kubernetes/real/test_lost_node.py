"""A real node whose power fails, or one of its cards: the job goes on elsewhere, and what was there never comes back."""

import subprocess
import time
from datetime import UTC, datetime

from scheduling.models import Card, Job, Node, Run
from tests.kubernetes.real.cluster import cluster
from tests.kubernetes.real.scene import OnNodes

REPLACED_WITHIN_S = 30.0
QUIET_S = 5.0


def seconds_since_heartbeat(real: OnNodes, node: str) -> float:
    """Zero for a node so young that it has not made its Lease yet."""
    answer = real.client.ask("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}")
    if answer.status != 200:
        return 0.0
    return (datetime.now(UTC) - datetime.fromisoformat(answer.body["spec"]["renewTime"])).total_seconds()


def test_a_node_that_is_killed_is_replaced_in_time_and_its_old_pod_fenced_when_it_returns(real: OnNodes) -> None:
    """F24, F25."""
    job = real.submit("waiting.py")
    real.until_said(job, "waiting")
    first = Run.objects.get(job=job)
    home = first.pods.get().node.name
    # Halfway between two heartbeats: a node that dies right after one is known to be lost as long after it, and no sooner.
    real.until(lambda: seconds_since_heartbeat(real, home) > QUIET_S, lambda: "a node between two heartbeats")

    cluster().kill(home)
    began = time.monotonic()
    try:
        real.until(lambda: Run.objects.filter(job=job, number=2).exists(), lambda: "the replacement")
        took = time.monotonic() - began
        second = real.until_state(job, "running")
    finally:
        cluster().restart(home)

    first.refresh_from_db()
    assert took <= REPLACED_WITHIN_S
    assert (first.state, first.end_reason, first.fenced) == ("ended", "node-lost", True)
    assert second.number == 2
    assert second.pods.get().node.name != home

    real.until(lambda: Node.objects.get(name=home).state == "ready", lambda: "the node's return")
    real.until(lambda: len(real.pods_of(real.lender)) == 1, lambda: "the old pod to be gone")
    asked = cluster().enter(
        home, "ctr", "--address", "/run/containerd.sock", "--namespace", "k8s.io", "tasks", "list", "-q"
    )
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split() == []
    assert [pod["spec"]["nodeName"] for pod in real.pods_of(real.lender)] == [second.pods.get().node.name]
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.node_losses, Run.objects.filter(job=job).count()) == ("running", 1, 2)
    first.refresh_from_db()
    assert first.end_reason == "node-lost"


def test_a_card_that_its_plugin_calls_unhealthy_goes_out_of_service_and_its_job_goes_on_elsewhere(
    real: OnNodes,
) -> None:
    """The plugin counts one card less and cannot say which; the job holds all, so that it holds that one."""
    job = real.submit("waiting.py")
    real.until_said(job, "waiting")
    first = Run.objects.get(job=job)
    home = first.pods.get().node

    cluster().break_cards(home.name, 3)
    try:
        real.until(lambda: Run.objects.filter(job=job, number=2).exists(), lambda: "the job's next run")
        second = real.until_state(job, "running")
        out = Card.objects.filter(node=home).exclude(health=Card.Health.OK).count()
    finally:
        cluster().break_cards(home.name)

    first.refresh_from_db()
    assert (first.end_reason, first.fenced, out) == ("card-failed", False, 1)
    assert second.pods.get().node != home
    real.until(lambda: Card.objects.filter(node=home, health=Card.Health.OK).count() == 8, lambda: "the card's return")
