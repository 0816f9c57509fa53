"""Pods of a borrower that a lender needs back: warned, stopped within their grace, forced after it, resumed. F28 to F34, on real pods."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from berth.common import clock
from scheduling.control.take_down import FORCE_AFTER
from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Job, Lease, LeaseSegment, Preemption, Run
from scheduling.services.cancel import cancel_job
from tenants.models import Queue, Quota, Tenant
from tests.factories import a_cohort, a_queue, a_quota, a_tenant
from tests.kubernetes.processes import die_at, watcher, worker
from tests.kubernetes.scene import Real, a_tenant_on_pods

pytestmark = pytest.mark.timeout(400)
GRACE = timedelta(seconds=300)
SLACK = timedelta(seconds=5)
"""Between deciding and asking lies a turn; the cluster counts in whole seconds."""


class Lending(Real):
    """The tenant borrows all sixteen cards from `lender`, whose production may have them back at any time."""

    lender: Queue

    def borrow(self, **labels: str) -> Job:
        """A gang of the borrower over both nodes, on pods."""
        job = self.submit(cards=8, replicas=2, queue=self.queue, tier="development", **labels)
        Job.objects.filter(pk=job.pk).update(checkpoint_path="/data/run", checkpoint_interval_s=60)
        self.until_state(job, "running")
        return job

    def reclaim(self, *, cards: int = 8, replicas: int = 2, **labels: str) -> Job:
        """The lender's own work, which needs what was lent."""
        return self.submit(cards=cards, replicas=replicas, queue=self.lender, tier="production", **labels)

    def pods_of(self, job: Job, run: int) -> list[Any]:
        return [pod for pod in self.there("pods") if pod["metadata"]["name"].startswith(f"j{job.pk}-r{run}-")]


@pytest.fixture
def real(committed: None) -> Iterator[Lending]:
    with a_tenant_on_pods(kind=Lending) as made:
        assert isinstance(made, Lending)
        cohort = a_cohort()
        Tenant.objects.filter(pk=made.queue.tenant_id).update(cohort=cohort)
        Quota.objects.filter(queue=made.queue).update(nominal=0)
        made.lender = a_queue(tenant=a_tenant(cohort=cohort), pool=made.flavor.pool, default_tier="production")
        a_quota(made.lender, flavor=made.flavor, nominal=16)
        reconcile_tenants()
        made.until_ready(made.namespace_of(made.lender))
        yield made


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def test_a_checkpointing_victim_is_warned_gets_its_grace_once_resumes_and_does_not_pay_for_it(real: Lending) -> None:
    """F29, F31, F34: whoever decided dies before a pod was told, whoever told dies before it was stopped."""
    victim = real.borrow(stop_delay="3")
    submitted = Job.objects.get(pk=victim.pk).submitted_at
    asker = real.reclaim(duration="3")

    die_at("stopping", worker)
    record = Preemption.objects.get()
    die_at("warned", watcher)
    real.turn()
    pods = real.pods_of(victim, 1)
    real.until_state(asker, "running", "succeeded")
    given_back_after = clock.now() - record.notice_at
    real.until_state(victim, "running")

    told = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
    assert len(told) == 2
    for pod in told:
        conditions = {each["type"]: each["status"] for each in pod["status"]["conditions"]}
        assert conditions["DisruptionTarget"] == "True"
        assert pod["metadata"]["annotations"]["berth.dev/evict-reason"] == record.reason
        assert instant(pod["metadata"]["annotations"]["berth.dev/evict-until"]) == record.grace_until
        assert abs(instant(pod["metadata"]["deletionTimestamp"]) - record.grace_until) <= SLACK
    assert (record.grace_until - record.notice_at, given_back_after < GRACE) == (GRACE, True)
    first, second = Run.objects.filter(job=victim).order_by("number")
    record.refresh_from_db()
    assert (first.end_reason, record.outcome, Preemption.objects.count()) == ("preempted", "left", 1)
    job = Job.objects.get(pk=victim.pk)
    assert (job.submitted_at, job.preemptions) == (submitted, 1)
    kinds: dict[str, set[tuple[datetime, datetime]]] = {"billable": set(), "grace": set()}
    for each in LeaseSegment.objects.filter(lease__run=first):
        kinds[each.kind].add((each.during.lower, each.during.upper))
    assert {end for _start, end in kinds["billable"]} == {record.notice_at}
    assert {start for start, _end in kinds["grace"]} == {record.notice_at}
    env = {each["name"]: each.get("value") for each in real.pods_of(victim, 2)[0]["spec"]["containers"][0]["env"]}
    assert (env["BERTH_RESUME"], env["BERTH_RESUME_FROM"]) == ("1", "/data/run/r1")
    assert env["BERTH_CHECKPOINT_DIR"] == f"/data/run/r{second.number}"


