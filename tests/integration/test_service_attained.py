"""SCH-27: the snapshot says how much card time a job has had, over all its runs, while it waits and while it runs."""

from typing import Any

import pytest

from berth.common import clock
from scheduling.models import Job
from scheduling.selectors.snapshot import load_snapshot
from tests.integration.loop_scene import Scene


def _card_s(table: Any, job: Job) -> float:
    """Card-seconds attained, of a waiting or a running job."""
    return int(table.attained_card_ms[table.ids.index(job.pk)]) / 1000


def test_an_evicted_job_keeps_the_service_it_had_and_adds_to_it_when_it_runs_again(scene: Scene) -> None:
    scene.add_nodes()
    owner, borrower = scene.a_queue(8), scene.a_queue(0, tier="development")
    lent = scene.submit(borrower, cards=4, seconds=None, tier="development")
    scene.turn()
    scene.go_on(2)
    scene.pass_time(600)
    first = scene.run_of(lent)
    scene.submit(owner, seconds=60)
    for _ in range(12):
        scene.go_on(30)
        if scene.states(lent) == ["queued"]:
            break
    leases = list(first.leases.all())
    held_s = sum((lease.closed_at - lease.opened_at).total_seconds() for lease in leases if lease.closed_at is not None)

    assert len(leases) == 4
    assert held_s >= 4 * 600
    assert _card_s(load_snapshot(clock.now()).pending, lent) == pytest.approx(held_s, abs=1)

    scene.pass_time(120)
    for _ in range(12):
        scene.go_on(30)
        if scene.run_of(lent).number == 2 and scene.run_of(lent).started_at is not None:
            break
    scene.pass_time(100)
    now = clock.now()
    began = scene.run_of(lent).started_at
    assert began is not None
    want = held_s + 4 * (now - began).total_seconds()
    assert _card_s(load_snapshot(now).running, lent) == pytest.approx(want, abs=1)
