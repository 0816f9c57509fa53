"""One leader at a time, and what an older one still tries to write. F08 to F12, F16, F31, F44, Q01, Q02, Q04, Q05."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from berth.common import clock
from scheduling.control.absorb import absorb_observations
from scheduling.control.apply import apply_plan
from scheduling.control.lock import Leadership, rest, take_lead
from scheduling.control.loop import Loop, plan_now
from scheduling.control.retrying import retry_broken_off
from scheduling.models import Job, Lease, Preemption, Role, Run, SchedulerEpoch, Transition
from scheduling.transitions import StaleEpochError
from tests.integration.loop_scene import Scene


def expire_lease() -> None:
    SchedulerEpoch.objects.update(lease_until=clock.wall_now() - timedelta(days=1))


def test_the_epoch_rises_on_take_over_only(committed: None) -> None:
    first = take_lead("a")
    again = take_lead("a")
    refused = take_lead("b")
    expire_lease()
    second = take_lead("b")

    assert first == again == Leadership(1, "a")
    assert refused is None
    assert second == Leadership(2, "b")


def test_between_turns_anybody_may_lead_at_once(committed: None) -> None:
    first = take_lead("a")
    assert first is not None

    rest(first)

    assert take_lead("b") == Leadership(2, "b")


def test_the_children_of_one_worker_lead_in_one_epoch_and_one_at_a_time(committed: None) -> None:
    first = take_lead("worker", turn="child-1")
    assert first is not None

    beside = take_lead("worker", turn="child-2")
    rest(first)
    after = take_lead("worker", turn="child-2")

    assert (beside, after) == (None, Leadership(1, "worker"))


def test_a_turn_that_was_broken_off_is_followed_in_a_new_epoch_also_by_its_sibling(committed: None) -> None:
    """F08, F09: the first may still be writing."""
    take_lead("worker", turn="child-1")
    expire_lease()

    assert take_lead("worker", turn="child-2") == Leadership(2, "worker")


def test_the_probe_names_the_leader_between_turns_and_the_epoch_stands(scene: Scene, client: Client) -> None:
    loops = [Loop(holder="worker:7", process=f"child-{number}") for number in range(3)]

    for loop in loops * 2:
        assert loop.turn() is not None
        told = client.get("/readyz").json()["loop"]
        assert (told["leader"], told["epoch"]) == ("worker:7", 1)


def test_an_older_epochs_plan_changes_nothing(scene: Scene) -> None:
    """F08, F09: the leader was stopped between planning and applying."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8))
    old = take_lead("old")
    assert old is not None
    planned, now = plan_now()
    expire_lease()
    scene.turn()
    runs = Run.objects.count()

    with pytest.raises(StaleEpochError):
        apply_plan(planned, now=now, leadership=old)
    with pytest.raises(StaleEpochError):
        absorb_observations(old, now)

    assert Run.objects.count() == runs == 1
    assert scene.states(job) == ["starting"]


def test_a_decision_about_a_job_that_was_cancelled_meanwhile_is_dropped(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8))
    lead = take_lead("first")
    assert lead is not None
    planned, now = plan_now()
    from scheduling.services.cancel import cancel_job

    cancel_job(job.user, job)
    applied = apply_plan(planned, now=now, leadership=lead)

    assert (applied.started, applied.stale) == ([], [job.pk])
    assert scene.states(job) == ["cancelled"]
    assert Lease.objects.count() == 0


