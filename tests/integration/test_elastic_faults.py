"""SCH-10 when things go wrong between a decision and its end: pods that cannot join, nodes lost, runs that ended, loops that died."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from berth.common import clock
from scheduling.cluster.faults import FaultKind
from scheduling.cluster.port import RefusalCode
from scheduling.cluster.virtual import FailNode, NodeFailure
from scheduling.control.absorb import absorb_observations
from scheduling.control.apply import apply_plan
from scheduling.control.lock import take_lead
from scheduling.control.loop import Loop, plan_now
from scheduling.models import Job, Lease, Node, Pod, SchedulerEpoch, SimulatedPod
from scheduling.services.cancel import cancel_job
from scheduling.transitions import StaleEpochError
from tests.integration.elastic_jobs import (
    a_borrower_and_its_lender,
    a_job_of_two_that_may_grow,
    pods,
    running,
    sizes,
)
from tests.integration.loop_scene import Scene
from tests.integration.test_loans_and_leases import books


def test_a_node_lost_before_a_pod_on_it_could_join_ends_nothing(scene: Scene) -> None:
    job = a_job_of_two_that_may_grow(scene)
    spare = Node.objects.exclude(pods__run__job=job).order_by("pk").first()
    assert spare is not None
    scene.port.act(FailNode(spare.name, NodeFailure.SILENT))
    scene.turn()
    assert sizes(job) == [(2, 4, "idle-cards")]

    for _ in range(16):
        scene.pass_wall(2)
        scene.look()
        scene.turn()

    assert scene.states(job) == ["running"]
    assert scene.run_of(job).number == 1
    assert sizes(job) == [(2, 4, "idle-cards"), (4, 3, "node-lost")]
    assert [pod[2:] for pod in pods(job) if pod[3]] == [("running", True)] * 3
    lost = Pod.objects.get(run__job=job, released_at__isnull=False)
    assert (lost.node_id, lost.leases.filter(closed_at__isnull=True).count()) == (spare.pk, 0)
    assert not Lease.objects.filter(pod=lost, segments__isnull=False).exists()


def test_a_node_lost_under_a_pod_that_runs_takes_the_whole_run(scene: Scene) -> None:
    """Section 6: its runs are fenced and requeued; the job starts anew at the largest size that fits."""
    job, _lender = a_borrower_and_its_lender(scene)
    node = Pod.objects.get(run__job=job, index=3).node
    scene.port.act(FailNode(node.name, NodeFailure.SILENT))

    for _ in range(24):
        scene.pass_wall(2)
        scene.look()
        scene.turn()

    assert scene.states(job) == ["running"]
    assert scene.run_of(job).number == 2
    assert pods(job) == running(0, 1, 2)


def test_what_a_cluster_refuses_to_let_join_is_given_up_in_time(scene: Scene) -> None:
    job = a_job_of_two_that_may_grow(scene, elastic_cooldown_s=3600)
    Job.objects.filter(pk=job.pk).update(elastic_cooldown_s=60)
    name = f"j{job.pk}-r1"
    scene.plan_fault(
        "create_run", FaultKind.REFUSE, match=name, code=RefusalCode.QUOTA, message="exceeded quota", times=None
    )
    for _ in range(7):
        scene.pass_wall(100)
        scene.look()
        scene.turn()

    assert scene.states(job) == ["running"]
    assert sizes(job)[:2] == [(2, 4, "idle-cards"), (4, 2, "start-timeout")]
    assert [pod for pod in pods(job) if pod[3]][:2] == running(0, 1)
    assert not Lease.objects.filter(pod__released_at__isnull=False, segments__isnull=False).exists()


def a_plan_to_grow(scene: Scene) -> Job:
    return a_job_of_two_that_may_grow(scene)


def a_plan_to_shrink(scene: Scene) -> Job:
    job, lender = a_borrower_and_its_lender(scene)
    scene.go_on(90)
    scene.submit(lender, seconds=None)
    return job


@pytest.mark.parametrize("change", [a_plan_to_grow, a_plan_to_shrink])
def test_a_resize_of_a_run_that_stops_meanwhile_is_dropped(scene: Scene, change: Callable[[Scene], Job]) -> None:
    job = change(scene)
    lead = take_lead("first")
    assert lead is not None
    absorb_observations(lead, clock.now())
    planned, now = plan_now()
    assert [int(resize.job) for resize in planned.plan.resizes] == [job.pk]
    cancel_job(job.user, Job.objects.get(pk=job.pk))

    applied = apply_plan(planned, now=now, leadership=lead)

    assert (applied.stale, applied.resized, sizes(job)) == ([job.pk], [], [])
    assert not Pod.objects.filter(run__job=job).exclude(phase="running").exists()


def test_a_plan_of_a_loop_that_lost_the_lead_changes_nothing_and_its_successor_decides_anew(scene: Scene) -> None:
    """Killed between decide and apply."""
    job = a_plan_to_shrink(scene)
    old = take_lead("first")
    assert old is not None
    planned, now = plan_now()
    SchedulerEpoch.objects.update(lease_until=None)
    scene.loop = Loop(holder="second")
    scene.turn()
    assert sizes(job) == [(4, 3, "reclaim-nominal")]

    with pytest.raises(StaleEpochError):
        apply_plan(planned, now=now, leadership=old)

    assert sizes(job) == [(4, 3, "reclaim-nominal")]
    assert sum(not pod[3] for pod in pods(job)) == 1


@pytest.mark.parametrize("change", [a_plan_to_grow, a_plan_to_shrink])
def test_what_was_decided_and_not_told_is_done_by_a_successor(scene: Scene, change: Callable[[Scene], Job]) -> None:
    """Killed after apply, or while the cluster was told: nothing is done twice, and the books stand meanwhile."""
    job = change(scene)
    for operation in ("create_run", "delete_pod"):
        scene.plan_fault(operation, FaultKind.LOST_ANSWER)
    scene.turn()
    first = sizes(job)
    assert len(first) == 1
    scene.loop = Loop(holder="first")
    seen = [books()]
    for seconds in (2, 2, 10, 10, 5):
        scene.go_on(seconds)
        seen.append(books())

    size = first[0][1]
    assert [pod for pod in pods(job) if pod[3]] == running(*range(size))
    assert all(borrowed == lent for borrowed, lent in seen)
    assert sizes(job) == first
    assert sum(name.startswith(f"j{job.pk}-") for name in scene.pods_there()) == size


def test_a_pod_that_does_not_leave_is_removed_by_force_once_its_grace_is_long_over(scene: Scene) -> None:
    """F28, of one pod: 300 s and 30 more."""
    job, lender = a_borrower_and_its_lender(scene, labels={"berth.dev/sim-stop-delay": "never"})
    scene.go_on(90)
    claim = scene.submit(lender, seconds=None)
    scene.go_on(1)
    for seconds in (100, 100, 95):
        scene.pass_wall(seconds)
        scene.go_on(1)
    assert scene.states(job, claim) == ["running", "queued"]

    for _ in range(4):
        scene.pass_wall(20)
        scene.go_on(1)

    assert scene.states(job, claim) == ["running", "running"]
    gone = Pod.objects.get(run__job=job, released_at__isnull=False)
    assert (gone.phase, gone.force_deleted_at is not None) == ("gone", True)
    assert [pod for pod in pods(job) if pod[3]] == running(0, 1, 2)


def test_a_node_lost_under_a_pod_that_is_leaving_ends_nothing(scene: Scene) -> None:
    job, lender = a_borrower_and_its_lender(scene, labels={"berth.dev/sim-stop-delay": "never"})
    scene.go_on(90)
    scene.submit(lender, seconds=None)
    scene.go_on(1)
    leaving = Pod.objects.select_related("node").get(run__job=job, released_at__isnull=False)
    scene.port.act(FailNode(leaving.node.name, NodeFailure.SILENT))

    for _ in range(16):
        scene.pass_wall(2)
        scene.look()
        scene.turn()

    assert Node.objects.get(pk=leaving.node_id).state == "lost"
    assert (scene.states(job), scene.run_of(job).number) == (["running"], 1)
    # The claim's place is lost with the node: it takes the next one.
    assert sizes(job) == [(4, 3, "reclaim-nominal"), (3, 2, "reclaim-nominal-in-cooldown")]
    assert [pod for pod in pods(job) if pod[3]] == running(0, 1)
    lease = leaving.leases.order_by("slot")[0]
    [charged] = lease.segments.filter(kind="billable")
    assert leaving.notice_at is not None
    assert charged.during.upper <= leaving.notice_at
    assert lease.closed_at is not None


def test_a_pod_that_ends_by_itself_does_not_come_back(scene: Scene) -> None:
    """A job at its end must not grow into what its own pods give back."""
    job = a_job_of_two_that_may_grow(scene, seconds=None)
    scene.turn()
    scene.go_on(5)
    assert pods(job) == running(0, 1, 2, 3)
    SimulatedPod.objects.using("simulated").filter(name=f"j{job.pk}-r1-worker-3").update(
        duration=timedelta(seconds=10), next_change_at=clock.now()
    )

    for seconds in (30, 70, 70, 5):
        scene.go_on(seconds)

    assert scene.states(job) == ["running"]
    assert pods(job) == [*running(0, 1, 2), (3, 3, "succeeded", True)]
    assert sizes(job) == [(2, 4, "idle-cards")]
