"""A tenant's namespace that somebody deletes under running jobs: bills close, words say what it waits for, and the loop goes on."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Job, LeaseSegment, Run
from tests.factories import a_queue, a_quota
from tests.kubernetes.scene import Real, a_tenant_on_pods
from tests.kubernetes.two_tenants import until

HELD = "example.org/hold"


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def a_claim_that_is_held(real: Real) -> str:
    """A claim with a finalizer that nobody takes off; its address."""
    place = f"/api/v1/namespaces/{real.namespace}/persistentvolumeclaims"
    spec = {
        "storageClassName": "berth-standard",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    real.client.send("POST", place, {"metadata": {"name": "held", "finalizers": [HELD]}, "spec": spec})
    return f"{place}/held"


def test_a_deleted_namespace_ends_its_runs_closes_their_bills_and_stops_nobody_else(real: Real) -> None:
    """K40, F06."""
    job = real.submit(cards=1, replicas=1)
    real.until_state(job, "running")
    claim = a_claim_that_is_held(real)
    deleted = f"/api/v1/namespaces/{real.namespace}"
    try:
        real.client.send("DELETE", deleted)

        real.until(lambda: Run.objects.filter(job=job, number=1, ended_at__isnull=False).exists(), "the run's end")
        real.until(lambda: HELD in Job.objects.get(pk=job.pk).backoff_message, "the word on what it waits for")

        job.refresh_from_db()
        assert job.state == "queued"
        assert "is being deleted, blocked by" in job.backoff_message
        segments = LeaseSegment.objects.filter(lease__run__job=job)
        assert segments.exists()
        assert all(each.during.upper is not None and each.during.upper <= datetime.now(UTC) for each in segments)
        real.until_state(_of_another_environment(real), "running")
    finally:
        real.client.merge(claim, {"metadata": {"finalizers": None}})
    until(lambda: real.client.ask("GET", deleted).status == 404, "the namespace to be gone")


def _of_another_environment(real: Real) -> Job:
    """The same tenant's, whose own namespace nobody deleted."""
    environment = "prod" if real.queue.environment == "dev" else "dev"
    real.queue = a_queue(tenant=real.queue.tenant, pool=real.flavor.pool, environment=environment, default_tier="batch")
    a_quota(real.queue, flavor=real.flavor, nominal=8)
    reconcile_tenants()
    real.until_ready()
    return real.submit(cards=1, replicas=1)