def test_five_cycles_rung_at_once_run_as_one_and_nobody_waits(scene: Scene) -> None:
    """Q05, F10, Q06, Q07."""
    scene.add_nodes(2)
    queue = scene.a_queue(16)
    jobs = [scene.submit(queue) for _ in range(2)]
    begin, turns = threading.Barrier(5, timeout=30), []

    def ring(number: int) -> None:
        with clock.frozen_at(clock.now()):
            begin.wait()
            turns.append(Loop(holder=f"worker-{number}").turn())
        connections.close_all()

    threads = [threading.Thread(target=ring, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert any(turn is not None for turn in turns)
    assert [Run.objects.filter(job=job).count() for job in jobs] == [1, 1]
    assert Transition.objects.filter(subject="job", new="starting").count() == 2
    assert len(scene.pods_there()) == 2


def test_the_same_observation_taken_in_twice_has_one_effect(scene: Scene) -> None:
    """F10, F11."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=5)
    scene.turn()
    scene.pass_time(60)
    scene.look()
    scene.look()
    scene.turn()
    scene.turn()

    assert Transition.objects.filter(job_id=job.pk, subject="run", new="ended").count() == 1


def test_a_job_whose_ring_was_lost_starts_with_the_next_turn(scene: Scene) -> None:
    """Q04, F12: rows are the truth, rings only hurry."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8))

    scene.turn()

    assert scene.states(job) == ["starting"]


def test_fifty_that_fit_alone_never_exceed_the_quota_together(scene: Scene) -> None:
    """Q01."""
    scene.add_nodes(8)
    queue = scene.a_queue(20)
    for _ in range(50):
        scene.submit(queue, cards=4, seconds=None)

    for _ in range(3):
        scene.go_on()

    assert scene.open_cards() == 20


def test_two_tenants_together_never_exceed_the_pool(scene: Scene) -> None:
    """Q02."""
    scene.add_nodes(2)
    for queue in (scene.a_queue(16), scene.a_queue(16)):
        for _ in range(4):
            scene.submit(queue, cards=4, seconds=None)

    for _ in range(3):
        scene.go_on()

    assert scene.open_cards() == 16
    assert Lease.objects.filter(closed_at__isnull=True).values("card").distinct().count() == 16


def test_a_deadlock_is_tried_again_and_then_told(committed: None) -> None:
    """F16."""
    attempts: list[int] = []

    def broken_off() -> None:
        attempts.append(1)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$")

    with pytest.raises(OperationalError):
        retry_broken_off(broken_off)

    assert len(attempts) == 3


def test_a_notice_survives_a_crash_before_the_pod_was_asked(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """F31: the grace is not started again."""
    scene.add_nodes()
    lender, borrower = scene.a_queue(8), scene.a_queue(0, tier="development")
    victim = scene.submit(borrower, seconds=None, labels={"berth.dev/sim-stop-delay": "1000"})
    scene.turn()
    scene.go_on()
    scene.submit(lender, seconds=None)
    scene.pass_time(700)
    lead = take_lead("first")
    assert lead is not None
    planned, now = plan_now()
    apply_plan(planned, now=now, leadership=lead)
    rest(lead)
    record = Preemption.objects.get()

    scene.pass_time(100)
    other = Loop(holder="second")
    assert other.turn() is not None
    pod = scene.pods_there()[f"j{victim.pk}-r1-worker-0"]

    assert Preemption.objects.count() == 1
    assert pod.deletion_at is not None
    assert abs((pod.deletion_at - record.grace_until).total_seconds()) <= 1


@pytest.mark.parametrize("poison", ["no-roles", "unknown-mode"])
def test_a_poison_job_waits_as_planner_fault_and_the_others_go_on(scene: Scene, poison: str) -> None:
    """F44."""
    scene.add_nodes()
    queue = scene.a_queue(16)
    bad = scene.submit(queue, cards=2)
    good = scene.submit(queue, cards=4)
    if poison == "no-roles":
        Role.objects.filter(job=bad).delete()
    else:
        Job.objects.filter(pk=bad.pk).update(topology_mode="sideways")

    for _ in range(4):
        scene.go_on()

    assert scene.states(bad, good) == ["queued", "running"]
    assert bad.wait_reasons.get(until__isnull=True).code == "planner-fault"


def test_a_job_that_makes_the_planner_raise_is_left_out_and_named(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F44."""
    from scheduling.control import planning

    scene.add_nodes()
    queue = scene.a_queue(16)
    bad = scene.submit(queue, cards=2)
    good = scene.submit(queue, cards=4)
    real = planning.run_cycle

    def raises_on_two_cards(snapshot: Any, policy: Any, now_ms: int) -> Any:
        asked = {snapshot.shapes[shape].roles[0].cards_m for shape in snapshot.pending.shape.tolist()}
        if 2000 in asked:
            raise ZeroDivisionError("two cards")
        return real(snapshot, policy, now_ms)

    monkeypatch.setattr(planning, "run_cycle", raises_on_two_cards)

    for _ in range(4):
        scene.go_on()

    bad.refresh_from_db()
    reason = bad.wait_reasons.get(until__isnull=True)
    assert scene.states(bad, good) == ["queued", "running"]
    assert (reason.code, bad.planner_faults) == ("planner-fault", 4)
    assert "two cards" in reason.detail
