"""SCH-10 through the loop: jobs start smaller, grow when cards come free, and become smaller before anybody has to leave."""

from datetime import timedelta
from typing import Any

from scheduling.models import Job, Lease, Pod, Run, RunResize
from tests.integration.loop_scene import MORNING, Scene


def sizes(scene: Scene, job: Job) -> list[tuple[int, int, str]]:
    """(from, to, why) of every change of the job's size."""
    return list(RunResize.objects.filter(run__job=job).values_list("old", "new", "reason"))


def pods(job: Job) -> list[tuple[int, int, str, bool]]:
    """(index, rank, phase, whether it stays) of the pods of its latest run, in order of their making."""
    run = Run.objects.filter(job=job).latest("number")
    rows = Pod.objects.filter(run=run).order_by("pk")
    return [(pod.index, pod.rank, pod.phase, pod.released_at is None) for pod in rows]


def an_elastic_job(scene: Scene, queue: Any, **fields: Any) -> Job:
    """One to four pods of eight cards, by single pods, with a pause of a minute."""
    fields = {"minimum": 1, "elastic_step": 1, "elastic_cooldown_s": 60, "seconds": None, **fields}
    return scene.submit(queue, replicas=fields.pop("replicas", 4), **fields)


def test_a_job_starts_at_the_largest_size_that_fits_and_grows_when_cards_come_free(scene: Scene) -> None:
    scene.add_nodes(4)
    queue = scene.a_queue(32)
    first = scene.submit(queue, replicas=2, seconds=120)
    scene.turn()
    job = an_elastic_job(scene, queue)

    scene.turn()
    scene.go_on(5)
    assert scene.states(first, job) == ["running", "running"]
    assert pods(job) == [(0, 0, "running", True), (1, 1, "running", True)]
    scene.go_on(130)
    scene.go_on(5)
    scene.go_on(5)

    assert scene.states(first, job) == ["succeeded", "running"]
    assert pods(job) == [(index, index, "running", True) for index in range(4)]
    assert sizes(scene, job) == [(2, 4, "idle-cards")]
    assert scene.open_cards(run=scene.run_of(job)) == 32
    started = {pod.index: pod.started_at for pod in Pod.objects.filter(run__job=job)}
    assert started[2] is not None
    assert started[0] is not None
    assert started[2] - started[0] > timedelta(seconds=120)
