"""A pod that is gone without anybody having told its end is paid up to what was last known of it, not to the last look at a silent watch."""

import pytest

from scheduling.cluster.faults import FaultKind
from scheduling.models import SimulatedPod
from tests.integration.loop_scene import Scene

LIST_TAKES_S = 1.0


@pytest.fixture
def slow_lists(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Lists take a second, so the watch alone is followed for half a minute after each."""
    whole = type(scene.port).list_pods

    def list_pods(port: object, *, timeout_s: float) -> object:
        listing = whole(port, timeout_s=timeout_s)  # type: ignore[arg-type]
        scene.pass_wall(LIST_TAKES_S)
        return listing

    monkeypatch.setattr(type(scene.port), "list_pods", list_pods)
    return scene


def test_an_end_that_no_watch_told_is_charged_to_the_last_list(slow_lists: Scene) -> None:
    """F19, BIL-01: three looks by the watch saw nothing amiss after the pod had gone; they prove nothing."""
    scene = slow_lists
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None, max_restarts=0)
    scene.turn()
    run = scene.run_of(job)
    scene.pass_wall(40)
    scene.look()
    scene.turn()
    assert scene.states(job) == ["running"]
    listed_at = type(scene.cluster).objects.get(pk=scene.cluster.pk).last_listed_at

    scene.plan_fault("watch_pods", FaultKind.DROP_DELETED, times=None)
    SimulatedPod.objects.filter(run_name=f"j{job.pk}-r{run.number}").delete()
    for _ in range(2):
        scene.pass_wall(12)
        scene.look()
        scene.turn()
    assert scene.states(job) == ["running"]
    scene.pass_wall(12)
    scene.look()
    scene.turn()

    run.refresh_from_db()
    assert run.state == "ended"
    (pod,) = run.pods.all()
    ends = {segment.during.upper for lease in run.leases.all() for segment in lease.segments.all()}
    assert len(ends) == 1
    assert listed_at is not None
    assert pod.started_at is not None
    assert ends.pop() == max(listed_at, pod.started_at)
