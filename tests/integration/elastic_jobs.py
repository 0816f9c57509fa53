"""Elastic jobs for scenes of the loop, and what became of their sizes."""

from typing import Any

from scheduling.models import Job, Pod, Run, RunResize
from tenants.models import Queue
from tests.integration.loop_scene import Scene


def sizes(job: Job) -> list[tuple[int, int, str]]:
    """(from, to, why) of every change of the job's size."""
    return list(RunResize.objects.filter(run__job=job).values_list("old", "new", "reason"))


def pods(job: Job) -> list[tuple[int, int, str, bool]]:
    """(index, rank, phase, whether it stays) of the pods of its latest run, in order of their making."""
    run = Run.objects.filter(job=job).latest("number")
    rows = Pod.objects.filter(run=run).order_by("pk")
    return [(pod.index, pod.rank, pod.phase, pod.released_at is None) for pod in rows]


def running(*indexes: int) -> list[tuple[int, int, str, bool]]:
    """Pods that run and stay, as `pods` tells them."""
    return [(index, index, "running", True) for index in indexes]


def an_elastic_job(scene: Scene, queue: Queue, **fields: Any) -> Job:
    """One to four pods of eight cards, by single pods, with a pause of a minute."""
    fields = {"minimum": 1, "elastic_step": 1, "elastic_cooldown_s": 60, "seconds": None, **fields}
    return scene.submit(queue, replicas=fields.pop("replicas", 4), **fields)


def a_borrower_and_its_lender(scene: Scene, **fields: Any) -> tuple[Job, Queue]:
    """A job of four pods that borrows half of its 32 cards from a tenant that has a nominal of 16."""
    scene.add_nodes(4)
    borrower, lender = scene.a_queue(16, tier="development"), scene.a_queue(16)
    job = an_elastic_job(scene, borrower, **fields)
    for seconds in (0, 5, 5):
        scene.go_on(seconds)
    assert pods(job) == running(0, 1, 2, 3)
    return job, lender


def a_job_of_two_that_may_grow(scene: Scene, **fields: Any) -> Job:
    """Two pods of four on two of four nodes: the others came free a moment ago, and its pause is over."""
    scene.add_nodes(4)
    queue = scene.a_queue(32)
    first = scene.submit(queue, replicas=2, seconds=120)
    scene.turn()
    job = an_elastic_job(scene, queue, **fields)
    scene.turn()
    scene.go_on(5)
    scene.pass_time(130)
    scene.look()
    assert scene.states(first, job) == ["running", "running"]
    assert pods(job) == running(0, 1)
    return job
