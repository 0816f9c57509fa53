"""An elastic job on real pods: it becomes smaller for its lender, the others go on, and it grows again under the same name (SCH-10)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from berth.common import clock
from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Job, Preemption, Role, Run, RunResize
from scheduling.services.cancel import cancel_job
from tenants.models import Quota, Tenant
from tests.factories import a_cohort, a_queue, a_quota, a_tenant
from tests.kubernetes.scene import Real, a_tenant_on_pods

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def environment(pod: Any) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}


def test_pods_leave_and_come_while_the_others_go_on(real: Real) -> None:
    cohort = a_cohort()
    Tenant.objects.filter(pk=real.queue.tenant_id).update(cohort=cohort)
    Quota.objects.filter(queue=real.queue).update(nominal=0)
    lender = a_queue(tenant=a_tenant(cohort=cohort), pool=real.flavor.pool, default_tier="production")
    a_quota(lender, flavor=real.flavor, nominal=16)
    reconcile_tenants()
    real.until_ready(real.namespace_of(lender))
    job = real.submit(cards=8, replicas=2)
    Role.objects.filter(job=job).update(minimum=1)
    Job.objects.filter(pk=job.pk).update(elastic_step=1, elastic_cooldown_s=0, shape_key="elastic")
    real.until_state(job, "running")
    before = {pod["metadata"]["name"]: pod for pod in real.there("pods")}
    stem = f"j{job.pk}-r1-worker"
    assert set(before) == {f"{stem}-0", f"{stem}-1"}
    assert {environment(pod)["PET_NNODES"] for pod in before.values()} == {"1:2"}

    claim = real.submit(cards=8, replicas=1, queue=lender, tier="production", duration="600")
    real.until_state(claim, "running")
    assert [pod["metadata"]["uid"] for pod in real.there("pods")] == [before[f"{stem}-0"]["metadata"]["uid"]]
    assert not Preemption.objects.exists()
    cancel_job(claim.user, Job.objects.get(pk=claim.pk))
    real.until(lambda: Run.objects.get(job=job).pods.filter(phase="running").count() == 2, "its second pod again")

    assert list(RunResize.objects.filter(run__job=job).values_list("old", "new")) == [(2, 1), (1, 2)]
    after = {pod["metadata"]["name"]: pod for pod in real.there("pods")}
    assert set(after) == set(before)
    assert after[f"{stem}-0"]["metadata"]["uid"] == before[f"{stem}-0"]["metadata"]["uid"]
    assert after[f"{stem}-1"]["metadata"]["uid"] != before[f"{stem}-1"]["metadata"]["uid"]
    assert (environment(after[f"{stem}-1"])["RANK"], environment(after[f"{stem}-1"])["WORLD_SIZE"]) == ("1", "2")
    assert Run.objects.get(job=job).state == "running"
    left = Run.objects.get(job=job).pods.get(released_at__isnull=False)
    charged = {segment.kind: segment.during for segment in left.leases.order_by("slot")[0].segments.all()}
    assert charged["billable"].upper == left.notice_at
    assert charged["billable"].lower == left.started_at
    assert clock.now() - left.notice_at < timedelta(minutes=5)
