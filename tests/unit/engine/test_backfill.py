"""SCH-08: EASY backfill over nodes and quota."""

import pytest

from scheduling.engine.policy import Policy
from tests.unit.engine.builders import World, codes, start_of, started, wait_of


def blocked_head(*, limit: float | None = 600) -> World:
    """Two nodes: one free, one busy for another 600 s (or without a declared end). The head needs both."""
    world = World(nodes=2).tenant("a", nominal=64).tenant("b", nominal=64)
    world.running("r", "b", gpu=8, nodes=["n000"], started=600, limit=None if limit is None else 600 + limit)
    return world.pending("head", "a", replicas=2, gpu=8, submitted=900, priority=600)


def test_the_head_is_promised_the_earliest_time_that_declared_limits_allow() -> None:
    plan = blocked_head().plan()

    assert wait_of(plan, "head").reserved_start_ms == 1_000_600_000
    (reserve,) = plan.reserves
    assert (reserve.kind, reserve.job, reserve.from_ms, reserve.nodes) == (
        "backfill",
        "head",
        1_000_600_000,
        ("n000", "n001"),
    )


@pytest.mark.parametrize(
    ("limit", "want"), [(600, {"late"}), (601, set()), (None, set())], ids=["ends in time", "too long", "no limit"]
)
def test_case_81_a_later_job_passes_only_if_it_ends_before_by_its_own_declared_limit(
    limit: float | None, want: set[str]
) -> None:
    plan = blocked_head().pending("late", "a", gpu=1, limit=limit).plan()

    assert set(started(plan)) == want
    if want:
        assert start_of(plan, "late").backfilled
    else:
        assert codes(plan)["late"] == "reserved"


def test_a_later_job_that_touches_nothing_reserved_passes_without_a_limit() -> None:
    plan = blocked_head().node("n002", gpus=4).pending("late", "a", gpu=4).plan()

    assert started(plan) == {"late": ("n002",)}


def test_what_a_head_leaves_of_its_nodes_may_be_used() -> None:
    world = World(nodes=1).tenant("a", nominal=64).running("r", "a", gpu=6, nodes=["n000"], started=100, limit=200)
    world.pending("head", "a", gpu=4, priority=600)

    assert set(started(world.pending("two", "a", gpu=2).plan())) == {"two"}


def test_a_head_without_a_finite_time_has_no_reservation_and_later_jobs_pass() -> None:
    plan = blocked_head(limit=None).pending("late", "a", gpu=1).plan()

    assert set(started(plan)) == {"late"}
    assert wait_of(plan, "head").reserved_start_ms is None


def test_quota_is_reserved_too() -> None:
    """Cards abound; the head waits for quota that a run gives back, and a later borrower must not take it."""
    world = World(nodes=4).tenant("a", nominal=0).tenant("b", nominal=0).tenant("c", nominal=16)
    world.running("r", "a", gpu=8, nodes=["n000"], started=100, limit=700).pending(
        "head", "a", replicas=2, gpu=8, submitted=900
    )

    assert codes(world.pending("late", "b", gpu=4, tier="batch").plan())["late"] == "reserved"
    assert set(started(world.pending("late", "b", gpu=4, tier="batch", limit=600).plan())) == {"late"}


def test_four_blocked_jobs_of_a_pool_get_a_reservation() -> None:
    world = World(nodes=1).tenant("a", nominal=64).running("r", "a", gpu=8, nodes=["n000"], started=10, limit=100)
    for place in range(6):
        world.pending(f"j{place}", "a", gpu=8, limit=50)

    promised = [wait.reserved_start_ms for wait in world.plan().waits if wait.reserved_start_ms is not None]

    assert promised == [1_000_090_000, 1_000_140_000, 1_000_190_000, 1_000_240_000]


def test_the_number_of_heads_is_a_policy() -> None:
    world = blocked_head().pending("late", "a", gpu=1)

    assert set(started(world.plan(Policy(backfill_heads=0)))) == {"late"}


def test_a_leaving_run_counts_as_gone_at_its_deadline() -> None:
    world = World(nodes=1).tenant("a", nominal=64).running("r", "a", gpu=8, nodes=["n000"], leaving_in=77)

    assert wait_of(world.pending("j", "a", gpu=8, tier="batch").plan(), "j").reserved_start_ms == 1_000_077_000


def test_an_overdue_run_is_expected_to_end_now() -> None:
    world = World(nodes=1).tenant("a", nominal=64).running("r", "a", gpu=8, nodes=["n000"], started=900, limit=100)

    assert wait_of(world.pending("j", "a", gpu=8).plan(), "j").reserved_start_ms == 1_000_000_000


def test_a_run_that_has_notice_ends_by_its_own_limit_where_that_comes_first() -> None:
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", gpu=8, nodes=["n000"], started=100, limit=200, leaving_in=250)

    plan = world.pending("head", "b", gpu=8, tier="batch").plan()

    assert wait_of(plan, "head").reserved_start_ms == 1_000_100_000


def test_where_nobody_may_borrow_a_later_job_does_not_take_the_nominal_that_a_head_is_promised() -> None:
    """Of nominal 3 the head needs all when `short` has ended; cards would be there for both."""
    world = World(nodes=1).tenant("a", nominal=3).tenant("b", nominal=5)
    world.running("short", "a", gpu=2, nodes=["n000"], started=100, limit=200)
    world.pending("head", "a", gpu=3, submitted=900).pending("late", "a", gpu=1)

    plan = world.plan("static-quota")

    assert wait_of(plan, "head").reserved_start_ms == 1_000_100_000
    assert codes(plan)["late"] == "reserved"
