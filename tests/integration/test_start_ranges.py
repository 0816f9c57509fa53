"""Start ranges: stored where they moved, scored when the job starts, never worked out by a request (SCH-21)."""

from datetime import UTC, datetime, timedelta

import pytest

from berth.common import clock
from scheduling.control.forecasting import Forecaster
from scheduling.models import Forecast
from scheduling.selectors.start_ranges import hit_rate
from scheduling.services.submit import submit_job
from tests.factories import a_job, a_lease, a_run
from tests.factories.worlds import World, a_world

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 29, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_full_node(world: World, *, limit_s: int | None) -> None:
    """Somebody holds all eight cards since NOW, with this declared limit."""
    job = a_job(
        world.queue,
        user=world.member,
        state="running",
        gpu=8,
        flavor=world.flavor,
        submitted_at=NOW,
        max_runtime_s=limit_s,
    )
    run = a_run(job, state="running", admitted_at=NOW, started_at=NOW)
    for slot, card in enumerate(world.flavor.nodes.get().cards.all()):
        a_lease(run, card, slot=slot)


def test_a_range_follows_the_declared_limits_of_those_before() -> None:
    world = a_world(nodes=1, nominal=8)
    with clock.frozen_at(NOW):
        a_full_node(world, limit_s=3600)
        job = submit_job(world.member, world.body())

        stored = Forecaster().forecast_if_changed()

    row = Forecast.objects.get(job=job)
    assert stored == 1
    assert row.earliest is not None
    assert row.likely is not None
    assert row.earliest < row.likely <= NOW + HOUR
    assert row.latest == NOW + HOUR


def test_where_nobody_declares_a_run_time_it_cannot_be_told_and_says_why() -> None:
    world = a_world(nodes=1, nominal=8)
    with clock.frozen_at(NOW):
        a_full_node(world, limit_s=None)
        job = submit_job(world.member, world.body())

        Forecaster().forecast_if_changed()

    row = Forecast.objects.get(job=job)
    assert (row.earliest, row.likely, row.latest, row.why_not) == (None, None, None, "no-run-times")


def test_nothing_is_stored_again_while_nothing_changed_or_moved() -> None:
    world = a_world(nodes=1, nominal=8)
    with clock.frozen_at(NOW):
        a_full_node(world, limit_s=3600)
        submit_job(world.member, world.body())
        forecaster = Forecaster()
        forecaster.forecast_if_changed()

        assert forecaster.forecast_if_changed() == 0
        assert Forecaster().forecast_if_changed() == 0

    assert Forecast.objects.count() == 1


@pytest.mark.parametrize(("after", "held"), [(HOUR, True), (3 * HOUR, False)], ids=["inside", "too late"])
def test_a_range_is_scored_when_its_job_starts(after: timedelta, held: bool) -> None:
    world = a_world(nodes=1, nominal=8)
    with clock.frozen_at(NOW):
        a_full_node(world, limit_s=3600)
        job = submit_job(world.member, world.body())
        forecaster = Forecaster()
        forecaster.forecast_if_changed()
        a_run(job, admitted_at=NOW + after)

        forecaster.score()

    assert Forecast.objects.get(job=job).held is held
    assert (hit_rate().held, hit_rate().of) == (int(held), 1)
