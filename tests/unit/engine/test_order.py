"""SCH-04: whose turn is next. One card a time, on nodes where not everybody finds room."""

from dataclasses import replace

import pytest

from scheduling.engine.policy import PRESETS
from tests.unit.engine.builders import World, codes, started


def test_a_higher_tier_is_considered_first() -> None:
    world = World(nodes=1, gpus=1).tenant("a", nominal=1)
    world.pending("batch", "a", gpu=1, tier="batch", priority=900, submitted=900)
    world.pending("dev", "a", gpu=1, tier="development", submitted=500).pending(
        "prod", "a", gpu=1, tier="production", submitted=1
    )

    assert set(started(world.plan())) == {"prod"}


def test_case_37_inside_nominal_goes_before_a_higher_priority_that_must_borrow() -> None:
    world = World(nodes=1, gpus=3).tenant("a", nominal=2).tenant("b", nominal=1)
    world.running("r", "b", gpu=1, nodes=["n000"])

    plan = world.pending("owner", "a", gpu=2, priority=0).pending("borrower", "b", gpu=1, priority=3).plan()

    assert set(started(plan)) == {"owner"}


def test_case_32_two_borrowers_that_fit_alone_are_not_both_admitted() -> None:
    world = World(nodes=2).tenant("lender", nominal=8).tenant("a", nominal=0).tenant("b", nominal=0)

    plan = world.pending("j1", "a", gpu=5, submitted=10).pending("j2", "b", gpu=5, submitted=5).plan()

    assert set(started(plan)) == {"j1"}
    assert codes(plan) == {"j2": "quota-borrow-limit"}


def test_case_44_use_is_charged_within_the_cycle() -> None:
    world = World(nodes=1).tenant("a", nominal=16)

    plan = world.pending("j1", "a", gpu=8).pending("j2", "a", gpu=8).plan()

    assert set(started(plan)) == {"j1"}
    assert codes(plan) == {"j2": "cards-busy"}


def test_the_queue_with_the_lowest_projected_share_goes_first_and_shares_move_with_every_decision() -> None:
    world = World(nodes=1, gpus=4).tenant("a", nominal=4).tenant("b", nominal=4)
    for place in range(4):
        world.pending(f"a{place}", "a", gpu=1, submitted=100 - place).pending(
            f"b{place}", "b", gpu=1, submitted=50 - place
        )

    assert list(started(world.plan())) == ["a0", "b0", "a1", "b1"]


def test_weight_gives_a_larger_part() -> None:
    world = World(nodes=1, gpus=4).tenant("a", nominal=4, weight=3).tenant("b", nominal=4)
    for place in range(4):
        world.pending(f"a{place}", "a", gpu=1).pending(f"b{place}", "b", gpu=1)

    assert sorted(started(world.plan())) == ["a0", "a1", "a2", "b0"]


def test_shares_are_compared_down_the_tree() -> None:
    """A cohort that holds little goes first, although the asking queue in it holds more than its rival elsewhere."""
    world = World(nodes=1).cohort("light", parent="root").cohort("heavy", parent="root")
    world.tenant("a", cohort="light", nominal=4).tenant("b", cohort="heavy", nominal=4).tenant(
        "c", cohort="heavy", nominal=4
    )
    world.running("ra", "a", gpu=2, nodes=["n000"]).running("rb", "b", gpu=1, nodes=["n000"]).running(
        "rc", "c", gpu=4, nodes=["n000"]
    )

    plan = world.pending("ja", "a", gpu=1, submitted=1).pending("jb", "b", gpu=1, submitted=100).plan()

    assert list(started(plan)) == ["ja"]


def test_inside_a_queue_priority_then_submit_then_id() -> None:
    world = World(nodes=1, gpus=3).tenant("a", nominal=3)
    world.pending("late", "a", gpu=1, submitted=1).pending("early", "a", gpu=1, submitted=9)
    world.pending("first", "a", gpu=1, priority=501, submitted=1).pending("twin", "a", gpu=1, submitted=9)

    plan = world.plan()

    assert list(started(plan)) == ["first", "early", "twin"]
    assert plan.order == ("late",)


