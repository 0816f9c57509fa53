"""How often rings turn the loop, and what a turn writes although nothing changed. Q05, F12."""

from datetime import datetime, timedelta

import pytest
from django.db.models.functions import Now

from scheduling import tasks
from scheduling.control.forecasting import Forecaster
from scheduling.models import Cycle, CycleOrder, SchedulerEpoch
from tests.integration.loop_scene import Scene


@pytest.fixture(autouse=True)
def own_loop(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_loop", lambda: scene.loop)


def last_turn(*, took_ms: int, ago_s: float) -> None:
    """Make it so: by the database's clock, as the loop notes it."""
    Cycle.objects.update(duration_ms=took_ms)
    SchedulerEpoch.objects.update(last_cycle_at=Now() - timedelta(seconds=ago_s))


def test_a_burst_of_rings_turns_the_loop_once(scene: Scene) -> None:
    for _ring in range(5):
        tasks.cycle()

    assert Cycle.objects.count() == 1


def test_a_ring_starts_what_waits_once_the_loop_has_rested_as_long_as_its_last_turn_took(scene: Scene) -> None:
    scene.add_nodes(1)
    tasks.cycle()
    job = scene.submit(scene.a_queue(8))

    last_turn(took_ms=700, ago_s=0.1)
    tasks.cycle()
    assert scene.states(job) == ["queued"]

    last_turn(took_ms=250, ago_s=0.3)
    tasks.cycle()
    assert scene.states(job) == ["starting"]


def test_after_a_long_turn_the_loop_rests_less_than_a_period(scene: Scene) -> None:
    tasks.cycle()

    last_turn(took_ms=9_000, ago_s=0.9)
    tasks.cycle()

    assert Cycle.objects.count() == 2


def test_the_order_is_written_when_it_changes_and_only_then(scene: Scene) -> None:
    scene.add_nodes(1)
    queue = scene.a_queue(8)
    scene.submit(queue)
    first = scene.submit(queue)
    scene.turn()
    written = CycleOrder.objects.get()
    scene.turn()
    unchanged = CycleOrder.objects.get()
    second = scene.submit(queue)
    scene.turn()
    changed = CycleOrder.objects.get()

    assert (written.job_ids, unchanged.job_ids, changed.job_ids) == ([first.pk], [first.pk], [first.pk, second.pk])
    assert written.cycle_id == unchanged.cycle_id < changed.cycle_id


def test_a_forecast_that_took_long_is_not_made_again_at_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten seconds for one: none for the next three minutes, although something changed."""
    queue = scene.a_queue(8)
    forecaster = Forecaster()
    scene.submit(queue)
    scene.loop.turn()
    store = forecaster._store_all

    def slowly(now: datetime) -> int:
        scene.pass_wall(10)
        return store(now)

    monkeypatch.setattr(forecaster, "_store_all", slowly)
    assert forecaster.forecast_if_changed() == 1

    scene.submit(queue)
    scene.loop.turn()
    scene.pass_wall(180)
    assert forecaster.forecast_if_changed() == 0

    scene.pass_wall(11)
    assert forecaster.forecast_if_changed() == 1