def test_a_victim_that_never_exits_keeps_its_cards_until_it_was_removed_by_force_once(real: Lending) -> None:
    """F28, F29."""
    victim = real.borrow(stop_delay="never")
    asker = real.reclaim()
    real.until_state(victim, "stopping")
    run = Run.objects.get(job=victim)
    real.until(lambda: all(pod["metadata"].get("deletionTimestamp") for pod in real.pods_of(victim, 1)), "the order")
    for _ in range(3):
        real.turn()
    held = Lease.objects.filter(run=run, closed_at__isnull=True, card__isnull=False).count()

    # Its grace and the half minute after it have passed.
    Run.objects.filter(pk=run.pk).update(grace_until=clock.now() - FORCE_AFTER)
    real.until_state(asker, "running")

    run.refresh_from_db()
    assert (held, Job.objects.get(pk=asker.pk).state, run.end_reason) == (16, "running", "preempted")
    assert run.force_deleted_at is not None
    record = Preemption.objects.get()
    assert record.outcome == "forced"
    assert real.pods_of(victim, 1) == []


def test_a_victim_that_finishes_inside_its_grace_has_succeeded_and_is_not_run_again(real: Lending) -> None:
    """F32."""
    victim = real.borrow(stop_delay="never")
    real.reclaim()
    real.until_state(victim, "stopping")
    for pod in real.pods_of(victim, 1):
        finish(real, pod)

    real.until_state(victim, "succeeded")

    assert Run.objects.filter(job=victim).count() == 1
    assert Preemption.objects.get().outcome == "finished"
    assert Job.objects.get(pk=victim.pk).preemptions == 0


def finish(real: Real, pod: Any) -> None:
    """As its kubelet reports a pod that ends well."""
    status = pod["status"]["containerStatuses"][0]
    began = status["state"]["running"]["startedAt"]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": began, "finishedAt": now}
    status = {**status, "ready": False, "state": {"running": None, "terminated": ended}}
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
    real.client.merge(path, {"status": {"phase": "Succeeded", "containerStatuses": [status]}})


def test_an_asker_that_is_cancelled_blocks_nobody_and_its_victim_comes_back(real: Lending) -> None:
    """F30: a notice is never withdrawn; what it freed goes to whoever is next."""
    victim = real.borrow(stop_delay="4")
    asker = real.reclaim()
    real.until(Preemption.objects.exists, "the notice")

    cancel_job(asker.user, Job.objects.get(pk=asker.pk))
    real.until(lambda: Run.objects.filter(job=victim, number=2, started_at__isnull=False).exists(), "the second run")

    assert Job.objects.get(pk=asker.pk).state == "cancelled"
    assert Preemption.objects.get().outcome == "left"
    assert real.pods_of(asker, 1) == []


def test_two_askers_evict_one_victim_once(real: Lending) -> None:
    """F33, F34: and nobody is evicted for the victim in its turn."""
    victim = real.borrow(stop_delay="1")
    askers = [real.reclaim(replicas=1) for _ in range(2)]

    for asker in askers:
        real.until_state(asker, "running")
    for _ in range(5):
        real.turn()

    assert Preemption.objects.count() == 1
    assert Job.objects.get(pk=victim.pk).state == "queued"
    assert {Job.objects.get(pk=asker.pk).state for asker in askers} == {"running"}
