"""SCH-10: at which size a job with a range starts, when it grows, and what it waits for."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.invariants import check
from scheduling.engine.plan import Plan
from scheduling.engine.policy import Policy
from tests.unit.engine.builders import NOW_MS, Role, World, codes, evicted, start_of, started, wait_of


def cluster(free: int, **tenant: Any) -> World:
    """One node with so many cards for a, which alone has quota."""
    return World(nodes=1, gpus=free).tenant("a", nominal=tenant.pop("nominal", 16), **tenant)


def size(plan: Plan, job: str = "j", role: str = "worker") -> int:
    pods = start_of(plan, job).pods if job in started(plan) else ()
    return sum(pod.role == role for pod in pods)


SIZES = {
    "the full size where it fits": (8, {"replicas": 8, "minimum": 2}, 8),
    "the largest smaller size where it does not": (5, {"replicas": 8, "minimum": 2}, 5),
    "on the step grid, down from the full size": (5, {"replicas": 8, "minimum": 2, "step": 3}, 5),
    "a step too far leaves the next one": (4, {"replicas": 8, "minimum": 2, "step": 3}, 2),
    "the minimum is always a size": (3, {"replicas": 8, "minimum": 3, "step": 2}, 3),
    "never below the minimum": (1, {"replicas": 8, "minimum": 2}, 0),
    "a job without a range starts whole or not at all": (7, {"replicas": 8}, 0),
    "a pod of more cards counts as one": (7, {"replicas": 4, "minimum": 1, "gpu": 2}, 3),
    "as far as the quota goes": (8, {"replicas": 8, "minimum": 2, "nominal": 6}, 6),
    "many sizes": (701, {"replicas": 1000, "minimum": 1, "nominal": 2000}, 701),
}


@pytest.mark.parametrize(("free", "ask", "want"), SIZES.values(), ids=SIZES.keys())
def test_a_job_starts_at_the_largest_size_that_fits(free: int, ask: dict[str, Any], want: int) -> None:
    """SCH-10."""
    world = cluster(free, nominal=ask.get("nominal", 16), cohort=None)
    ask = {"gpu": 1, **{key: value for key, value in ask.items() if key != "nominal"}}
    world.pending("j", "a", **ask)

    plan = world.plan()

    assert size(plan) == want
    assert [pod.index for pod in start_of(plan, "j").pods] == list(range(want)) if want else not plan.starts
    assert check(world.snapshot(), plan) == ()


SPREAD = {
    "nothing to reduce": (12, {"a": 8, "b": 4}),
    "in proportion to the ranges, the larger remainder first": (9, {"a": 6, "b": 3}),
    "to the minimum of each": (6, {"a": 4, "b": 2}),
}


@pytest.mark.parametrize(("free", "want"), SPREAD.values(), ids=SPREAD.keys())
def test_a_reduction_is_spread_over_the_roles_in_proportion_to_their_ranges(free: int, want: dict[str, int]) -> None:
    """SCH-10: 8 to 4 and 4 to 2."""
    roles = [Role("a", 8, gpu=1, minimum=4), Role("b", 4, gpu=1, minimum=2)]

    plan = cluster(free).pending("j", "a", roles=roles).plan()

    assert Counter(pod.role for pod in start_of(plan, "j").pods) == want


def test_a_gang_is_whole_at_its_minimum_or_waits_and_says_what_that_needs() -> None:
    """SCH-09, SCH-21."""
    roles = [Role("a", 8, gpu=1, minimum=4), Role("b", 2, gpu=1)]

    world = cluster(8).running("r", "a", gpu=3, tier="production", nodes=["n000"])
    plan = world.pending("j", "a", roles=roles).plan()

    wait = wait_of(plan, "j")
    assert (wait.code, wait.need["gpu"], wait.short["gpu"]) == ("cards-busy", 6000, 1000)


def test_preemption_for_the_full_size_comes_before_a_smaller_one() -> None:
    """Case 36."""
    world = World(nodes=2).tenant("a", nominal=16).tenant("b", nominal=0)
    world.running("r", "b", gpu=4, nodes=["n000"], started=7200)

    plan = world.pending("j", "a", replicas=4, minimum=1, gpu=4).plan()

    assert evicted(plan) == {"r": ("j", "reclaim-nominal", 300)}
    assert codes(plan) == {"j": "kept-for-preempted"}


def test_where_preemption_cannot_help_a_smaller_size_starts_at_once() -> None:
    """Case 36, the other half: nobody may be taken from."""
    world = World(nodes=2).tenant("a", nominal=12).tenant("b", nominal=4)
    world.running("r", "b", gpu=4, nodes=["n000"], started=7200)

    plan = world.pending("j", "a", replicas=4, minimum=1, gpu=4).plan()

    assert not plan.evicts
    assert size(plan) == 3


def test_production_starts_small_inside_its_nominal_where_the_full_size_would_pass_it() -> None:
    plan = cluster(8, nominal=5).pending("j", "a", replicas=8, minimum=2, gpu=1, tier="production").plan()

    assert size(plan) == 5
    assert start_of(plan, "j").borrowed == {"gpu": 0}


def grown(*, gpus: int = 8, **ask: Any) -> World:
    """j holds 2 of 8 pods on a node of 8 cards."""
    fields = {"replicas": 8, "minimum": 2, "gpu": 1, "nodes": ["n000"] * 2, "started": 1000, **ask}
    return cluster(gpus).running("j", "a", **fields)


GROWS = {
    "to the full size where nobody else wants the cards": (grown(), (2, 8)),
    "as far as there are cards": (grown(gpus=5), (2, 5)),
    "by whole steps": (grown(gpus=7, step=3), (2, 5)),
    "not before its cooldown has passed since the start": (grown(started=599), None),
    "not before its cooldown has passed since the last resize": (grown(resized=599), None),
    "a cooldown of its own": (grown(resized=61, cooldown=60), (2, 8)),
    "a waiting job that could use the cards goes first": (
        grown(gpus=8).pending("w", "a", replicas=7, gpu=1),
        None,
    ),
    "one that quota bars cannot use them": (grown().pending("w", "a", replicas=7, gpu=1, tier="production").tenant("b", nominal=0).pending("x", "b", gpu=1, tier="production"), None),
    "one that has no quota at all cannot": (grown().tenant("b", nominal=0).pending("x", "b", gpu=1, tier="production"), (2, 8)),
    "not a job on its way out": (grown(leaving_in=60), None),
    "to the size that it asked for": (grown(wanted=4), (2, 4)),
    "smaller, if it asked for that": (grown(nodes=["n000"] * 6, wanted=3), (6, 3)),
    "never below its minimum": (grown(nodes=["n000"] * 6, wanted=1), (6, 2)),
}  # fmt: skip


@pytest.mark.parametrize(("world", "want"), GROWS.values(), ids=GROWS.keys())
def test_a_running_job_is_resized(world: World, want: tuple[int, int] | None) -> None:
    """SCH-10."""
    plan = world.plan()

    assert [(resize.job, resize.old, resize.new) for resize in plan.resizes] == ([("j", *want)] if want else [])
    assert check(world.snapshot(), plan, NOW_MS) == ()


def test_pods_that_come_take_the_free_indexes_and_those_that_go_are_the_highest() -> None:
    [up] = grown(gpus=4).plan().resizes
    [down] = grown(nodes=["n000"] * 6, wanted=3).plan().resizes

    assert ([pod.index for pod in up.added], up.reason) == ([2, 3], "idle-cards")
    assert (down.removed, down.reason) == ((5, 4, 3), "asked-for")


def test_a_job_whose_pods_come_or_go_keeps_its_size_until_they_have() -> None:
    snapshot = grown().snapshot()
    settling = replace(snapshot, running=replace(snapshot.running, fixed=frozenset({0})))

    assert run_cycle(snapshot, Policy(), NOW_MS).resizes
    assert not run_cycle(settling, Policy(), NOW_MS).resizes


def test_what_a_job_grows_by_is_own_first_and_one_loan_stands_for_all_that_it_borrows() -> None:
    """SCH-03, SCH-16: 2 pods of a nominal of 5; 3 more are own, 3 are lent by b."""
    world = World(nodes=1, gpus=8).tenant("a", nominal=5).tenant("b", nominal=3)
    world.running("j", "a", replicas=8, minimum=2, gpu=1, nodes=["n000"] * 2, started=1000)

    [resize] = world.plan().resizes

    assert [(pod.index, pod.borrowed_m) for pod in resize.added] == [
        (2, 0), (3, 0), (4, 0), (5, 1000), (6, 1000), (7, 1000),
    ]  # fmt: skip
    [loan] = resize.loans
    assert (loan.amount_m, loan.sides) == (3000, (("tenant", "b", 3000),))


def test_two_growing_jobs_share_idle_cards_step_by_step() -> None:
    world = World(nodes=1, gpus=8).tenant("a", nominal=8).tenant("b", nominal=8)
    for tenant in ("a", "b"):
        world.running(f"r{tenant}", tenant, replicas=8, minimum=1, gpu=1, nodes=["n000"], started=1000)

    plan = world.plan()

    assert {resize.job: resize.new for resize in plan.resizes} == {"ra": 4, "rb": 4}


def test_exactly_one_role_grows() -> None:
    roles = [
        Role("a", 4, gpu=1, minimum=1, nodes=["n000"] * 2),
        Role("b", 4, gpu=1, minimum=1, nodes=["n000"] * 2),
    ]

    [resize] = cluster(8).running("j", "a", roles=roles, started=1000).plan().resizes

    assert (resize.role, resize.old, resize.new) == ("a", 2, 4)


def test_a_required_domain_holds_also_for_pods_that_come_later() -> None:
    """SCH-11."""
    world = World(nodes=4, gpus=2, per_rack=2).tenant("a", nominal=16)
    ask: dict[str, Any] = {"replicas": 8, "minimum": 1, "gpu": 1, "topology": ("required", "rack"), "started": 1000}

    [resize] = world.running("j", "a", nodes=["n000"], **ask).plan().resizes

    assert (resize.new, {pod.node for pod in resize.added}) == (4, {"n000", "n001"})


def lent(*, pods: int = 8, **ask: Any) -> World:
    """b, without nominal, borrows all of a node of 8 with one elastic job."""
    fields = {"replicas": 8, "minimum": 2, "gpu": 1, "nodes": ["n000"] * pods, "started": 7200, **ask}
    return World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0).running("e", "b", **fields)


SHRINKS = {
    "by the fewest steps that suffice": (lent(), 3, (8, 5, "reclaim-nominal")),
    "by whole steps": (lent(step=2), 3, (8, 4, "reclaim-nominal")),
    "to the minimum": (lent(), 6, (8, 2, "reclaim-nominal")),
    "in its cooldown too where nominal is taken back, and says so": (
        lent(resized=60),
        3,
        (8, 5, "reclaim-nominal-in-cooldown"),
    ),
}


@pytest.mark.parametrize(("world", "gpu", "want"), SHRINKS.values(), ids=SHRINKS.keys())
def test_running_jobs_become_smaller_before_anyone_leaves(world: World, gpu: int, want: tuple[int, int, str]) -> None:
    """SCH-10, section 4.9: "shrink in cooldown while reclaim needs the GPUs"."""
    plan = world.pending("j", "a", gpu=gpu).plan()

    [resize] = plan.resizes
    assert (resize.old, resize.new, resize.reason) == want
    assert resize.removed == tuple(range(7, want[1] - 1, -1)), "the highest index first"
    assert not plan.evicts
    assert codes(plan) == {"j": "kept-for-preempted"}
    assert check(world.snapshot(), plan, NOW_MS) == ()


def test_where_smaller_sizes_are_not_enough_it_leaves() -> None:
    plan = lent().pending("j", "a", gpu=8).plan()

    assert (evicted(plan), plan.resizes) == ({"e": ("j", "reclaim-nominal", 300)}, ())


def test_one_job_becomes_smaller_for_two() -> None:
    world = lent().pending("j1", "a", gpu=2).pending("j2", "a", gpu=3)

    plan = world.plan()

    [resize] = plan.resizes
    assert (resize.old, resize.new, resize.removed) == (8, 3, (7, 6, 5, 4, 3))
    assert codes(plan) == {"j1": "kept-for-preempted", "j2": "kept-for-preempted"}
    assert check(world.snapshot(), plan, NOW_MS) == ()


def test_of_two_borrowers_the_one_with_the_larger_share_becomes_smaller_first() -> None:
    world = World(nodes=2).tenant("a", nominal=16).tenant("b", nominal=0).tenant("c", nominal=0)
    ask: dict[str, Any] = {"minimum": 1, "gpu": 1, "started": 7200}
    world.running("eb", "b", replicas=12, nodes=["n000"] * 8 + ["n001"] * 4, **ask)
    world.running("ec", "c", replicas=4, nodes=["n001"] * 4, **ask)

    [resize] = world.pending("j", "a", gpu=2).plan().resizes

    assert (resize.job, resize.new) == ("eb", 10)


def test_production_does_not_become_smaller_and_nominal_is_not_taken_from_who_is_inside_it() -> None:
    world = World(nodes=1).tenant("a", nominal=4).tenant("b", nominal=4)
    world.running("prod", "b", replicas=4, minimum=1, gpu=1, nodes=["n000"] * 4, tier="production")
    world.running("dev", "a", replicas=4, minimum=1, gpu=1, nodes=["n000"] * 4, started=7200)

    plan = world.pending("j", "a", gpu=2).plan()

    assert (plan.resizes, plan.evicts) == ((), ())


def test_others_make_room_for_a_smaller_size_where_they_cannot_for_the_full_one() -> None:
    """Its nominal is 4: that much it takes back, the other half of its full size it may not."""
    world = World(nodes=1).tenant("a", nominal=4).tenant("b", nominal=4)
    world.running("r1", "b", gpu=4, nodes=["n000"], started=7200).running(
        "r2", "b", gpu=4, nodes=["n000"], started=7000
    )

    plan = world.pending("j", "a", replicas=8, minimum=2, gpu=1).plan()

    assert evicted(plan) == {"r2": ("j", "reclaim-nominal", 300)}
    assert wait_of(plan, "j").code == "kept-for-preempted"
