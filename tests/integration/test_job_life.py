"""One job from the queue through the cluster to its segments, and every way it may end."""

import pytest

from scheduling.models import Job, JobDataset, Lease, LeaseSegment, Node, Preemption, Run, SegmentQuarantine, Transition
from tests.integration.loop_scene import MORNING, Scene


def test_a_job_starts_runs_exactly_its_time_and_ends(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=120)

    scene.turn()
    assert scene.states(job) == ["starting"]
    scene.go_on()
    assert scene.states(job) == ["running"]
    scene.go_on(300)

    job.refresh_from_db()
    run = scene.run_of(job)
    assert (job.state, job.end_reason, run.end_reason) == ("succeeded", "succeeded", "succeeded")
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 120
    assert job.ended_at == run.ended_at
    assert scene.segments(run) == [("billable", 0, 120, 8)]
    assert scene.open_cards() == 0


def test_nothing_of_an_ended_run_is_left_in_the_cluster(scene: Scene) -> None:
    scene.add_nodes()
    scene.submit(scene.a_queue(8), seconds=10)

    scene.turn()
    scene.go_on()
    scene.go_on(30)

    assert scene.pods_there() == {}
    assert scene.port.list_managed(kinds=["Service"], timeout_s=2).items == ()


def test_every_change_of_state_has_one_transition_row(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10)

    scene.turn()
    scene.go_on()
    scene.go_on(30)
    scene.go_on(30)

    moves = Transition.objects.filter(job_id=job.pk).order_by("id").values_list("subject", "old", "new")
    assert list(moves) == [
        ("job", "queued", "starting"),
        ("run", "", "admitted"),
        ("run", "admitted", "starting"),
        ("run", "starting", "running"),
        ("job", "starting", "running"),
        ("run", "running", "ended"),
        ("job", "running", "succeeded"),
    ]


def test_a_gang_of_four_starts_whole_when_the_fourth_node_is_free(scene: Scene) -> None:
    scene.add_nodes(4)
    queue = scene.a_queue(64)
    small = scene.submit(queue, cards=4, seconds=100)
    scene.turn()
    gang = scene.submit(queue, cards=8, replicas=4)

    scene.go_on()
    assert scene.states(small, gang) == ["running", "queued"]
    scene.go_on(200)
    scene.go_on()

    assert scene.states(small, gang) == ["succeeded", "running"]
    assert scene.open_cards() == 32


@pytest.mark.parametrize("outcome", ["failed", "oom", "gpu-oom"])
def test_a_failed_job_is_tried_again_and_then_has_failed(scene: Scene, outcome: str) -> None:
    scene.add_nodes()
    labels = {"berth.dev/sim-outcome": outcome}
    job = scene.submit(scene.a_queue(8), seconds=5, labels=labels, max_restarts=1)

    scene.turn()
    for _ in range(6):
        scene.go_on(40)

    job.refresh_from_db()
    assert (job.state, job.end_reason, job.restarts_used, job.runs_count) == ("failed", outcome, 1, 2)


def test_a_failing_rank_takes_its_gang_down_and_each_pod_is_billed_its_own_time(scene: Scene) -> None:
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), replicas=2, seconds=None, max_restarts=0)
    scene.turn()
    scene.go_on(10)
    victim = scene.pods_there()[f"j{job.pk}-r1-worker-1"]
    scene.port.delete_pod(victim.key, uid=victim.uid, grace_s=30, timeout_s=2)

    scene.pass_time(5)
    scene.go_on(1)
    scene.go_on(6)
    scene.go_on(1)

    run = scene.run_of(job)
    assert run.state == "ended"
    assert [segment[:3] for segment in scene.segments(run)] == [("billable", 0, 15), ("billable", 0, 21)]


def test_a_run_past_its_declared_time_is_stopped_as_timeout(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None, max_runtime_s=60)

    scene.turn()
    scene.go_on(1)
    scene.go_on(60)
    assert scene.states(job) == ["stopping"]
    scene.go_on(6)

    job.refresh_from_db()
    assert (job.state, job.end_reason) == ("failed", "timeout")
    assert scene.pods_there() == {}


def test_a_waiting_job_says_why_with_numbers(scene: Scene) -> None:
    scene.add_nodes()
    queue = scene.a_queue(16)
    scene.submit(queue, seconds=None)
    waiting = scene.submit(queue, seconds=None)

    scene.turn()

    reason = waiting.wait_reasons.get(until__isnull=True)
    assert reason.code == "cards-busy"
    assert 8000 in reason.short.values()
    scene.go_on()
    assert waiting.wait_reasons.count() == 1


def test_a_lender_gets_its_nominal_back_within_the_grace(scene: Scene) -> None:
    """Must show 3."""
    scene.add_nodes(2)
    lender, borrower = scene.a_queue(8), scene.a_queue(8, tier="development")
    labels = {"berth.dev/sim-stop-delay": "20"}
    borrowing = scene.submit(borrower, replicas=2, seconds=None, labels=labels)
    scene.turn()
    scene.go_on()
    lent = scene.run_of(borrowing).loans.get()
    assert (lent.amount_m, lent.ended_at) == (8000, None)

    claim = scene.submit(lender, seconds=None)
    scene.go_on(600)
    assert scene.states(borrowing, claim) == ["stopping", "queued"]
    for _ in range(4):
        scene.go_on(10)

    assert scene.states(borrowing, claim) == ["queued", "running"]
    record = Preemption.objects.get()
    assert (record.reason, record.outcome) == ("reclaim-nominal", "left")
    again = Job.objects.get(pk=borrowing.pk)
    assert (again.order_at, again.preemptions) == (MORNING, 1)
    kinds = {segment[0] for segment in scene.segments(record.run)}
    assert kinds == {"billable", "grace"}


def test_a_job_without_a_sim_label_ends_well_after_its_expected_run_time(scene: Scene) -> None:
    """Not after its longest run, as a failure."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None, expected_runtime_s=300, max_runtime_s=3600)
    scene.turn()
    scene.go_on(5)

    scene.go_on(400)

    run = scene.run_of(job)
    assert (scene.states(job), run.end_reason) == (["succeeded"], "succeeded")
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 300


def test_a_job_runs_where_its_dataset_is_cached(scene: Scene) -> None:
    """SCH-19: by the node's labels; without the dataset the first node by name is as good as any."""
    first, second = scene.add_nodes(2)
    Node.objects.filter(pk=max(first, second, key=lambda node: node.name).pk).update(
        labels={"data.berth.dev/imagenet": "cached", "other": "word"}
    )
    queue = scene.a_queue(16)
    job = scene.submit(queue, cards=1)
    JobDataset.objects.create(job=job, name="imagenet")

    scene.turn()

    assert Run.objects.get(job=job).pods.get().node.name == max(first.name, second.name)


def test_a_pod_that_begins_and_ends_in_one_second_holds_nothing_and_is_no_fault(scene: Scene) -> None:
    """A cluster that counts in seconds tells of it so; there is nothing to bill and nothing to look into."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=0)

    scene.turn()
    scene.go_on(2)

    assert scene.states(job) == ["succeeded"]
    assert (LeaseSegment.objects.count(), SegmentQuarantine.objects.count()) == (0, 0)
    assert not Lease.objects.filter(closed_at__isnull=True).exists()
