"""SCH-27 as the option of a pool, beside all other rules of the default policy: who takes part, and what guards against flapping."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.invariants import check
from scheduling.engine.plan import Plan
from scheduling.engine.policy import PRESETS
from scheduling.engine.time_share import MOST_TURNS
from scheduling.engine.vocabulary import PreemptReason
from tests.unit.engine.builders import NOW_MS, World, codes, evicted, started, wait_of

HOUR = 3600
OLD: dict[str, Any] = {"attained": 4, "submitted": 9 * HOUR, "started": HOUR, "checkpoint": 60}
"""A run that writes checkpoints and whose quantum is over."""
NEW: dict[str, Any] = {"checkpoint": 60}
"""A waiting job that would write some."""


def sharing(quantum_s: int = 1800, **node: Any) -> World:
    return World(**{"nodes": 1, "gpus": 1, **node}).pool("main", time_sharing=True, quantum_ms=quantum_s * 1000)


def planned(world: World, **more: Any) -> Plan:
    """By the default policy; no plan breaks an invariant."""
    plan = world.plan(**more)
    assert check(world.snapshot(), plan) == ()
    return plan


TURNS = {
    "one that has had less takes the turn of one that has had more": ({}, {}, True),
    "not before the quantum": ({"started": 1799}, {}, False),
    "as soon as the quantum is over": ({"started": 1800}, {}, True),
    "not one that has had as much": ({}, {"attained": 4}, False),
    "a run that writes no checkpoints keeps its card": ({"checkpoint": None}, {}, False),
    "a job that would not give its turn takes none": ({}, {"checkpoint": None}, False),
    "production never loses its turn": ({"tier": "production"}, {"tier": "production"}, False),
    "production takes none": ({"tier": "batch", "attained": 9}, {"tier": "production"}, False),
    "not across tiers": ({"tier": "development"}, {"tier": "batch"}, False),
    "batch takes turns from batch": ({"tier": "batch"}, {"tier": "batch"}, True),
    "one that is leaving gets no second notice": ({"leaving_in": 30}, {}, False),
    "a higher priority of the same queue keeps its turn": ({"priority": 501}, {}, False),
}  # fmt: skip


@pytest.mark.parametrize(("run", "ask", "want"), TURNS.values(), ids=TURNS)
def test_who_takes_whose_turn(run: dict[str, Any], ask: dict[str, Any], want: bool) -> None:
    run, ask = (
        {key: value for key, value in row.items() if value is not None} for row in ({**OLD, **run}, {**NEW, **ask})
    )
    elsewhere = run.get("tier") == "batch" and ask.get("tier") == "production"
    world = sharing().tenant("a").tenant("b").running("r", "b" if elsewhere else "a", gpu=1, nodes=["n000"], **run)

    plan = planned(world.pending("j", "a", gpu=1, **ask))

    grace = 30 if run.get("tier") == "batch" else 300
    assert evicted(plan) == ({"r": ("j", "time-share", grace)} if want else {})
    if want:
        assert codes(plan)["j"] == "kept-for-preempted"


def test_a_pool_without_the_option_displaces_nobody() -> None:
    world = sharing().flavor("h800", pool="quiet").pool("quiet").node("q0", gpus=1, flavor="h800", pool="quiet")
    world.tenant("a").queue("a/quiet", pool="quiet")
    for run, queue, node, flavor in (("r", "a/main", "n000", "a100"), ("q", "a/quiet", "q0", "h800")):
        world.running(run, queue, gpu=1, nodes=[node], flavors=[flavor], **OLD)
        world.pending(f"after-{run}", queue, gpu=1, **NEW)

    assert evicted(planned(world)) == {"r": ("after-r", "time-share", 300)}


def test_a_pools_own_quantum_goes_before_the_policys() -> None:
    """The preset `time-shared` has 10 minutes."""
    world = sharing(quantum_s=HOUR).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **{**OLD, "started": HOUR - 1})
    world.pending("j", "a", gpu=1, **NEW)

    assert evicted(world.plan("time-shared")) == {}
    assert set(evicted(world.plan("time-shared", later=1))) == {"r"}


def test_the_restart_is_paid_before_the_quantum_counts() -> None:
    world = sharing().tenant("a").running("r", "a", gpu=1, nodes=["n000"], **{**OLD, "started": 1829})
    world.pending("j", "a", gpu=1, **NEW)
    policy = replace(PRESETS["default"], restart_cost_ms=30_000)

    assert evicted(world.plan(policy)) == {}
    assert set(evicted(world.plan(policy, later=1))) == {"r"}


def test_one_that_had_a_turn_before_does_not_stand_in_the_way_of_one_that_had_none() -> None:
    """The line stands by submit: the first in it has had more than who runs, the second nothing."""
    world = sharing().tenant("a").running("r", "a", gpu=1, nodes=["n000"], **OLD)
    world.pending("had", "a", gpu=1, **{**OLD, "attained": 5}).pending("none", "a", gpu=1, **NEW)

    plan = planned(world)

    assert evicted(plan) == {"r": ("none", "time-share", 300)}
    assert codes(plan) == {"had": "cards-busy", "none": "kept-for-preempted"}


def test_on_free_cards_the_line_stays_what_it_is() -> None:
    """SCH-04: priority, submit; nobody is displaced where there is room."""
    world = sharing(gpus=2).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **OLD)
    world.pending("first", "a", gpu=1, **{**OLD, "attained": 5})

    plan = planned(world)

    assert (set(started(plan)), evicted(plan)) == ({"first"}, {})


def two_borrowers(started: float) -> World:
    """`b` borrows two cards for the time given, `a` waits to borrow one."""
    world = sharing(gpus=3).tenant("a", nominal=0).tenant("b", nominal=0).tenant("c", nominal=3)
    for run in ("r1", "r2"):
        world.running(run, "b", gpu=1, nodes=["n000"], **{**OLD, "started": started, "borrowed": 1})
    world.running("r3", "b", gpu=1, nodes=["n000"], tier="batch", **{**OLD, "started": 60, "borrowed": 1})
    return world.pending("j", "a", gpu=1, **NEW)


def test_fair_sharing_spares_a_run_that_has_its_turn() -> None:
    """SCH-17: what a turn gave is not taken back before the quantum is over, though the minimum run time is."""
    assert evicted(planned(two_borrowers(started=1700))) == {}
    assert {reason for _, reason, _ in evicted(planned(two_borrowers(started=1800))).values()} == {"fair-share"}


def test_nominal_is_taken_back_whatever_the_turn() -> None:
    world = sharing().tenant("a", nominal=1).tenant("b", nominal=0)
    world.running("r", "b", gpu=1, nodes=["n000"], **{**OLD, "started": 60, "borrowed": 1}).pending(
        "j", "a", gpu=1, **NEW
    )

    assert evicted(planned(world)) == {"r": ("j", "reclaim-nominal", 300)}


def test_no_pair_of_queues_flaps() -> None:
    """SCH-17: a queue that lost a turn to another a moment ago does not take it back from it."""
    world = sharing(quantum_s=60).tenant("a").tenant("b")
    world.running("r", "b", gpu=1, nodes=["n000"], **{**OLD, "started": 61}).pending("j", "a", gpu=1, **NEW)
    world.evicted("b", "a", "j", ago=300)

    assert evicted(planned(world)) == {}
    assert set(evicted(planned(world, later=301))) == {"r"}


def test_who_had_turns_does_not_count_as_starved() -> None:
    """SCH-07: its submit is hours ago, but it has run since; idle cards that it cannot use are not kept idle for it."""
    world = sharing(gpus=2).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **{**OLD, "started": 60})
    world.pending("wide", "a", gpu=2, **OLD).pending("narrow", "a", gpu=1, **NEW)

    assert set(started(planned(world))) == {"narrow"}


SOON = 600
"""Seconds from now to the end of the turn of a run that started 20 minutes ago."""
ADVICE: dict[str, tuple[dict[str, Any], dict[str, Any], int | None]] = {
    "when the turn of who runs is over": ({}, {}, SOON),
    "one that had more card time has to wait until the other has had as much": ({"attained": 3.75}, {"attained": 4}, 900),
    "not a job that takes no turns": ({}, {"checkpoint": None}, None),
    "not where nobody gives a turn": ({"tier": "production"}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("run", "ask", "want"), ADVICE.values(), ids=ADVICE)
def test_who_waits_is_told_when_its_turn_may_come(run: dict[str, Any], ask: dict[str, Any], want: int | None) -> None:
    """SCH-21."""
    ask = {key: value for key, value in {**NEW, **ask}.items() if value is not None}
    world = sharing().tenant("a").running("r", "a", gpu=1, nodes=["n000"], **{**OLD, "started": 1200, **run})

    wait = wait_of(planned(world.pending("j", "a", gpu=1, **ask)), "j")

    assert wait.code == "cards-busy"
    if want is None:
        assert wait.suggestion == "wait"
    else:
        assert (wait.suggestion, wait.hint["before"] // 1000) == ("take-turn", NOW_MS // 1000 + want)


def test_in_one_cycle_turns_are_taken_for_so_many_jobs_and_for_the_others_in_the_next() -> None:
    count = MOST_TURNS + 3
    world = sharing(nodes=count).tenant("a")
    for place in range(count):
        world.running(f"r{place:02d}", "a", gpu=1, nodes=[f"n{place:03d}"], **OLD)
        world.pending(f"j{place:02d}", "a", gpu=1, **NEW)

    plan = planned(world)

    assert len(evicted(plan)) == MOST_TURNS
    assert sorted(codes(plan).values()).count("cards-busy") == 3


def test_nobody_moves_where_a_pool_takes_turns() -> None:
    """Pods cannot go on elsewhere: moves are of replays."""
    world = sharing(nodes=2, gpus=2).tenant("a")
    for node in (0, 1):
        world.running(f"r{node}", "a", gpu=1, nodes=[f"n00{node}"], **{**OLD, "attained": 0})

    plan = planned(world.pending("j", "a", gpu=2, **{**NEW, "attained": 1}))

    assert (plan.moves, evicted(plan)) == ((), {})


def test_a_turn_taken_from_another_tier_or_without_checkpoints_breaks_an_invariant() -> None:
    """SCH-23."""
    world = sharing().tenant("a").running("r", "a", gpu=1, nodes=["n000"], **OLD).pending("j", "a", gpu=1, **NEW)
    plan = planned(world)
    batch = World(nodes=1, gpus=1).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **OLD)
    batch.pending("j", "a", gpu=1, tier="batch", **NEW)
    mute = World(nodes=1, gpus=1).tenant("a").running("r", "a", gpu=1, nodes=["n000"], attained=4)
    mute.pending("j", "a", gpu=1, **NEW)

    assert {evict.reason for evict in plan.evicts} == {PreemptReason.TIME_SHARE}
    for world in (batch, mute):
        assert "may-be-evicted" in {violation.rule for violation in check(world.snapshot(), plan)}
