"""What open leases borrow and what open loans say is one amount, whatever happened between deciding and applying (SCH-03, SCH-16)."""

from datetime import timedelta

import pytest
from django.db.models import Sum

from berth.demo.holds import loan_end_ms
from berth.demo.past import Attempt
from billing.selectors.held import going_on_of
from scheduling.cluster.virtual import FailNode, NodeFailure
from scheduling.control.apply import apply_plan
from scheduling.control.lock import take_lead
from scheduling.control.loop import plan_now
from scheduling.engine.plan import LoanOpen, Placement
from scheduling.models import Job, Lease, LeaseSegment, Loan, Run
from scheduling.services.cancel import cancel_job
from tenants.models import Queue, Quota
from tests.integration.loop_scene import MORNING, Scene


def books() -> tuple[int, int]:
    """Borrowed milli-cards by open leases, and by open loans."""
    leases = Lease.objects.filter(closed_at__isnull=True, borrowed=True).aggregate(sum=Sum("quantity"))["sum"] or 0
    loans = Loan.objects.filter(ended_at__isnull=True).aggregate(sum=Sum("amount_m"))["sum"] or 0
    return leases // 7, loans


def test_a_recharge_ends_the_loan_and_a_partial_one_opens_the_rest(scene: Scene) -> None:
    scene.add_nodes(2)
    scene.a_queue(16)
    borrower = scene.a_queue(0, tier="development")
    job = scene.submit(borrower, replicas=2, seconds=None)
    scene.turn()
    scene.go_on(5)
    seen = [books()]

    for nominal in (8_000, 16_000, 0):
        Quota.objects.filter(queue=borrower).update(nominal=nominal)
        scene.go_on(5)
        seen.append(books())

    assert seen == [(16_000, 16_000), (8_000, 8_000), (0, 0), (16_000, 16_000)]
    assert list(Loan.objects.order_by("id").values_list("why", flat=True)) == ["resplit", "own-now", ""]
    assert scene.states(job) == ["running"]


def test_a_run_that_was_stopped_meanwhile_keeps_its_split_and_its_loan(scene: Scene) -> None:
    scene.add_nodes()
    scene.a_queue(8)
    borrower = scene.a_queue(0, tier="development")
    job = scene.submit(borrower, seconds=None, labels={"berth.dev/sim-stop-delay": "20"})
    scene.turn()
    scene.go_on(5)
    Quota.objects.filter(queue=borrower).update(nominal=8_000)
    lead = take_lead("first")
    assert lead is not None
    planned, now = plan_now()
    assert planned.plan.recharges
    cancel_job(job.user, job)

    apply_plan(planned, now=now, leadership=lead)

    assert Run.objects.get(job=job).state == "stopping"
    assert books() == (8_000, 8_000)


@pytest.mark.parametrize(
    ("later", "want"),
    [([], None), ([(50, 8_000)], None), ([(50, 4_000)], 50), ([(50, 0), (70, 8_000)], 50)],
    ids=["none", "same", "half", "own"],
)
def test_a_loan_of_the_demos_past_ends_with_the_split_it_stands_for(
    later: list[tuple[int, int]], want: int | None
) -> None:
    pod = Placement(
        role="worker",
        index=0,
        node="n0",
        flavor="g",
        cards_m=8_000,
        borrowed_m=8_000,
        cpu_m=0,
        memory_mib=0,
        vram_mib=0,
    )
    attempt = Attempt(0, (pod,), 0, ())
    attempt.borrowed = [(0, {("worker", 0): 8_000}), *((at, {("worker", 0): amount}) for at, amount in later)]

    assert loan_end_ms(attempt, 0, LoanOpen("g", 8_000, 1_000, ())) == want


def a_borrower(scene: Scene, *, seconds: float | None) -> tuple[Queue, Job]:
    """A queue without nominal and its job of 8 borrowed cards on the only node, admitted now."""
    scene.add_nodes()
    scene.a_queue(8)
    borrower = scene.a_queue(0, tier="development")
    job = scene.submit(borrower, seconds=seconds)
    scene.turn()
    return borrower, job


def pod_that_ended_unseen(scene: Scene, *, turned_at: int) -> Run:
    """A run of 8 borrowed cards whose pod ended after 600 s, unseen; its cards became own at `turned_at`; then it was seen."""
    borrower, job = a_borrower(scene, seconds=600)
    scene.go_on(5)
    scene.pass_time(turned_at - 5)
    Quota.objects.filter(queue=borrower).update(nominal=8_000)
    scene.turn()
    scene.pass_time(700 - turned_at)
    scene.look()
    scene.turn()
    assert scene.states(job) == ["succeeded"]
    return scene.run_of(job)


@pytest.mark.parametrize(
    ("turned_at", "want"),
    [(640, [("billable", 0, 600, True)]), (200, [("billable", 0, 200, True), ("billable", 200, 600, False)])],
    ids=["after-its-end", "while-it-ran"],
)
def test_a_change_of_the_split_never_lengthens_what_was_held(
    scene: Scene, turned_at: int, want: list[tuple[str, float, float, bool]]
) -> None:
    """BIL-01, BIL-02: what is charged are the pod's own times, however late its end was seen."""
    run = pod_that_ended_unseen(scene, turned_at=turned_at)

    for lease in Lease.objects.filter(run=run):
        found = lease.segments.order_by("during")
        assert [(each.kind, *seconds(each), each.borrowed) for each in found] == want


def test_a_change_of_the_split_on_a_silent_node_is_charged_to_the_last_sign_only(scene: Scene) -> None:
    """BIL-05, B14: the node fell silent at 10 s, the cards became own at 20 s, the loss was seen at 36 s."""
    borrower, job = a_borrower(scene, seconds=None)
    scene.go_on(10)
    run = scene.run_of(job)
    scene.port.act(FailNode(run.pods.get().node.name, NodeFailure.SILENT))
    for step in range(13):
        scene.pass_wall(2)
        scene.look()
        if step == 4:
            Quota.objects.filter(queue=borrower).update(nominal=8_000)
            scene.turn()
    scene.turn()

    lease = Lease.objects.filter(run=run, slot=0).get()
    assert [(each.kind, *seconds(each), each.borrowed) for each in lease.segments.order_by("during")] == [
        ("billable", 0, 10, True),
        ("after-last-sign", 10, 20, True),
        ("after-last-sign", 20, 36, False),
    ]


def test_a_running_jobs_cost_follows_its_split(scene: Scene) -> None:
    """What goes on is told as its segments will be: borrowed up to the change, own after it."""
    borrower, job = a_borrower(scene, seconds=None)
    scene.go_on(200)
    Quota.objects.filter(queue=borrower).update(nominal=8_000)
    scene.turn()

    held = [
        each for each in going_on_of(job_ids=[job.pk]) if each.source_id == Lease.objects.get(run__job=job, slot=0).pk
    ]

    now = scene.run_of(job).admitted_at + timedelta(seconds=250)
    spans = [(each.until(now), each.borrowed) for each in held]
    assert [(span.seconds, borrowed) for span, borrowed in spans if span is not None] == [(200, True), (50, False)]


def seconds(segment: LeaseSegment) -> tuple[float, float]:
    return tuple((end - MORNING).total_seconds() for end in (segment.during.lower, segment.during.upper))
