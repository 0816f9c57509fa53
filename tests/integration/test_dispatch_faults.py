"""What the loop makes of a cluster that loses answers, refuses, stalls, or cannot be reached. F01, F03 to F07, F20, F37, Q12."""

import os
import threading
from typing import Any

import psycopg
import pytest
from django.db import connection

from berth.common import clock
from scheduling.cluster.faults import FaultKind
from scheduling.cluster.port import RefusalCode
from scheduling.control import dispatch_lane
from scheduling.control.reconcile import reconcile_clusters
from scheduling.models import Job, Transition
from scheduling.services.cancel import cancel_job
from tests.integration.loop_scene import Scene


def names_of(job: Job, run: int = 1, pods: int = 1) -> list[str]:
    return [f"j{job.pk}-r{run}-worker-{index}" for index in range(pods)]


def test_a_create_whose_answer_was_lost_makes_one_gang(scene: Scene) -> None:
    """F03."""
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), replicas=2, seconds=None)
    scene.plan_fault("create_run", FaultKind.LOST_ANSWER)

    scene.turn()
    scene.go_on()
    scene.go_on()

    assert scene.states(job) == ["running"]
    assert sorted(scene.pods_there()) == names_of(job, pods=2)


def test_a_gang_cut_off_in_the_middle_is_completed_under_the_same_names(scene: Scene) -> None:
    """F02."""
    scene.add_nodes(3)
    job = scene.submit(scene.a_queue(24), replicas=3, seconds=None)
    scene.plan_fault("create_run", FaultKind.NEVER_ARRIVED, after=1)

    scene.turn()
    assert len(scene.pods_there()) == 1
    scene.go_on()
    scene.go_on()

    assert scene.states(job) == ["running"]
    assert sorted(scene.pods_there()) == names_of(job, pods=3)


@pytest.mark.parametrize("code", [RefusalCode.QUOTA, RefusalCode.NAMESPACE_TERMINATING])
def test_a_refused_job_waits_with_the_clusters_words_and_blocks_nobody(scene: Scene, code: RefusalCode) -> None:
    """F05, F06."""
    scene.add_nodes()
    queue = scene.a_queue(16)
    refused = scene.submit(queue, cards=4, seconds=None)
    other = scene.submit(queue, cards=4, seconds=None)
    words = "exceeded quota: berth, requested: pods=1"
    scene.plan_fault("create_run", FaultKind.REFUSE, match=f"j{refused.pk}-r1", code=code, message=words)

    scene.turn()
    scene.go_on()

    reason = refused.wait_reasons.get(until__isnull=True)
    assert scene.states(refused, other) == ["queued", "running"]
    assert (reason.code, words in reason.detail) == ("backoff", True)
    assert scene.open_cards() == 4
    scene.go_on(30)
    scene.go_on()
    assert scene.states(refused) == ["running"]


def test_a_gang_refused_in_the_middle_gives_everything_back(scene: Scene) -> None:
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), replicas=2, seconds=None)
    scene.plan_fault("create_run", FaultKind.REFUSE, after=1, code=RefusalCode.QUOTA, message="exceeded quota")

    scene.turn()
    for _ in range(3):
        scene.go_on(6)

    assert scene.run_of(job).number >= 1
    assert job.runs.get(number=1).end_reason == "platform-fault"
    assert all("-r1-" not in name for name in scene.pods_there())


def test_a_throttled_cluster_is_left_alone_for_as_long_as_it_asked(scene: Scene) -> None:
    """F07."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.plan_fault("create_run", FaultKind.REFUSE, code=RefusalCode.THROTTLED, retry_after_s=7)

    scene.turn()
    scene.pass_wall(3)
    scene.turn()
    assert scene.pods_there() == {}
    scene.pass_wall(5)
    scene.turn()
    scene.go_on()

    assert scene.states(job) == ["running"]
    assert scene.run_of(job).number == 1


def test_an_unreachable_cluster_is_tried_again_and_the_decision_stands(scene: Scene) -> None:
    """F07, F01: reserved before the first create."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.plan_fault("create_run", FaultKind.UNREACHABLE, times=2)

    scene.turn()
    assert (scene.states(job), scene.open_cards()) == (["starting"], 8)
    for _ in range(3):
        scene.pass_wall(5)
        scene.turn()
    scene.go_on()

    assert scene.states(job) == ["running"]
    assert scene.run_of(job).number == 1


