"""SCH-04, SCH-27: the order inside a line by submit, by the shortest run time, or by the least service attained."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.policy import PRESETS
from tests.unit.engine.builders import World, started

LINES = {
    "the shortest declared run time first, none declared last, submit among equals": (
        "shortest",
        {"endless": {"submitted": 900}, "long": {"limit": 500, "submitted": 800},
         "short": {"limit": 50, "submitted": 10}, "older": {"limit": 50, "submitted": 20}},
        ["older", "short", "long", "endless"],
    ),
    "the least service attained first, whatever its run time, submit among equals": (
        "attained",
        {"much": {"attained": 9, "limit": 1, "submitted": 900}, "little": {"attained": 0.5, "submitted": 800},
         "new": {"submitted": 10}, "fresh": {"submitted": 20}},
        ["fresh", "new", "little", "much"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("order", "jobs", "want"), LINES.values(), ids=LINES)
def test_a_line_comes_in_the_order_of_the_policy(order: str, jobs: dict[str, dict[str, Any]], want: list[str]) -> None:
    world = World(nodes=1).tenant("a", nominal=8)
    for job, ask in jobs.items():
        world.pending(job, "a", gpu=1, **ask)

    assert list(started(world.plan(replace(PRESETS["default"], order=order)))) == want


def test_shortest_first_is_one_line_over_all_queues_tiers_and_priorities() -> None:
    world = World(nodes=1, gpus=1).tenant("a", nominal=1).tenant("b", nominal=1)
    world.pending("production", "a", gpu=1, limit=60, tier="production", priority=900)

    assert list(started(world.pending("short", "b", gpu=1, limit=50, priority=0).plan("sjf-known"))) == ["short"]


def test_between_queues_the_one_that_holds_less_goes_first_and_a_wide_job_is_not_put_off_for_its_width() -> None:
    """SCH-27: fair across queues first. By the projected share of SCH-05 `narrow` would go before `wide`."""
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "b", gpu=4, nodes=["n000"])
    world.pending("wide", "a", gpu=8, attained=50).pending("narrow", "b", gpu=1, attained=0)

    assert list(started(world.plan(replace(PRESETS["default"], order="attained")))) == ["wide", "narrow"]


def test_nobody_counts_as_starved_where_the_least_served_go_first() -> None:
    """SCH-07: else a line of jobs that all wait long would be a line by submit."""
    day = 86_400
    world = World(nodes=1, gpus=1).tenant("a", nominal=1)
    world.pending("old", "a", gpu=1, attained=2, submitted=9 * day).pending("new", "a", gpu=1, submitted=8 * day)

    assert list(started(world.plan(replace(PRESETS["default"], order="attained")))) == ["new"]
