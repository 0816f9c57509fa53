"""SCH-07: no job waits for ever while later ones take what it could use."""

import pytest

from tests.unit.engine.builders import World, codes, started

HOUR = 3600


@pytest.mark.parametrize(("tier", "limit"), [("production", HOUR), ("development", 6 * HOUR), ("batch", 24 * HOUR)])
def test_a_job_that_waited_longer_than_its_tiers_limit_goes_first_in_its_tier(tier: str, limit: int) -> None:
    world = World(nodes=1).tenant("a", nominal=32).tenant("b", nominal=32).running("r", "a", gpu=4, nodes=["n000"])
    world.pending("old", "a", gpu=4, tier=tier, priority=0, submitted=limit).pending(
        "new", "b", gpu=4, tier=tier, priority=999
    )

    assert set(started(world.plan())) == {"new"}
    assert set(started(world.plan(later=1))) == {"old"}


def test_waiting_counts_from_when_a_job_could_first_have_started() -> None:
    world = (
        World(nodes=1)
        .tenant("a", nominal=8)
        .pending("old", "a", gpu=8, priority=0, submitted=9 * HOUR, eligible_in=-60)
    )

    assert set(started(world.pending("new", "a", gpu=8, priority=1).plan())) == {"new"}


def gang_beside(*, age: float) -> World:
    """A gang of two nodes, one of them busy without a declared end; a small later job wants the idle one."""
    world = World(nodes=2).tenant("a", nominal=32).tenant("b", nominal=32).running("r", "b", gpu=8, nodes=["n000"])
    return world.pending("gang", "a", replicas=2, gpu=8, submitted=age).pending("small", "b", gpu=1)


def test_idle_cards_it_could_use_are_kept_for_a_starved_job() -> None:
    assert set(started(gang_beside(age=HOUR).plan())) == {"small"}
    assert codes(gang_beside(age=7 * HOUR).plan()) == {"gang": "cards-busy", "small": "reserved"}


def test_only_what_it_could_use_is_kept() -> None:
    """A third node is not needed; a lower tier may have it."""
    plan = gang_beside(age=7 * HOUR).node("n002", gpus=4).plan()

    assert started(plan) == {"small": ("n002",)}


def test_nothing_is_kept_for_a_job_that_its_quota_bars() -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", gpu=8, tier="production", nodes=["n000"])
    world.pending("starved", "a", gpu=8, tier="production", submitted=9 * HOUR).pending("small", "b", gpu=1)

    assert set(started(world.plan())) == {"small"}


def test_an_aged_batch_head_goes_ahead_of_development_that_would_borrow_within_a_bound() -> None:
    """10 % of 80 cards."""
    world = World(nodes=10).tenant("a", nominal=72).tenant("b", nominal=8)
    for place in range(9):
        world.running(f"r{place}", "a", gpu=8, nodes=[f"n{place:03d}"])
    world.pending("dev", "b", gpu=8, submitted=10).running("own", "b", cpu=0, nodes=["n000"])
    world.tenant("c", nominal=0).pending("borrower", "c", gpu=8).pending(
        "aged", "b", gpu=8, tier="batch", submitted=25 * HOUR
    )

    assert set(started(world.plan())) == {"dev"}, "development inside nominal still goes first"

    del world.pending_rows["dev"]
    assert set(started(world.plan())) == {"aged"}
    world.pending("aged", "b", replicas=9, gpu=1, tier="batch", submitted=25 * HOUR).pending("borrower", "c", gpu=8)
    assert set(started(world.plan())) == {"borrower"}, "9 cards are beyond the bound"