def test_a_stale_list_makes_no_second_pod_and_ends_no_run(scene: Scene) -> None:
    """F20."""
    scene.add_nodes()
    scene.look()
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.turn()
    scene.go_on(5)
    scene.port.list_pods(timeout_s=2)
    scene.plan_fault("list_pods", FaultKind.STALE, times=3)

    for _ in range(3):
        scene.go_on(5)

    assert scene.states(job) == ["running"]
    assert sorted(scene.pods_there()) == names_of(job)


@pytest.mark.parametrize("kind", [FaultKind.DUPLICATE, FaultKind.REORDER])
def test_duplicated_and_reordered_lists_change_nothing(scene: Scene, kind: FaultKind) -> None:
    """F19."""
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), replicas=2, seconds=20)
    scene.plan_fault("list_pods", kind, times=None)
    scene.plan_fault("watch_pods", kind, times=None)

    scene.turn()
    for _ in range(4):
        scene.go_on(10)

    ended = Transition.objects.filter(job_id=job.pk, subject="job", new="succeeded")
    assert (scene.states(job), ended.count()) == (["succeeded"], 1)


def test_what_an_ended_run_left_behind_is_removed_by_the_sweep(scene: Scene) -> None:
    """F04."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10)
    scene.plan_fault("delete_run", FaultKind.NEVER_ARRIVED)
    scene.turn()
    scene.go_on()
    scene.go_on(20)
    assert names_of(job) == sorted(scene.pods_there())

    drift = reconcile_clusters()

    assert scene.pods_there() == {}
    assert len(drift.removed) == 1


@pytest.mark.parametrize("moment", ["queued", "reserved", "starting", "running", "stopping"])
def test_a_job_cancelled_at_any_moment_leaves_no_pod_and_closes_once(scene: Scene, moment: str) -> None:
    """F37."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None)
    if moment == "reserved":
        scene.plan_fault("create_run", FaultKind.UNREACHABLE)
    if moment != "queued":
        scene.turn()
    if moment in ("running", "stopping"):
        scene.go_on()
    if moment == "stopping":
        Job.objects.filter(pk=job.pk).update(max_runtime_s=1)
        scene.go_on(2)
    cancel_job(job.user, job)

    for _ in range(4):
        scene.pass_wall(10)
        scene.look()
        scene.turn()

    assert scene.states(job) == ["cancelled"]
    assert scene.pods_there() == {}
    assert scene.open_cards() == 0
    assert Transition.objects.filter(job_id=job.pk, subject="job", new="cancelled").count() == 1


def test_no_transaction_is_open_while_a_cluster_is_called(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q12: asked of the server while the cluster stalls."""
    scene.add_nodes()
    scene.submit(scene.a_queue(8), seconds=None)
    monkeypatch.setattr(dispatch_lane, "SLICE_S", 1.5)
    scene.plan_fault("create_run", FaultKind.STALL, seconds=30)
    found: list[Any] = []
    timer = threading.Timer(0.2, lambda: found.append(_open_transactions()))
    original = scene.port.create_run

    def watched(*args: Any, **more: Any) -> Any:
        timer.start()
        return original(*args, **more)

    monkeypatch.setattr(scene.port, "create_run", watched)

    scene.turn()
    timer.join(5)

    assert found == [[]]


def _open_transactions() -> list[tuple[Any, ...]]:
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    with psycopg.connect(f"{server}/{connection.settings_dict['NAME']}", connect_timeout=2) as peer:
        return peer.execute(
            "SELECT pid, state, query FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name = 'berth' AND state LIKE 'idle in transaction%'"
        ).fetchall()


def test_a_forced_end_comes_once_thirty_seconds_after_the_grace(scene: Scene) -> None:
    """F28."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None, labels={"berth.dev/sim-stop-delay": "never"})
    scene.turn()
    scene.go_on()
    cancel_job(job.user, job)
    scene.go_on(1)
    scene.go_on(50)
    assert (scene.states(job), scene.open_cards()) == (["stopping"], 8)

    scene.go_on(15)
    scene.go_on(1)

    run = scene.run_of(job)
    assert scene.states(job) == ["cancelled"]
    assert run.force_deleted_at is not None
    assert scene.open_cards() == 0
    assert clock.now() > run.force_deleted_at
