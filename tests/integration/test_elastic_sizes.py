"""SCH-10 through the loop: jobs start smaller, grow when cards come free, and become smaller before anybody has to leave."""

from datetime import timedelta

import pytest

from scheduling.models import Job, Lease, Loan, Pod, Preemption
from scheduling.services.cancel import cancel_job
from scheduling.services.run_reports import report_run
from tests.integration.elastic_jobs import a_borrower_and_its_lender, an_elastic_job, pods, running, sizes
from tests.integration.loop_scene import Scene


def test_a_job_starts_at_the_largest_size_that_fits_and_grows_when_cards_come_free(scene: Scene) -> None:
    scene.add_nodes(4)
    queue = scene.a_queue(32)
    first = scene.submit(queue, replicas=2, seconds=120)
    scene.turn()
    job = an_elastic_job(scene, queue)

    scene.turn()
    scene.go_on(5)
    assert scene.states(first, job) == ["running", "running"]
    assert pods(job) == running(0, 1)
    for seconds in (130, 5, 5):
        scene.go_on(seconds)

    assert scene.states(first, job) == ["succeeded", "running"]
    assert pods(job) == running(0, 1, 2, 3)
    assert sizes(job) == [(2, 4, "idle-cards")]
    assert scene.open_cards(run=scene.run_of(job)) == 32
    started = {pod.index: pod.started_at for pod in Pod.objects.filter(run__job=job)}
    assert started[0] is not None
    assert started[2] is not None
    assert started[2] - started[0] > timedelta(seconds=120)


def test_a_borrower_becomes_smaller_for_its_lender_and_is_not_charged_for_what_leaves(scene: Scene) -> None:
    """SCH-10, BIL-05: the highest index leaves within its grace; the loan follows when it has."""
    job, lender = a_borrower_and_its_lender(scene)
    scene.go_on(90)
    claim = scene.submit(lender, seconds=None)

    scene.go_on(1)
    assert sizes(job) == [(4, 3, "reclaim-nominal")]
    assert not Preemption.objects.exists()
    assert scene.states(job, claim) == ["running", "queued"]
    assert [loan.amount_m for loan in Loan.objects.filter(run__job=job, ended_at__isnull=True)] == [16_000]
    for seconds in (1, 10, 2, 5):
        scene.go_on(seconds)

    assert scene.states(job, claim) == ["running", "running"]
    assert pods(job) == [*running(0, 1, 2), (3, 3, "failed", False)]
    assert [loan.amount_m for loan in Loan.objects.filter(run__job=job, ended_at__isnull=True)] == [8_000]
    gone = Pod.objects.get(run__job=job, index=3)
    assert (gone.started_at, gone.notice_at) != (None, None)
    segments = [
        (segment.kind, segment.during.lower, segment.during.upper)
        for segment in Lease.objects.filter(pod=gone, slot=0).get().segments.order_by("id")
    ]
    assert segments == [
        ("billable", gone.started_at, gone.notice_at),
        ("grace", gone.notice_at, gone.finished_at),
    ]
    assert scene.open_cards(run=scene.run_of(job)) == 24


def test_a_smaller_job_grows_again_under_the_same_names(scene: Scene) -> None:
    job, lender = a_borrower_and_its_lender(scene)
    scene.go_on(90)
    claim = scene.submit(lender, seconds=60)
    for seconds in (1, 5, 5, 70, 10, 60, 5, 5):
        scene.go_on(seconds)

    assert scene.states(job, claim) == ["running", "succeeded"]
    assert sizes(job) == [(4, 3, "reclaim-nominal"), (3, 4, "idle-cards")]
    assert pods(job) == [*running(0, 1, 2), (3, 3, "failed", False), (3, 3, "running", True)]
    assert len(set(Pod.objects.filter(run__job=job).values_list("uid", flat=True))) == 5
    assert scene.open_cards(run=scene.run_of(job)) == 32


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param(2, [(4, 2, "asked-for")], id="a smaller size is what it gets"),
        pytest.param(4, [], id="the size it has changes nothing"),
    ],
)
def test_a_size_asked_for_by_the_run_decides(scene: Scene, wanted: int, want: list[tuple[int, int, str]]) -> None:
    job, _lender = a_borrower_and_its_lender(scene)
    report_run(scene.run_of(job), {"wanted_size": wanted})

    for seconds in (70, 5, 5, 70, 70):
        scene.go_on(seconds)

    assert sizes(job) == want
    assert [pod for pod in pods(job) if pod[3]] == running(*range(wanted))
    for gone in Pod.objects.filter(run__job=job, released_at__isnull=False):
        kinds = set(Lease.objects.filter(pod=gone).values_list("segments__kind", flat=True))
        assert (gone.notice_at, kinds) == (None, {"billable"})


def test_what_is_cancelled_while_its_pods_leave_ends_as_a_whole(scene: Scene) -> None:
    job, lender = a_borrower_and_its_lender(scene)
    scene.go_on(90)
    scene.submit(lender, seconds=None)
    scene.go_on(1)

    cancel_job(job.user, Job.objects.get(pk=job.pk))
    for seconds in (1, 10, 30, 5):
        scene.go_on(seconds)

    assert scene.states(job) == ["cancelled"]
    assert scene.open_cards(run=scene.run_of(job)) == 0
    assert not Loan.objects.filter(run__job=job, ended_at__isnull=True).exists()
    assert not any(name.startswith(f"j{job.pk}-") for name in scene.pods_there())
