"""SCH-27: who takes whose turn. One card a time, on nodes that are full."""

from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.invariants import check
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.vocabulary import PreemptReason
from tests.unit.engine.builders import World, codes, evicted

SHARED = replace(PRESETS["time-shared"], quantum_ms=1_800_000)
HOUR = 3600
OLD: dict[str, Any] = {"attained": 40, "submitted": 90 * 3600, "started": 3600, "checkpoint": 0}
"""A run of level 2 whose quantum is over."""


def full(**run: Any) -> World:
    """One card, which `r` holds."""
    return World(nodes=1, gpus=1).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **{**OLD, **run})


TURNS = {
    "one that has had less takes the turn of one that has had more": ({}, {}, True),
    "not before the quantum": ({"started": 1799}, {}, False),
    "as soon as the quantum is over": ({"started": 1800}, {}, True),
    "nobody on an equal level": ({"attained": 0.2, "submitted": 1800, "started": 1800}, {"attained": 0.2}, False),
    "the one that has had more does not come back at once": ({"attained": 0.4}, {"attained": 40}, False),
    "production never loses its turn": ({"tier": "production"}, {"tier": "production"}, False),
    "not across tiers": ({"tier": "batch"}, {"tier": "production"}, False),
    "a run that writes no checkpoints keeps its card": ({"checkpoint": None}, {}, False),
    "one that is leaving gets no second notice": ({"leaving_in": 30}, {}, False),
    "where both are being weighed, one that ran little of its time takes the turn of one that ran most of it": (
        {"attained": 10, "submitted": 11 * HOUR}, {"attained": 1, "submitted": 90 * HOUR}, True,
    ),
    "but not one that is hardly worse off": (
        {"attained": 10, "submitted": 20 * HOUR}, {"attained": 10, "submitted": 24 * HOUR}, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("run", "ask", "want"), TURNS.values(), ids=TURNS)
def test_a_waiting_job_takes_the_turn_of_a_weaker_claim(run: dict[str, Any], ask: dict[str, Any], want: bool) -> None:
    run = {key: value for key, value in {**OLD, **run}.items() if value is not None}
    world = World(nodes=1, gpus=1).tenant("a").running("r", "a", gpu=1, nodes=["n000"], **run)
    world.pending("j", "a", gpu=1, **ask)

    plan = world.plan(replace(SHARED, preemption=False))

    assert evicted(plan) == ({"r": ("j", "time-share", 300 if run.get("tier") != "batch" else 30)} if want else {})
    assert codes(plan)["j"] == ("kept-for-preempted" if want else "cards-busy")
    assert check(world.snapshot(), plan) == ()


def test_it_is_off_by_default() -> None:
    assert evicted(full().pending("j", "a", gpu=1).plan()) == {}


def test_the_restart_is_paid_before_the_quantum_counts() -> None:
    world = full(started=1830).pending("j", "a", gpu=1)

    assert evicted(world.plan(replace(SHARED, restart_cost_ms=30_000)))
    assert not evicted(world.plan(replace(SHARED, restart_cost_ms=31_000)))


LEVELS = {
    "the weakest claim goes": ({"r1": 40, "r2": 700}, {"gpu": 1}, ["r2"]),
    "as many as it needs and no more": ({"r1": 40, "r2": 700, "r3": 50, "r4": 1300}, {"gpu": 2}, ["r2", "r4"]),
    "nobody where those who may go do not make room": ({"r1": 0, "r2": 0, "r3": 0, "r4": 700}, {"gpu": 2}, []),
}


@pytest.mark.parametrize(("runs", "ask", "want"), LEVELS.values(), ids=LEVELS)
def test_who_leaves_a_node(runs: dict[str, float], ask: dict[str, Any], want: list[str]) -> None:
    world = World(nodes=1, gpus=len(runs)).tenant("a")
    for run, attained in runs.items():
        world.running(run, "a", gpu=1, nodes=["n000"], **{**OLD, "attained": attained, "submitted": 3600})

    assert sorted(evicted(world.pending("j", "a", **ask, submitted=60).plan(SHARED))) == want


def test_a_wide_job_takes_the_nodes_where_least_is_taken() -> None:
    """Two of three nodes: those of the runs that have had most."""
    world = World(nodes=3).tenant("a")
    for node, attained in enumerate((50, 2000, 900)):
        world.running(f"r{node}", "a", gpu=8, nodes=[f"n00{node}"], **{**OLD, "attained": attained})

    plan = world.pending("wide", "a", replicas=2, gpu=8).plan(SHARED)

    assert sorted(evicted(plan)) == ["r1", "r2"]


def halves(policy: Policy, **small: Any) -> Any:
    """Two nodes of two cards, half used each by a run that nobody may displace; a job of two cards waits."""
    world = World(nodes=2, gpus=2).tenant("a")
    for node in (0, 1):
        run = {**OLD, "attained": 0.1, "submitted": 3600, **small}
        world.running(f"r{node}", "a", gpu=1, nodes=[f"n00{node}"], **run)
    plan = world.pending("j", "a", gpu=2).plan(policy)
    assert check(world.snapshot(), plan) == ()
    return plan


MOVES = {
    "one goes on beside the other": (SHARED, {}, [("r0", "n000", "n001")]),
    "not before it has had its quantum": (SHARED, {"started": 60}, []),
    "never production": (SHARED, {"tier": "production"}, []),
    "not where the policy moves nobody": (replace(SHARED, moves=False), {}, []),
}


@pytest.mark.parametrize(("policy", "small", "want"), MOVES.values(), ids=MOVES)
def test_small_runs_go_on_elsewhere_to_clear_a_whole_node(
    policy: Policy, small: dict[str, Any], want: list[tuple[str, str, str]]
) -> None:
    plan = halves(policy, **small)

    assert [(move.job, move.source, move.target) for move in plan.moves] == want
    assert evicted(plan) == {}
    assert codes(plan)["j"] == ("kept-for-preempted" if want else "fragmented")


def test_a_moved_run_takes_cards_that_are_free_on_its_target() -> None:
    (move,) = halves(SHARED).moves

    assert (move.role, move.index, move.cards) == ("worker", 0, (1,))


QUEUES = {
    "a queue that holds less takes a turn from one that holds more": ({"a": 0, "b": 2}, True),
    "one that holds more takes none from one that holds less": ({"a": 3, "b": 1}, False),
}


@pytest.mark.parametrize(("held", "want"), QUEUES.values(), ids=QUEUES)
def test_fair_across_queues_first(held: dict[str, int], want: bool) -> None:
    """Whatever the service: those of `b` have had more, those of `a` are new. Both are inside their nominal."""
    world = World(nodes=1, gpus=sum(held.values())).tenant("a", nominal=4).tenant("b", nominal=4)
    for queue, count in held.items():
        for place in range(count):
            attained = 700 if queue == "b" else 0
            world.running(
                f"{queue}{place}", queue, gpu=1, nodes=["n000"], **{**OLD, "attained": attained, "submitted": 60}
            )

    assert bool(evicted(world.pending("j", "a", gpu=1, submitted=60).plan(SHARED))) is want


def test_a_borrower_takes_no_turn_from_within_anothers_nominal() -> None:
    """SCH-17: never below nominal for another queue's borrowing."""
    world = World(nodes=1, gpus=2).tenant("a", nominal=0).tenant("b", nominal=2).tenant("c", nominal=2)
    for run in ("r1", "r2"):
        world.running(run, "b", gpu=1, nodes=["n000"], **OLD)

    assert evicted(world.pending("j", "a", gpu=1).plan(SHARED)) == {}


def test_no_pair_of_queues_flaps() -> None:
    """SCH-17: who took a turn from a queue a moment ago does not lose one to it."""
    world = World(nodes=1, gpus=1).tenant("a").tenant("b")
    world.running("r", "b", gpu=1, nodes=["n000"], **OLD).pending("j", "a", gpu=1)
    world.evictions_rows.append(("b/main", "a/main", "j", 300))

    assert evicted(world.plan(SHARED)) == {}
    assert set(evicted(world.plan(SHARED, later=400))) == {"r"}


def test_durations_declared_say_nothing_to_who_takes_turns() -> None:
    """Only `durations: known` does: then the smallest rest goes first."""

    def plan(policy: Policy) -> Any:
        world = (
            World(nodes=1, gpus=1)
            .tenant("a")
            .running("r", "a", gpu=1, nodes=["n000"], **{**OLD, "attained": 0.1, "limit": 99 * HOUR})
        )
        return world.pending("j", "a", gpu=1, limit=60, submitted=60).plan(policy)

    assert evicted(plan(replace(SHARED, attained_levels=(HOUR * 1000,)))) == {}
    assert evicted(plan(replace(SHARED, durations="known"))) == {"r": ("j", PreemptReason.TIME_SHARE.value, 300)}


def test_plain_least_attained_service_has_a_level_for_every_millisecond() -> None:
    world = full(attained=0.0001, started=120).pending("j", "a", gpu=1)

    assert set(evicted(world.plan("las"))) == {"r"}
