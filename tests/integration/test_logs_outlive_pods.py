"""What a pod wrote is there while it runs, after it is gone, and for every run of its job; what is not there says why."""

from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import InMemoryStorage, storages

from scheduling.cluster.faults import FaultKind
from scheduling.control.job_logs import JobLog, read_job_log
from scheduling.control.reconcile import reconcile_clusters
from scheduling.control.sweep import sweep
from scheduling.models import Job, PodLog
from scheduling.selectors.job_logs import choose_log
from tests.integration.loop_scene import Scene


def log_of(job: Job, *, tail: int = 100, **which: Any) -> JobLog:
    return read_job_log(choose_log(Job.objects.get(pk=job.pk), **which), tail=tail)


def test_a_log_is_read_from_the_cluster_while_the_pod_runs_and_from_the_store_afterwards(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), cards=4, replicas=2, seconds=60)
    assert log_of(job).why == "not-started"

    scene.turn()
    scene.go_on()
    running = log_of(job, rank=1)
    scene.go_on(120)
    ended = log_of(job, rank=1)

    assert (running.state, running.whole) == ("live", False)
    assert (ended.state, ended.whole, ended.cut) == ("kept", True, False)
    assert scene.pods_there() == {}
    assert ended.text.startswith(running.text)
    assert "ended, exit code 0" in ended.text.splitlines()[-1]
    assert log_of(job, rank=1, tail=1).text == ended.text.splitlines()[-1] + "\n"
    assert log_of(job, rank=1, tail=1).cut


def test_a_log_that_was_asked_for_just_before_its_pod_was_removed_is_found_in_the_store(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10)
    scene.turn()
    scene.go_on()
    before = choose_log(Job.objects.get(pk=job.pk))
    scene.go_on(60)
    scene.go_on()
    assert scene.pods_there() == {}
    scene.plan_fault("read_logs", FaultKind.UNREACHABLE)

    found = read_job_log(before, tail=100)

    assert (found.state, found.whole) == ("kept", True)


def test_every_run_of_a_preempted_job_keeps_its_own_log(scene: Scene) -> None:
    scene.add_nodes()
    lender, borrower = scene.a_queue(8), scene.a_queue(0, tier="development", borrowing_limit=8000)
    job = scene.submit(borrower, seconds=1_000, labels={"berth.dev/sim-stop-delay": "5"})
    scene.turn()
    scene.go_on()
    scene.submit(lender, seconds=30)
    for _ in range(8):
        scene.go_on(10)

    job.refresh_from_db()
    assert job.runs_count >= 1
    first = log_of(job, run=1)
    assert (first.state, first.whole) == ("kept", True)
    assert "asked to stop within" in first.text


def test_a_pod_that_failed_is_shown_first(scene: Scene) -> None:
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10, max_restarts=0, labels={"berth.dev/sim-outcome": "gpu-oom"})

    scene.turn()
    scene.go_on()
    scene.go_on(60)
    scene.go_on(60)

    assert "CUDA out of memory" in log_of(job).text


def test_a_full_store_costs_the_log_and_nothing_else(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """F42."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10)
    scene.turn()
    scene.go_on()

    def full(*_arguments: object, **_options: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(InMemoryStorage, "_save", full)
    scene.go_on(60)

    assert scene.states(job) == ["succeeded"]
    assert scene.pods_there() == {}
    found = log_of(job)
    assert (found.state, found.why, found.message) == ("none", "store", "No space left on device")


def test_a_cluster_that_does_not_answer_is_told_as_that(scene: Scene) -> None:
    """F27."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=600)
    scene.turn()
    scene.go_on()
    scene.plan_fault("read_logs", FaultKind.UNREACHABLE)

    assert log_of(job).why == "unreachable"
    assert log_of(job).state == "live"


def test_a_run_that_is_removed_by_the_sweep_keeps_its_log_too(scene: Scene) -> None:
    """F04."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=10)
    scene.turn()
    scene.go_on()
    scene.plan_fault("read_run", FaultKind.UNREACHABLE, times=None, match=f"j{job.pk}-r1")
    scene.go_on(60)
    PodLog.objects.all().delete()
    assert scene.pods_there()

    reconcile_clusters()

    assert scene.pods_there() == {}
    assert log_of(job).state == "kept"


def test_a_tenant_keeps_its_newest_logs_within_its_room(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.add_nodes()
    queue, other = scene.a_queue(8), scene.a_queue(0, tier="development", borrowing_limit=8000)
    jobs = [scene.submit(queue, cards=1, seconds=10) for _ in range(3)]
    spared = scene.submit(other, cards=1, seconds=10)
    scene.turn()
    scene.go_on()
    scene.go_on(60)
    newest = PodLog.objects.filter(pod__run__job=jobs[2]).get()
    monkeypatch.setattr(settings, "BERTH_TENANT_LOGS_BYTES", newest.size + 1)
    oldest = PodLog.objects.filter(pod__run__job=jobs[0]).get().path

    assert sweep().logs_dropped == 2

    assert [log_of(job).why for job in (*jobs, spared)] == ["dropped", "dropped", "", ""]
    assert not storages["logs"].exists(oldest)
