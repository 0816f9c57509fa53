"""Roles outside the gang that found no room when their job started join it when there is some, once, and are paid from their own start."""

import pytest

from scheduling.cluster.faults import FaultKind
from scheduling.cluster.port import RefusalCode
from scheduling.models import Job, Lease, Pod, Role, RoleFlavor
from scheduling.services.cancel import cancel_job
from tests.integration.loop_scene import Scene


def a_job_with_an_evaluator(scene: Scene, *, seconds: float | None) -> Job:
    """Six cards of eight for its worker, two for an evaluator; two are held by somebody else at first."""
    scene.add_nodes()
    queue = scene.a_queue(8)
    scene.submit(queue, cards=2, seconds=60)
    scene.turn()
    job = scene.submit(queue, cards=6, seconds=seconds)
    role = Role.objects.create(
        job=job, position=1, name="evaluator", replicas=1, minimum=1, cards_m=2000, cpu_m=1000, memory_mib=1024,
        image="registry.example/eval:1", in_gang=False,
    )  # fmt: skip
    RoleFlavor.objects.create(role=role, flavor=scene.flavor, position=0)
    Job.objects.filter(pk=job.pk).update(shape_key="worker and evaluator")
    scene.turn()
    scene.go_on(5)
    assert (scene.states(job), max(scene.pods_there())) == (["running"], f"j{job.pk}-r1-worker-0")
    return job


def evaluators(job: Job) -> list[Pod]:
    return list(Pod.objects.filter(run__job=job, role_name="evaluator"))


def test_a_role_joins_its_running_job_when_there_is_room_and_leaves_with_it(scene: Scene) -> None:
    """SCH-09."""
    job = a_job_with_an_evaluator(scene, seconds=None)
    assert evaluators(job) == []

    for _ in range(4):
        scene.go_on(20)

    (pod,) = evaluators(job)
    assert (pod.phase, pod.in_gang, pod.rank, pod.name) == ("running", False, 1, f"j{job.pk}-r1-evaluator-0")
    assert scene.open_cards() == 8
    assert scene.states(job) == ["running"]

    cancel_job(job.user, Job.objects.get(pk=job.pk))
    for _ in range(4):
        scene.go_on(20)

    assert (scene.states(job), scene.open_cards(), scene.pods_there()) == (["cancelled"], 0, {})
    worker = Pod.objects.get(run__job=job, role_name="worker")
    pod.refresh_from_db()
    assert worker.started_at is not None
    assert pod.started_at is not None
    assert pod.started_at > worker.started_at
    (lease, _other) = Lease.objects.filter(pod=pod).order_by("slot")
    assert min(segment.during.lower for segment in lease.segments.all()) == pod.started_at


def test_what_a_cluster_refuses_to_let_join_is_tried_again_and_ends_nothing(scene: Scene) -> None:
    """F05: quota may be short for it alone."""
    job = a_job_with_an_evaluator(scene, seconds=None)
    name = f"j{job.pk}-r1"
    scene.plan_fault("create_run", FaultKind.REFUSE, match=name, code=RefusalCode.QUOTA, message="exceeded quota")

    for _ in range(3):
        scene.go_on(30)
    assert scene.states(job) == ["running"]
    for _ in range(3):
        scene.pass_wall(31)
        scene.go_on(1)

    assert [pod.phase for pod in evaluators(job)] == ["running"]
    assert job.runs.count() == 1


@pytest.mark.parametrize("moment", ["before the plan", "before it is sent"])
def test_a_job_that_ends_meanwhile_is_not_joined(scene: Scene, moment: str) -> None:
    job = a_job_with_an_evaluator(scene, seconds=None)
    if moment == "before it is sent":
        scene.plan_fault("create_run", FaultKind.UNREACHABLE, times=None)
        scene.go_on(70)
        scene.go_on(1)
    cancel_job(job.user, Job.objects.get(pk=job.pk))

    for _ in range(4):
        scene.go_on(40)

    assert (scene.states(job), scene.open_cards()) == (["cancelled"], 0)
    assert not any("evaluator" in key for key in scene.pods_there())
