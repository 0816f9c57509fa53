"""Real programs that are told to stop: one that saves itself and goes on later, and one that does not listen."""

from datetime import timedelta

from scheduling.models import Job, LeaseSegment, Preemption, Run
from scheduling.services.cancel import cancel_job
from tests.kubernetes.real.scene import OnNodes

GRACE = timedelta(seconds=30)


def test_a_job_that_is_preempted_saves_itself_inside_its_grace_and_goes_on_from_there(real: OnNodes) -> None:
    """F29: SIGTERM, a checkpoint in the run's own folder, BERTH_RESUME in the next run; the bill leaves the grace window out."""
    storage = real.add_storage(real.borrower, "saved")
    volumes = {"volumes": [{"claim": "saved", "mount": "/saved"}]}
    job = real.submit("checkpointing.py", "60", queue=real.borrower, role=volumes, checkpoint_path="/saved/job")
    real.until_said(job, "counting")

    claim = real.submit("exiting.py", "0", cards=8, replicas=3)
    real.until_state(claim, "succeeded")
    real.until_state(job, "succeeded", "failed")

    first, second = Run.objects.filter(job=job).order_by("number")
    assert (first.end_reason, first.pods.get().exit_code, second.end_reason) == ("preempted", 143, "succeeded")
    saved = int((storage / "job" / "r1" / "step").read_text())
    assert 0 < saved < 60
    assert f"saved {saved} in /saved/job/r1" in real.log_of(job, run=1).text
    assert f"resumed at {saved} from /saved/job/r1" in real.log_of(job, run=2).text
    record = Preemption.objects.get()
    assert (record.run, record.reason, record.outcome) == (first, "reclaim-nominal", "left")
    assert first.ended_at is not None
    assert record.notice_at < first.ended_at <= record.grace_until
    kinds = set(LeaseSegment.objects.filter(lease__run=first).values_list("kind", flat=True))
    assert kinds == {"billable", "grace"}
    assert Job.objects.get(pk=job.pk).preemptions == 1


def test_a_job_that_ignores_the_signal_ends_by_force_after_its_grace(real: OnNodes) -> None:
    """F37: a cancel leaves it 30 s; then the kubelet kills it, and its cards are free."""
    job = real.submit("deaf.py")
    real.until_said(job, "deaf")

    cancel_job(job.user, Job.objects.get(pk=job.pk))
    stopped_at = Run.objects.get(job=job).stopping_at
    run = real.until_state(job, "cancelled")

    (pod,) = run.pods.all()
    assert (run.end_reason, pod.exit_code) == ("cancelled", 137)
    assert pod.finished_at is not None
    assert stopped_at is not None
    assert pod.finished_at - stopped_at >= GRACE - timedelta(seconds=2)
    assert run.pods.get().leases.filter(closed_at__isnull=True).count() == 0
