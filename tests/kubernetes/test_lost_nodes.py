"""Real nodes that fall silent and return: their runs go on elsewhere, are charged to the last sign of life, and never come back."""

import time
from collections.abc import Iterator

import pytest

from scheduling.models import Job, LeaseSegment, Node, Run
from tests.kubernetes.plane import plane
from tests.kubernetes.scene import Real, a_tenant_on_pods

REPLACED_WITHIN_S = 30.0
BEAT_S = 12.0
"""A node's last sign of life is known to one heartbeat."""
SILENT = "berth.dev/test-silent"


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made
        for name in ("n0", "n1"):
            set_silent(name, None)


def set_silent(node: str, value: str | None) -> None:
    plane().client().merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": {SILENT: value}}})


@pytest.mark.slow
def test_a_silent_nodes_job_starts_elsewhere_in_time_and_its_old_pod_is_removed_on_return(real: Real) -> None:
    """F24, F25, B14."""
    job = real.submit(cards=8, replicas=1)
    real.until_state(job, "running")
    first = Run.objects.get(job=job)
    home = first.pods.get().node.name
    began = time.monotonic()
    set_silent(home, "yes")

    real.until(lambda: Run.objects.filter(job=job, number=2, started_at__isnull=False).exists(), "the replacement")
    took = time.monotonic() - began

    first.refresh_from_db()
    second = Run.objects.get(job=job, number=2)
    assert (first.state, first.end_reason, first.fenced) == ("ended", "node-lost", True)
    assert second.pods.get().node.name != home
    assert took <= REPLACED_WITHIN_S
    billed = [each.during for each in LeaseSegment.objects.filter(lease__run=first, kind="billable")]
    assert all((during.upper - during.lower).total_seconds() <= BEAT_S for during in billed)
    assert Job.objects.get(pk=job.pk).node_losses == 1

    set_silent(home, None)
    real.until(lambda: Node.objects.get(name=home).state == "ready", "the node's return")

    assert [pod["spec"]["nodeName"] for pod in real.there("pods")] == [second.pods.get().node.name]
    assert Run.objects.filter(job=job).count() == 2
