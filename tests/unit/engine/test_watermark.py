"""SCH-15: above the high watermark of a pool that grants more than it has, over-committed work gives way, and only that."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.policy import PRESETS
from tests.unit.engine.builders import NOW_MS, World, codes, evicted, started, wait_of

RELIEVED = {"relieved_ms": NOW_MS - 600_000}


def granted(*, factor: float = 1.25, samples: int = 2, measured: float | None = None, **pool: Any) -> World:
    """Two nodes of 8 cards, granted at 1.25: two tenants of 10, of which 8 each are backed."""
    world = World(nodes=2, measured=measured)
    world.pool("main", factor_ppm=int(factor * 1_000_000), samples_above=samples, **pool)
    return world.tenant("a", nominal=10).tenant("b", nominal=10)


def full(world: World) -> World:
    """a holds 4, b 12, of which 4 are above what backs it: two of development, two of batch."""
    world.running("a1", "a", gpu=4, nodes=["n000"], started=9000)
    world.running("b1", "b", gpu=4, nodes=["n000"], started=9000)
    world.running("b2", "b", gpu=2, nodes=["n001"], started=8000).running(
        "b3", "b", gpu=2, nodes=["n001"], started=7000
    )
    return world.running("b4", "b", gpu=2, tier="batch", nodes=["n001"]).running(
        "b5", "b", gpu=2, tier="batch", nodes=["n001"]
    )


CASES = {
    "batch first, then the newest, until the low watermark": (granted(), {"b4", "b5"}),
    "measured use counts where it is known, and a victim takes its part with it": (granted(measured=0.9), {"b4", "b5"}),
    "measured use below the high watermark: nobody, however much is allocated": (granted(measured=0.8), set()),
    "between the watermarks nobody leaves": (granted(measured=0.85), set()),
    "case 4.9: one sample above does not do it": (granted(samples=1), set()),
    "a pool that grants what it has has no watermark": (granted(factor=1), set()),
    "watermarks of the pool's own": (granted(measured=0.9, high_ppm=950_000), set()),
    "a low watermark of its own": (granted(high_ppm=900_000, low_ppm=880_000), {"b4"}),
}


@pytest.mark.parametrize(("world", "want"), CASES.values(), ids=CASES.keys())
def test_over_committed_work_leaves_above_the_high_watermark(world: World, want: set[str]) -> None:
    """SCH-15, section 4.9."""
    plan = full(world).plan()

    assert set(evicted(plan)) == want
    assert {entry[:2] for entry in evicted(plan).values()} <= {(None, "watermark")}


def test_who_stays_inside_what_backs_them_stays_also_above_the_watermark() -> None:
    world = granted().running("a1", "a", gpu=8, nodes=["n000"]).running("b1", "b", gpu=8, nodes=["n001"])

    assert not world.plan().evicts


def test_production_is_untouched_and_its_tenants_other_work_gives_way() -> None:
    world = granted().running("prod", "b", gpu=8, tier="production", nodes=["n000"], started=10)
    world.running("dev", "b", gpu=4, nodes=["n001"], started=9000).running("a1", "a", gpu=4, nodes=["n001"])

    assert evicted(world.plan()) == {"dev": (None, "watermark", 300)}


def test_after_batch_the_largest_over_quota_share_gives_first() -> None:
    """b is above its whole nominal, c only above what backs it."""
    world = World(nodes=3).pool("main", factor_ppm=1_500_000, samples_above=2, low_ppm=840_000)
    world.tenant("a", nominal=18).tenant("b", nominal=6).tenant("c", nominal=12)
    world.running("b1", "b", gpu=8, nodes=["n000"], started=9000).running(
        "b2", "b", gpu=4, nodes=["n001"], started=9000
    )
    world.running("c1", "c", gpu=8, nodes=["n002"], started=9000).running("c2", "c", gpu=4, nodes=["n001"], started=10)

    assert list(evicted(world.plan())) == ["b2"]


def test_who_has_notice_already_counts_as_gone() -> None:
    """Removal takes a while to show: nobody else leaves meanwhile."""
    world = granted().running("a1", "a", gpu=8, nodes=["n000"])
    world.running("b1", "b", gpu=4, nodes=["n001"]).running("b2", "b", gpu=4, nodes=["n001"], leaving_in=60)

    assert not world.plan().evicts


def test_samples_that_cover_too_little_leave_it_to_what_is_allocated() -> None:
    world = full(granted()).node("n001", measured=0.1)

    assert set(evicted(world.plan())) == {"b4", "b5"}


def test_a_victim_that_uses_nothing_is_spared() -> None:
    """b's batch stands on the node that is idle by its samples: sending it away would lower nothing."""
    world = full(granted(measured=1.0, high_ppm=450_000, low_ppm=400_000)).node("n001", measured=0.0)

    assert set(evicted(world.plan())) == {"b1"}


def test_over_committed_work_waits_while_its_pool_was_just_relieved() -> None:
    """Section 4.9, flapping round the line: what left for the watermark does not come back above it at once."""
    world = (
        granted(samples=0, **RELIEVED)
        .running("a1", "a", gpu=4, nodes=["n000"])
        .running("b1", "b", gpu=8, nodes=["n001"])
    )
    world.pending("over", "b", gpu=2, submitted=90).pending("backed", "a", gpu=2, submitted=60)

    plan = world.plan()

    assert started(plan) == {"backed": ("n000",)}
    wait = wait_of(plan, "over")
    assert (wait.code, wait.detail, wait.short) == ("quota-borrow-limit", "watermark", {"gpu": 2000})
    later = world.plan(replace(PRESETS["default"], watermark_hold_ms=300_000))
    assert set(started(later)) == {"backed", "over"}


def test_over_committed_work_may_start_up_to_the_high_watermark() -> None:
    world = granted(samples=0, **RELIEVED).running("b1", "b", gpu=8, nodes=["n001"])

    plan = world.pending("j1", "b", gpu=4, submitted=90).pending("j2", "b", gpu=2, submitted=60).plan()

    assert set(started(plan)) == {"j1"}, "12 of 16 is below 85 %, 14 is not"
    assert codes(plan) == {"j2": "quota-borrow-limit"}


def test_nothing_over_committed_starts_in_the_cycle_that_relieves_the_pool() -> None:
    plan = full(granted().node("n002")).pending("j", "b", gpu=8, tier="batch").plan()

    assert not evicted(plan), "16 of 24 is not above"
    assert set(started(plan)) == set()
