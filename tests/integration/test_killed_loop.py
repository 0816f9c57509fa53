"""Processes of the loop that are killed, stopped and cut off, for real. F01, F02, F09, F13 to F15, F43, Q10, Q11."""

import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import Count

from berth.common import clock
from scheduling.cluster.faults import FaultKind
from scheduling.control.watching import Watcher
from scheduling.models import Job, Role, RoleFlavor, Run, SchedulerEpoch, Transition
from tests.integration.loop_processes import a_process, forget_the_lease
from tests.integration.loop_scene import Scene

DEADLINE_S = 100


@pytest.fixture
def scene(committed: None) -> Iterator[Scene]:
    """At the real time, so that processes with a clock of their own agree."""
    with Scene.opened(clock.wall_now()) as opened:
        yield opened


def wait_until(what: Callable[[], Any]) -> None:
    """Until `what` holds, at most for the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not what():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.1)


def catch_up(scene: Scene) -> None:
    """The other process lived in real time, the scene's stands still."""
    scene.pass_time((datetime.now(UTC) - clock.now()).total_seconds() + 2)


@pytest.mark.parametrize("made", [None, 1, 2])
def test_a_loop_killed_while_it_creates_pods_leaves_one_whole_gang_to_its_successor(
    scene: Scene, made: int | None
) -> None:
    """F01, F02: kill -9 before the first create, after one of three and after two."""
    scene.add_nodes(3)
    job = scene.submit(scene.a_queue(24), replicas=3, seconds=None)
    scene.plan_fault("create_run", FaultKind.CRASH, after=made)

    with a_process("run_cycle") as killed:
        assert killed.wait(DEADLINE_S) == -signal.SIGKILL
    assert (scene.states(job), scene.open_cards()) == (["starting"], 24)
    assert len(scene.pods_there()) == (made or 0)
    assert scene.loop.turn() is None
    forget_the_lease()
    catch_up(scene)
    scene.turn()
    scene.go_on(2)

    assert scene.states(job) == ["running"]
    assert sorted(scene.pods_there()) == [f"j{job.pk}-r1-worker-{index}" for index in range(3)]
    assert Run.objects.count() == 1


def test_a_leader_that_was_stopped_and_goes_on_writes_nothing(scene: Scene) -> None:
    """F09: SIGSTOP in the middle of dispatch, take-over, SIGCONT."""
    scene.add_nodes()
    queue = scene.a_queue(8)
    jobs = [scene.submit(queue, cards=1, seconds=None) for _ in range(8)]
    scene.plan_fault("create_run", FaultKind.STALL, times=None, seconds=1.5)

    with a_process("run_cycle") as stopped:
        wait_until(lambda: Run.objects.count() == len(jobs))
        stopped.send_signal(signal.SIGSTOP)
        scene.port.faults.clear()
        forget_the_lease()
        catch_up(scene)
        scene.turn()
        scene.go_on(2)
        stopped.send_signal(signal.SIGCONT)
        stopped.wait(DEADLINE_S)

    dispatched = Transition.objects.filter(subject="run", new="starting")
    assert {count for (count,) in dispatched.values("run_id").annotate(n=Count("id")).values_list("n")} == {1}
    assert SchedulerEpoch.objects.get().epoch >= 2
    assert scene.states(*jobs) == ["running"] * len(jobs)
    assert len(scene.pods_there()) == Run.objects.count() == len(jobs)


def test_without_a_broker_the_observer_starts_and_ends_jobs_and_stops_cleanly(scene: Scene) -> None:
    """F13, Q10: nothing but the watch process is there."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=1)

    with a_process("watch") as watching:
        wait_until(lambda: scene.states(job) == ["succeeded"])
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(DEADLINE_S) == 0

    run = Run.objects.get()
    assert run.started_at is not None
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 1


def test_an_observer_whose_connections_are_cut_goes_on(scene: Scene) -> None:
    """F15, Q11: as when PostgreSQL restarts."""
    scene.add_nodes()
    watcher = Watcher()
    watcher.step()
    job = scene.submit(scene.a_queue(8), seconds=None)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    connections["simulated"].close()

    SchedulerEpoch.objects.update(last_cycle_at=None)
    watcher.step()
    watcher.step()

    assert scene.states(job) == ["starting"]


def add_many(scene: Scene, like: Job, count: int) -> None:
    """Jobs beside `like`, each one pod of eight cards."""
    fields = {"tenant": like.tenant, "queue": like.queue, "user": like.user, "name": "many", "tier": like.tier}
    times = {"submitted_at": clock.now(), "order_at": clock.now(), "eligible_at": clock.now()}
    jobs = Job.objects.bulk_create([Job(shape_key="many", **fields, **times) for _ in range(count)], 2_000)
    roles = Role.objects.bulk_create(
        [
            Role(job=job, position=0, name="worker", replicas=1, minimum=1, cards_m=8000, cpu_m=8000, memory_mib=1024, image="x")
            for job in jobs
        ],
        2_000,
    )  # fmt: skip
    RoleFlavor.objects.bulk_create([RoleFlavor(role=role, flavor=scene.flavor, position=0) for role in roles], 2_000)


def test_ten_thousand_waiting_jobs_pass_in_one_bounded_turn(scene: Scene) -> None:
    """F43. The database's statistics say that nothing waits, as they do until autovacuum comes by."""
    scene.add_nodes(4)
    queue = scene.a_queue(32)
    first = scene.submit(queue, cards=8, seconds=None)
    with transaction.atomic():
        add_many(scene, first, 500)
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduling_job, scheduling_role, scheduling_roleflavor, scheduling_jobdependency")
    add_many(scene, first, 9_999)
    began = time.monotonic()

    turn = scene.turn()

    assert time.monotonic() - began < DEADLINE_S
    assert (len(turn.started), turn.waiting) == (4, 9_996)
    assert Run.objects.filter(state="starting").count() == 4
