"""SCH-23: a plan that would break something is caught, and only what breaks is dropped."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from scheduling.engine.invariants import check, drop
from scheduling.engine.plan import Evict, Plan
from scheduling.engine.unsupported import UnsupportedAsk, refuse
from scheduling.engine.vocabulary import NodeState, PreemptReason
from tests.unit.engine.builders import Role, World, codes, started


def sound() -> tuple[World, Plan]:
    world = World(nodes=3).tenant("a", nominal=16).tenant("b", nominal=8)
    world.running("r", "b", gpu=8, nodes=["n002"]).running("prod", "b", cpu=0, tier="production", nodes=["n002"])
    world.pending("j1", "a", gpu=8).pending("j2", "a", gpu=2, replicas=2).pending("j3", "a", gpu=8, tier="batch")
    return world, world.plan()


def _on(plan: Plan, job: str, node: str) -> Plan:
    """The plan with all pods of a start on another node."""
    starts = tuple(
        replace(start, pods=tuple(replace(pod, node=node) for pod in start.pods)) if start.job == job else start
        for start in plan.starts
    )
    return replace(plan, starts=starts)


def _evicting(plan: Plan, job: str, for_job: str | None = None) -> Plan:
    return replace(plan, evicts=(*plan.evicts, Evict(job, f"{job}-1", for_job, PreemptReason.DRAIN, 1)))


BREAKS: list[tuple[str, Callable[[Plan], Plan], str, set[str]]] = [
    ("a node gives more than it has", lambda plan: _on(plan, "j2", "n002"), "node-not-over", {"j2"}),
    ("a card has two holders", lambda plan: _on(plan, "j2", "n000"), "card-one-holder", {"j1", "j2"}),
    (
        "a pod of a gang is missing",
        lambda plan: replace(plan, starts=tuple(replace(s, pods=s.pods[:1]) for s in plan.starts)),
        "gang-whole",
        {"j2"},
    ),
    ("a job has no decision", lambda plan: replace(plan, waits=()), "decided-once", {"j3"}),
    (
        "a job starts and waits",
        lambda plan: replace(plan, waits=(*plan.waits, replace(plan.waits[0], job="j1"))),
        "decided-once",
        {"j1"},
    ),
    ("production is evicted", lambda plan: _evicting(plan, "prod"), "may-be-evicted", {"prod"}),
    ("somebody gets two notices", lambda plan: _evicting(_evicting(plan, "r"), "r"), "one-notice", {"r"}),
    (
        "somebody leaves for a job that does not get the place",
        lambda plan: _evicting(plan, "r", "j3"),
        "evicted-for-somebody",
        {"j3", "r"},
    ),
]


@pytest.mark.parametrize(("name", "spoil", "want_rule", "want_jobs"), BREAKS, ids=[row[0] for row in BREAKS])
def test_a_broken_plan_is_caught_and_repaired(
    name: str, spoil: Callable[[Plan], Plan], want_rule: str, want_jobs: set[str]
) -> None:
    world, plan = sound()
    snapshot = world.snapshot()
    broken = spoil(plan)

    violations = check(snapshot, broken)

    assert want_rule in {violation.rule for violation in violations}
    assert want_jobs <= {job for violation in violations for job in violation.jobs}
    repaired = drop(broken, violations)
    assert {violation.rule for violation in check(snapshot, repaired)} <= {"decided-once"}
    assert not set(started(repaired)) & want_jobs


def test_a_sound_plan_passes_and_is_left_as_it_is() -> None:
    world, plan = sound()

    assert check(world.snapshot(), plan) == ()
    assert drop(plan, ()) is plan


def test_quota_and_readiness_are_checked_against_the_snapshot_of_the_moment() -> None:
    world, plan = sound()
    world.queue("a/main", nominal=4, borrowing=0).node("n001", state=NodeState.CORDONED)

    rules = {violation.rule for violation in check(world.snapshot(), plan)}

    assert {"quota-not-over", "node-ready"} <= rules


def test_what_is_dropped_waits_as_a_planner_fault_and_the_rest_is_kept() -> None:
    world, plan = sound()
    broken = _on(plan, "j2", "n002")

    repaired = drop(broken, check(world.snapshot(), broken))

    assert set(started(repaired)) == {"j1"}
    assert codes(repaired)["j2"] == "planner-fault"


def test_unsupported_asks_are_refused_with_every_field_named() -> None:
    """Parts of cards above one (SCH-13)."""
    world = World(nodes=1).tenant("a", nominal=8)
    roles = [Role("w", 4, gpu=1.5), Role("s", 4, gpu=0.5, minimum=2), Role("ps", 1, cpu=1)]
    snapshot = world.pending("j", "a", roles=roles).snapshot()

    with pytest.raises(UnsupportedAsk) as refused:
        refuse(snapshot.shapes[0])

    assert refused.value.problems == (
        ("roles[0].resources.gpu", "fractional-cards"),
        ("roles[1].min_replicas", "elastic-shares"),
    )
