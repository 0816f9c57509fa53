"""SCH-18: what is kept by hand, by forecast and for `priority` tenants, from whom, and when it is let go."""

from typing import Any

import pytest

from scheduling.engine.invariants import check
from tests.unit.engine.builders import NOW_MS, World, codes, started, wait_of


def quiet(**pool: Any) -> World:
    """Two nodes of 8; a, b and c with 8 nominal each, c a `priority` tenant."""
    world = World(nodes=2).pool("main", **pool).tenant("a", nominal=8).tenant("b", nominal=8).tenant("c", nominal=8)
    return world.queue("c/main", nominal=8, fields={"priority_tenant": True})


def batch(world: World, *, gpu: float = 8, tenant: str = "b", tier: str = "batch") -> World:
    """Two jobs of one card-count: both fit on free cards."""
    world.pending("j1", tenant, gpu=gpu, tier=tier, submitted=90)
    return world.pending("j2", tenant, gpu=gpu, tier=tier, submitted=60)


RESERVED = {
    "other tenants' batch leaves what is reserved": (batch(quiet().reserved("r", queue="a", gpu=8)), {"j1"}),
    "only as much as is reserved": (batch(quiet().reserved("r", queue="a", gpu=5), gpu=6), {"j1"}),
    "its own tenant's batch may take it": (batch(quiet().reserved("r", queue="a", gpu=8), tenant="a"), {"j1", "j2"}),
    "development is not held up": (batch(quiet().reserved("r", queue="a", gpu=8), tier="development"), {"j1", "j2"}),
    "before its window nothing is kept": (batch(quiet().reserved("r", queue="a", gpu=8, ago=-10)), {"j1", "j2"}),
    "after its window nothing is kept": (batch(quiet().reserved("r", queue="a", gpu=8, lasts=0)), {"j1", "j2"}),
    "for a tier, everybody's batch leaves it": (batch(quiet().reserved("r", tier="production", gpu=8)), {"j1"}),
    "for batch itself, batch may take it": (batch(quiet().reserved("r", tier="batch", gpu=8)), {"j1", "j2"}),
    "whole nodes may be kept": (batch(quiet().reserved("r", queue="a", nodes=["n000"])), {"j1"}),
    "what its own took since it began counts": (
        batch(quiet().reserved("r", queue="a", gpu=8).running("r1", "a", gpu=8, nodes=["n000"], started=30), gpu=4),
        {"j1", "j2"},
    ),
    "what its own held before does not": (
        batch(quiet().reserved("r", queue="a", gpu=8).running("r1", "a", gpu=8, nodes=["n000"], started=90), gpu=4),
        set(),
    ),
    "two reservations add up": (
        batch(quiet().reserved("r", queue="a", gpu=8).reserved("s", queue="c", gpu=8)),
        set(),
    ),
}


@pytest.mark.parametrize(("world", "want"), RESERVED.values(), ids=RESERVED.keys())
def test_reserved_cards_are_kept_from_other_tenants_batch(world: World, want: set[str]) -> None:
    """SCH-18."""
    plan = world.plan()

    assert set(started(plan)) == want
    assert set(codes(plan).values()) <= {"reserved", "cards-busy"}


def test_the_wait_says_for_whom_cards_are_kept_and_until_when() -> None:
    world = batch(quiet().reserved("r", queue="a", gpu=12))

    wait = wait_of(world.plan(), "j1")

    assert (wait.code, wait.detail, wait.suggestion) == ("reserved", "reservation", "wait")
    assert (wait.need, wait.have, wait.short) == ({"gpu": 8000}, {"gpu": 4000}, {"gpu": 4000})
    [holder] = wait.holders
    assert (holder.tenant, holder.queue, holder.job, holder.amounts) == ("a", "main", None, {"gpu": 12000})


def test_those_it_was_made_for_start_on_it_in_the_same_cycle() -> None:
    world = batch(quiet().reserved("r", queue="a", gpu=8)).pending("mine", "a", gpu=8)

    assert set(started(world.plan())) == {"mine", "j1"}


def test_batch_that_waited_too_long_keeps_no_reserved_cards_idle() -> None:
    """SCH-07 gives way: the cards are not batch's to keep."""
    world = quiet().reserved("r", queue="a", gpu=16).pending("old", "b", gpu=8, tier="batch", submitted=90_000)

    plan = world.pending("mine", "a", replicas=2, gpu=8).plan()

    assert set(started(plan)) == {"mine"}


FORECASTS = {
    "unused for 15 minutes: let go, and the cards with it": ("forecast", 900, None, ["r"]),
    "not yet": ("forecast", 899, None, []),
    "by hand: kept for its whole window": ("manual", 900, None, []),
    "used: kept": ("forecast", 900, 60, []),
    "used before it began: that was not it": ("forecast", 900, 1000, ["r"]),
}


@pytest.mark.parametrize(("kind", "ago", "ran", "want"), FORECASTS.values(), ids=FORECASTS.keys())
def test_an_unused_forecast_is_released(kind: str, ago: float, ran: float | None, want: list[str]) -> None:
    """Section 4.9, "unused forecast"."""
    world = quiet().reserved("r", queue="a", gpu=12, kind=kind, ago=ago)
    if ran is not None:
        world.running("mine", "a", gpu=1, nodes=["n000"], started=ran)

    plan = world.pending("j", "b", gpu=8, tier="batch").plan()

    assert [(release.reservation, release.why) for release in plan.releases] == [(name, "unused") for name in want]
    assert bool(plan.starts) == bool(want)


FRACTION = {
    "batch of others leaves the part": (batch(quiet(priority_share_ppm=500_000)), {"j1"}),
    "a borrower leaves it": (
        batch(quiet(priority_share_ppm=500_000), tier="development"),
        {"j1"},
    ),
    "what is inside nominal is its tenant's due": (
        batch(quiet(priority_share_ppm=1_000_000), gpu=4, tier="development"),
        {"j1", "j2"},
    ),
    "a priority tenant may take it": (batch(quiet(priority_share_ppm=500_000), tenant="c"), {"j1", "j2"}),
    "what priority tenants hold counts": (
        batch(quiet(priority_share_ppm=500_000).running("r1", "c", gpu=8, nodes=["n000"]), gpu=4),
        {"j1", "j2"},
    ),
    "no part, nothing kept": (batch(quiet()), {"j1", "j2"}),
}


@pytest.mark.parametrize(("world", "want"), FRACTION.values(), ids=FRACTION.keys())
def test_a_pool_keeps_a_part_for_priority_tenants(world: World, want: set[str]) -> None:
    """SCH-18."""
    plan = world.plan()

    assert set(started(plan)) == want
    assert {wait.detail for wait in plan.waits} <= {"priority-share"}


def test_a_place_that_was_kept_for_batch_is_its_own_whatever_was_reserved_since() -> None:
    """SCH-17 before SCH-18: who had to leave for it has paid already. Other batch stays out."""
    world = World(nodes=1, gpus=2).tenant("a", nominal=2).tenant("b", nominal=2)
    world.reserved("window", tier="production", gpu=2).kept("place", "j1", ["n000"])
    world.pending("j1", "b", gpu=1, tier="batch").pending("j2", "b", gpu=1, tier="batch")

    plan = world.plan()

    assert started(plan) == {"j1": ("n000",)}
    assert codes(plan) == {"j2": "reserved"}
    assert check(world.snapshot(), plan, NOW_MS) == ()
