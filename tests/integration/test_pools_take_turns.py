"""SCH-27 in the loop: in a pool with the option jobs that write checkpoints take turns, elsewhere nobody is displaced; what it costs."""

from decimal import Decimal
from itertools import pairwise
from typing import Any

from django.utils.translation import override

from berth.common import clock
from berth.common.reasons import preempt_message, suggestion_message
from billing.services.costs import record_costs
from scheduling.models import Job, Loan, Preemption, WaitReason
from scheduling.selectors.snapshot import load_snapshot
from tenants.models import Queue
from tests.factories import a_flavor, a_node, a_pool, a_queue, a_quota, a_tenant
from tests.integration.loop_scene import Scene
from tests.integration.test_bill_of_elastic_jobs import card_seconds, price

QUANTUM_S = 600


def take_turns(scene: Scene) -> None:
    pool = scene.flavor.pool
    pool.time_sharing, pool.quantum_s = True, QUANTUM_S
    pool.save(update_fields=["time_sharing", "quantum_s"])


def endless(scene: Scene, queue: Queue, **fields: Any) -> Job:
    """A job of a whole node that writes checkpoints and goes on until it is stopped."""
    return scene.submit(queue, **{"seconds": None, "tier": "development", "checkpoint_path": "/ckpt", **fields})


def waits(job: Job) -> str:
    """Why the job waits now."""
    return str(WaitReason.objects.get(job=job, until__isnull=True).code)


def who_runs(scene: Scene, jobs: list[Job], *, minutes: int) -> list[tuple[int, int]]:
    """(minute, place of the job) of every change of who runs, as long as exactly one does."""
    seen: list[tuple[int, int]] = []
    for minute in range(minutes):
        scene.go_on(60)
        states = scene.states(*jobs)
        assert states.count("running") <= 1
        if "running" in states and (not seen or seen[-1][1] != states.index("running")):
            seen.append((minute, states.index("running")))
    return seen


def test_two_jobs_alternate_by_the_quantum_and_nobody_is_displaced_elsewhere(scene: Scene) -> None:
    take_turns(scene)
    quiet = a_flavor(pool=a_pool(cluster=scene.cluster))
    a_node(flavor=quiet)
    scene.add_nodes()
    queue = scene.a_queue(8, tier="development")
    elsewhere = a_queue(tenant=a_tenant(cohort=scene.cohort), pool=quiet.pool, default_tier="development")
    a_quota(elsewhere, flavor=quiet, nominal=8)
    jobs = [endless(scene, queue) for _ in range(2)]
    scene.flavor, of_turns = quiet, scene.flavor
    others = [endless(scene, elsewhere) for _ in range(2)]
    scene.flavor = of_turns
    scene.turn()

    changes = who_runs(scene, jobs, minutes=42)

    assert [place for _, place in changes] == [0, 1, 0, 1]
    turns = [later - earlier for (earlier, _), (later, _) in pairwise(changes)]
    assert all(QUANTUM_S // 60 <= minutes <= QUANTUM_S // 60 + 2 for minutes in turns)
    taken = Preemption.objects.order_by("pk").values_list("job", "for_job", "reason")
    first, second = (job.pk for job in jobs)
    assert [*taken] == [(first, second, "time-share"), (second, first, "time-share"), (first, second, "time-share")]
    assert scene.states(*others) == ["running", "queued"]
    assert waits(others[1]) != "kept-for-preempted"


def test_a_job_without_checkpoints_gives_no_turn_and_takes_none(scene: Scene) -> None:
    take_turns(scene)
    scene.add_nodes(2)
    queue = scene.a_queue(16, tier="development")
    stays, gives = endless(scene, queue, checkpoint_path=""), endless(scene, queue)
    scene.turn()
    mute = endless(scene, queue, checkpoint_path="")
    for _ in range(15):
        scene.go_on(60)
    assert (scene.states(stays, gives, mute), Preemption.objects.count()) == (["running", "running", "queued"], 0)

    endless(scene, queue)
    scene.go_on(60)

    assert Preemption.objects.get().job_id == gives.pk
    assert load_snapshot(clock.now()).pending.checkpoints.tolist() == [False, True]


def test_a_turn_ends_with_grace_that_costs_nothing_and_the_job_is_told_why(scene: Scene) -> None:
    """BIL-05: 8 cards from 0 to the notice; what runs after it is grace."""
    take_turns(scene)
    scene.add_nodes()
    queue = scene.a_queue(8, tier="development")
    first = endless(scene, queue, labels={"berth.dev/sim-stop-delay": "90"})
    price(scene, first, own="9.00", borrowed="4.50")
    scene.turn()
    scene.go_on(5)
    second = endless(scene, queue)
    scene.turn()
    began = scene.run_of(first).started_at
    assert began is not None
    scene.pass_time(QUANTUM_S)
    scene.look()
    scene.turn()
    preemption = Preemption.objects.get()
    assert (preemption.reason, scene.states(first, second)) == ("time-share", ["stopping", "queued"])
    assert waits(second) == "kept-for-preempted"
    assert (preemption.grace_until - preemption.notice_at).total_seconds() == 300
    held_s = int((preemption.notice_at - began).total_seconds())

    for _ in range(4):
        scene.go_on(30)
    record_costs([first.pk])

    assert scene.states(first, second) == ["queued", "running"]
    assert card_seconds(first) == {("billable", False): 8 * held_s, ("grace", False): 8 * 90}
    assert Job.objects.get(pk=first.pk).cost_amount == (Decimal("9.00") * 8 * held_s / 3600).quantize(Decimal("0.01"))
    wait = WaitReason.objects.get(job=first, until__isnull=True)
    assert (wait.code, wait.suggestion) == ("quota-borrow-limit", "take-turn"), (
        "the other holds all of the queue's quota"
    )
    assert wait.hint["before"] >= (began.timestamp() + QUANTUM_S) * 1000
    with override("zh-hans"):
        assert "轮到它" in suggestion_message(wait.suggestion, wait.hint)
        assert preempt_message(preemption.reason, held={"gpu": 8000}) != preempt_message(
            "fair-share", held={"gpu": 8000}
        )


def test_a_borrowed_turn_gives_its_loan_back_and_the_next_one_opens_its_own(scene: Scene) -> None:
    """SCH-16: two tenants borrow the same cards of a third in turns."""
    take_turns(scene)
    scene.add_nodes()
    scene.a_queue(8)
    borrowers = [scene.a_queue(0, tier="development") for _ in range(2)]
    jobs = [endless(scene, queue) for queue in borrowers]
    scene.turn()

    changes = who_runs(scene, jobs, minutes=16)

    assert [place for _, place in changes] == [0, 1]
    loans = [(loan.run.job_id, loan.amount_m, loan.why, loan.ended_at is None) for loan in Loan.objects.order_by("pk")]
    assert loans == [(jobs[0].pk, 8000, "returned", False), (jobs[1].pk, 8000, "", True)]