def test_urgent_jobs_go_before_fairer_queues_but_only_inside_nominal() -> None:
    world = World(nodes=1, gpus=3).tenant("a", nominal=2).tenant("b", nominal=1)
    world.running("ra", "a", gpu=1, nodes=["n000"])

    plan = (
        world.pending("calm", "b", gpu=1, priority=500).pending("urgent", "a", gpu=1, priority=950, submitted=1).plan()
    )
    assert list(started(plan)) == ["urgent", "calm"]

    world.running("rb", "a", gpu=1, nodes=["n000"])
    assert list(started(world.plan())) == ["calm"]


def test_positions_count_jobs_that_accept_a_same_flavor() -> None:
    """SCH-21."""
    world = (
        World(nodes=1, gpus=1)
        .flavor("h800")
        .node("m", gpus=1, flavor="h800")
        .tenant("a", nominal={"a100": 9, "h800": 9})
    )
    world.running("r1", "a", gpu=1, flavors=["a100"], nodes=["n000"]).running(
        "r2", "a", gpu=1, flavors=["h800"], nodes=["m"]
    )
    world.pending("j1", "a", gpu=1, flavors=["a100"], submitted=9).pending(
        "j2", "a", gpu=1, flavors=["h800"], submitted=8
    )
    world.pending("j3", "a", gpu=1, flavors=["a100", "h800"], submitted=7)

    places = {wait.job: (wait.position, wait.cards_ahead_m) for wait in world.plan().waits}

    assert places == {"j1": (1, 0), "j2": (1, 0), "j3": (3, 2000)}


def test_fifo_stops_at_the_first_blocked_job_and_fifo_skip_does_not() -> None:
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", gpu=4, nodes=["n000"]).pending("big", "a", gpu=8, submitted=9).pending(
        "small", "b", gpu=1, submitted=1
    )

    assert codes(world.plan("fifo")) == {"big": "cards-busy", "small": "fair-share"}
    assert set(started(world.plan("fifo-skip"))) == {"small"}


def test_static_quota_lends_nothing() -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", gpu=8, nodes=["n000"]).pending("j", "a", gpu=1)

    assert codes(world.plan("static-quota")) == {"j": "quota-nominal"}
    assert set(started(world.plan())) == {"j"}


def test_a_borrower_steps_back_for_a_nominal_job_behind_a_blocked_head() -> None:
    """Not started now and evicted a second later: 12 in all, 4 held by c, a's head asks for 12 and a's second job for 4 of its own 8."""
    world = World(nodes=4).cohort("root", nominal=4).tenant("a", nominal=8).tenant("c", nominal=0)
    world.running("r", "c", gpu=4, nodes=["n000"]).pending("head", "a", replicas=12, gpu=1, submitted=900)
    world.pending("borrower", "c", gpu=6, submitted=500)
    assert set(started(world.plan())) == {"borrower"}

    plan = world.pending("nominal", "a", gpu=4, submitted=100).plan()

    assert set(started(plan)) == {"nominal"}
    assert not plan.evicts
    assert codes(plan) == {"head": "quota-borrow-limit", "borrower": "quota-borrow-limit"}


@pytest.mark.parametrize("preset", ["fifo", "fifo-skip"])
def test_fifo_goes_by_submit_time_whatever_the_tier_and_priority(preset: str) -> None:
    world = World(nodes=1, gpus=1).tenant("a", nominal=1)
    world.pending("early", "a", gpu=1, tier="batch", priority=0, submitted=9)
    world.pending("late", "a", gpu=1, tier="production", priority=950, submitted=1)

    plan = world.plan(preset)

    assert (list(started(plan)), plan.order) == (["early"], ("late",))


def stepping_back() -> World:
    """As above: the borrower is reached first, a nominal job of a's needs the quota that it would borrow."""
    world = World(nodes=4).cohort("root", nominal=4).tenant("a", nominal=8).tenant("c", nominal=0)
    world.running("r", "c", gpu=4, nodes=["n000"]).pending("head", "a", replicas=12, gpu=1, submitted=900)
    return world.pending("borrower", "c", gpu=6, submitted=500).pending("nominal", "a", gpu=4, submitted=100)


def test_a_borrower_steps_back_also_where_nobody_is_evicted() -> None:
    """SCH-04: nominal goes first whatever the policy says of preemption; without it the loan would last as long as the run."""
    plan = stepping_back().plan(replace(PRESETS["default"], preemption=False))

    assert set(started(plan)) == {"nominal"}


def test_in_a_line_by_submit_time_nobody_steps_back_for_a_later_job() -> None:
    assert set(started(stepping_back().plan("fifo-skip"))) == {"borrower"}
