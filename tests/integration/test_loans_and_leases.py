"""What open leases borrow and what open loans say is one amount, whatever happened between deciding and applying (SCH-03, SCH-16)."""

import pytest
from django.db.models import Sum

from berth.demo.holds import loan_end_ms
from berth.demo.past import Attempt
from scheduling.control.apply import apply_plan
from scheduling.control.lock import take_lead
from scheduling.control.loop import plan_now
from scheduling.engine.plan import LoanOpen, Placement
from scheduling.models import Lease, Loan, Run
from scheduling.services.cancel import cancel_job
from tenants.models import Quota
from tests.integration.loop_scene import Scene


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
