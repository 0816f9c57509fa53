"""SCH-17: fair sharing between borrowers and priority inside a queue, with the worked cases of cases/scheduling.md 4.2 and 4.3."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from scheduling.engine.policy import FINAL_SHARE, INITIAL_SHARE, PRESETS, Policy
from tests.unit.engine.builders import World, codes, evicted, started

DEFAULT = PRESETS["default"]
HOUR = 3600


@dataclass(frozen=True)
class Run:
    """One run of a queue: its cards (or, of CPU-only worlds, cores), priority, how long it has run, replicas."""

    name: str
    amount: float = 1
    priority: int = 500
    started: float = HOUR
    replicas: int = 1
    tier: str = "development"


def singles(queue: str, count: int, **fields: Any) -> list[Run]:
    """`count` runs of one card, the last the newest."""
    return [Run(f"{queue}{place}", started=HOUR + 60 * (count - place), **fields) for place in range(count)]


def world(held: dict[str, list[Run]], *, nominal: float = 3, weights: dict[str, float] | None = None) -> World:
    """Tenants a, b, c (and whoever else holds something) of one cohort, on one node with as many cards as they own together."""
    names = sorted({"a", "b", "c"} | set(held)) if not weights else sorted(weights)
    made = World(nodes=1, gpus=int(nominal * len(names)))
    for name in names:
        made.tenant(name, nominal=nominal, weight=(weights or {}).get(name, 1))
        for run in held.get(name, []):
            made.running(
                run.name, name, gpu=run.amount, replicas=run.replicas, priority=run.priority, tier=run.tier,
                nodes=["n000"] * run.replicas, started=run.started,
            )  # fmt: skip
    return made


@dataclass(frozen=True)
class Case:
    id: str
    held: dict[str, list[Run]]
    asks: float
    want: dict[str, str]
    by: str = "a"
    priority: int = 500
    weights: dict[str, float] | None = None
    policy: Policy = DEFAULT


B7 = [Run("gang", replicas=7)]
CASES = [
    Case("11 the asker at 4 beside the victim at 4", {"a": singles("a", 3), "b": singles("b", 5), "c": singles("c", 1)},
         1, {"b4": "fair-share"}),
    Case("13 a result that only mirrors the imbalance", {"a": singles("a", 3), "b": singles("b", 5)}, 2, {}),
    Case("14 the asker's own two of lower priority",
         {"a": [*singles("a", 2), Run("low0", priority=100), Run("low1", priority=100)], "b": singles("b", 5)},
         2, {"low0": "priority", "low1": "priority"}),
    Case("16 a whole gang goes for a claim inside nominal", {"b": [Run("all", replicas=9)]}, 2,
         {"all": "reclaim-nominal"}),
    Case("17 the new holder would be as bad", {"a": singles("a", 2), "b": B7}, 5, {}),
    Case("18 one eviction a queue does not suffice", {"b": [Run("b2", 2), Run("b3", 2), Run("b4", 3)]}, 6, {}),
    Case("21 at most the final share", {"a": singles("a", 3), "b": [Run("low", 5, 100), Run("high", 1, 800)]}, 1,
         {"high": "fair-share"}),
    Case("21 less than the initial share", {"a": singles("a", 3), "b": [Run("low", 5, 100), Run("high", 1, 800)]}, 1,
         {"low": "fair-share"}, policy=replace(DEFAULT, preemption_strategies=(INITIAL_SHARE,))),
    Case("21 no strategy, nobody", {"a": singles("a", 3), "b": [Run("low", 5, 100), Run("high", 1, 800)]}, 1, {},
         policy=replace(DEFAULT, preemption_strategies=())),
    Case("one whole gang may carry its queue below nominal where the initial share is larger",
         {"a": singles("a", 2), "b": [Run("gang", replicas=6)], "c": singles("c", 1)}, 2, {"gang": "fair-share"}),
    Case("23 weight 0 loses to anyone", {"a": singles("a", 3), "y": singles("y", 1), "z": singles("z", 5)}, 1,
         {"z4": "fair-share"}, weights={"a": 1, "y": 0, "z": 0}),
    Case("23 weight 0 takes its own nominal back", {"a": singles("a", 3), "b": singles("b", 5), "z": singles("z", 1)},
         1, {"b4": "reclaim-nominal"}, by="z", weights={"a": 1, "b": 1, "z": 0}),
    Case("23 weight 0 evicts no borrower of a weight", {"b": singles("b", 6), "z": singles("z", 3)}, 1, {},
         by="z", weights={"b": 1, "y": 0, "z": 0}),
    Case("23 weight 0 evicts another of weight 0 that holds more",
         {"b": singles("b", 1), "y": singles("y", 5), "z": singles("z", 3)}, 1, {"y4": "fair-share"},
         by="z", weights={"b": 1, "y": 0, "z": 0}),
    Case("23 two of weight 0 do not mirror each other",
         {"b": singles("b", 1), "y": singles("y", 4), "z": singles("z", 4)}, 1, {},
         by="z", weights={"b": 1, "y": 0, "z": 0}),
    Case("23 what weight 0 holds inside nominal is safe",
         {"a": singles("a", 3), "b": singles("b", 3), "z": singles("z", 3)}, 1, {}, weights={"a": 1, "b": 1, "z": 0}),
    Case("a larger weight may hold more", {"a": singles("a", 4), "b": singles("b", 5)}, 1, {"b4": "fair-share"},
         weights={"a": 2, "b": 1, "c": 1}),
    Case("a smaller weight may not", {"a": singles("a", 4), "b": singles("b", 5)}, 1, {},
         weights={"a": 0.5, "b": 1, "c": 1}),
    Case("69 what is not its due", {"a": singles("a", 4), "b": singles("b", 3), "c": singles("c", 2)}, 1, {}, by="b"),
    Case("batch of another borrower goes before its development",
         {"a": singles("a", 3), "b": [*singles("b", 5), Run("batch", tier="batch", started=9 * HOUR)]}, 1,
         {"batch": "fair-share"}),
    Case("a young run is spared, an older one goes", {"a": singles("a", 3), "b": [*singles("b", 5), Run("young", started=300)]},
         1, {"b4": "fair-share"}),
    Case("82 nobody is old enough", {"a": singles("a", 3), "b": [Run(f"b{n}", started=599) for n in range(6)]}, 1, {}),
    Case("ten minutes are enough", {"a": singles("a", 3), "b": [Run(f"b{n}", started=600) for n in range(6)]}, 1,
         {"b0": "fair-share"}),
    Case("a minimum run time of none", {"a": singles("a", 3), "b": [Run(f"b{n}", started=1) for n in range(6)]}, 1,
         {"b0": "fair-share"}, policy=replace(DEFAULT, minimum_run_ms=0)),
    Case("82 the minimum run time never guards against reclaim", {"b": [Run("old", 2), Run("young", 7, started=60)]}, 3,
         {"young": "reclaim-nominal"}),
    Case("reclaim never, fair sharing neither", {"a": singles("a", 3), "b": singles("b", 6)}, 1, {}, by="c",
         policy=replace(DEFAULT, reclaim="never")),
    Case("reclaim of lower priorities alone finds one",
         {"a": singles("a", 3), "b": [*singles("b", 5), Run("low", priority=10, started=9 * HOUR)]}, 1,
         {"low": "reclaim-nominal"}, by="c", policy=replace(DEFAULT, reclaim="lower-priority")),
    Case("reclaim of lower priorities alone finds none", {"a": singles("a", 3), "b": singles("b", 6)}, 1, {}, by="c",
         policy=replace(DEFAULT, reclaim="lower-priority")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_who_leaves_for_a_job_that_borrows(case: Case) -> None:
    """11, 13, 14, 16, 17, 18, 21, 23, 69, 82: the ids name the case; plain ones are sentences of SCH-17."""
    made = world(case.held, weights=case.weights)

    plan = made.pending("j", case.by, gpu=1, replicas=int(case.asks), priority=case.priority).plan(case.policy)

    assert {job: reason for job, (_, reason, _) in evicted(plan).items()} == case.want
    assert (codes(plan)["j"] == "kept-for-preempted") is bool(case.want)


def three_by_cpu(**running: Sequence[tuple[str, float, float]]) -> World:
    """Nominal 3 cores each on a node without cards; runs as (name, cores, seconds it has run)."""
    made = World().node("n000", gpus=0, cpu=9)
    for name in "abc":
        made.tenant(name, cpu=3)
        for run, cores, seconds in running.get(name, []):
            made.running(run, name, gpu=0, cpu=cores, nodes=["n000"], started=seconds)
    return made


def test_case_19_one_of_each_queue_by_the_initial_share_and_none_of_them_takes_it_back() -> None:
    held = {name: [(f"{name}2", 2, HOUR), (f"{name}2.5", 2.5, 2 * HOUR)] for name in "bc"}
    first = three_by_cpu(**held).pending("j", "a", gpu=0, cpu=3.5).plan()
    held = {"a": [("j", 3.5, HOUR)]} | {name: [(f"{name}2.5", 2.5, 2 * HOUR)] for name in "bc"}
    then = three_by_cpu(**held).pending("b2", "b", gpu=0, cpu=2).plan()

    assert {job: reason for job, (_, reason, _) in evicted(first).items()} == {"b2": "fair-share", "c2": "fair-share"}
    assert not then.evicts


def test_case_51_a_full_pool_is_shared_out_as_tenants_come() -> None:
    """32 of a; b submits 32 and gets 16; c submits 10 and gets five of each; an empty round changes nothing."""

    def pool(**held: int) -> World:
        made = World(nodes=1, gpus=32).cohort("root", nominal=32)
        for name in "abc":
            made.tenant(name, nominal=0)
            for place in range(held.get(name, 0)):
                made.running(f"{name}{place:02d}", name, gpu=1, nodes=["n000"], started=2 * HOUR - place)
        return made

    second, third = pool(a=32), pool(a=16, b=16)
    for place in range(32):
        second.pending(f"b{place:02d}", "b", gpu=1)
    for place in range(10):
        third.pending(f"c{place:02d}", "c", gpu=1)

    few = second.plan(replace(DEFAULT, fair_share_claims=3))
    assert set(evicted(few)) == {"a31", "a30", "a29"}
    assert set(evicted(second.plan())) == {f"a{place:02d}" for place in range(16, 32)}
    assert sorted(job[0] for job in evicted(third.plan())) == ["a"] * 5 + ["b"] * 5
    assert not pool(a=11, b=11, c=10).plan().evicts


def test_case_53_one_member_takes_its_whole_gang_along_and_nobody_elses() -> None:
    made = world({"a": singles("a", 3), "b": [Run("one", replicas=3), Run("other", replicas=3, started=2 * HOUR)]})

    assert set(evicted(made.pending("j", "a", gpu=1).plan())) == {"one"}


def test_case_61_waiting_jobs_never_preempt_each_other() -> None:
    made = World(nodes=1, gpus=2).tenant("a", nominal=1).tenant("b", nominal=1)
    made.pending("a1", "a", gpu=1).pending("a2", "a", gpu=1).pending("b1", "b", gpu=1).pending("b2", "b", gpu=1)

    plan = made.plan()

    assert set(started(plan)) == {"a1", "b1"}
    assert not plan.evicts


def test_case_76_the_second_claim_of_a_cycle_sees_the_first() -> None:
    """After one card each side would hold 4 and 5: a second one would only mirror that."""
    made = world({"a": singles("a", 3), "b": singles("b", 6)}).pending("j1", "a", gpu=1).pending("j2", "a", gpu=1)

    assert evicted(made.plan()) == {"b5": ("j1", "fair-share", 300)}


def test_case_24_borrowers_of_a_cohort_that_does_not_borrow_are_safe_from_borrowers_outside_it() -> None:
    made = World(nodes=1, gpus=10).cohort("inner", parent="root").tenant("a", nominal=3)
    made.tenant("b", cohort="inner", nominal=1).tenant("c", cohort="inner", nominal=5).tenant("d", nominal=1)
    for name, count in (("a", 3), ("b", 4), ("d", 3)):
        for place in range(count):
            made.running(f"{name}{place}", name, gpu=1, nodes=["n000"], started=HOUR - place)

    plan = made.pending("j", "a", gpu=1).plan()

    assert set(evicted(plan)) == {"d2"}


def test_shares_are_compared_where_the_branches_of_the_tree_meet() -> None:
    """b alone holds less than c, but its cohort as a whole holds more than c: the cohort gives, and in it the larger of the two."""
    made = World(nodes=1, gpus=12).cohort("left", parent="root").tenant("a", nominal=6).tenant("c", nominal=2)
    made.tenant("b", cohort="left", nominal=0).tenant("bb", cohort="left", nominal=0).queue("a/main", nominal=6)
    made.tenant("d", nominal=4)
    for name, count in (("a", 0), ("b", 3), ("bb", 2), ("c", 6), ("d", 1)):
        for place in range(count):
            made.running(f"{name}{place}", name, gpu=1, nodes=["n000"], started=HOUR - place)

    plan = made.pending("j", "a", gpu=2, replicas=1).plan()

    assert set(evicted(plan)) == {"b2", "c5"}


@dataclass(frozen=True)
class Inside:
    id: str
    runs: list[Run]
    asks: int
    priority: int
    want: set[str]
    within: str = "lower-priority"
    submitted: float = 60


@pytest.mark.parametrize(
    "case",
    [
        Inside("27 only the one that is needed", [Run("low", 1, 100), Run("mid", 2, 200), Run("high", 3, 800)], 2, 500, {"mid"}),
        Inside("39 never an equal", [Run("one", 3), Run("two", 3)], 1, 500, set()),
        Inside("39 the newer equal where the policy says so", [Run("old", 3), Run("new", 3, started=1800)], 1, 500, {"new"},
               "lower-or-newer-equal-priority", submitted=9 * HOUR),
        Inside("39 never the older equal", [Run("old", 3), Run("new", 3, started=1800)], 1, 500, set(),
               "lower-or-newer-equal-priority", submitted=60),
        Inside("nobody where the policy says never", [Run("low", 6, 1)], 1, 899, set(), "never"),
        Inside("the lower priority first, then the newer",
               [Run("a", 2, 300), Run("b", 2, 100), Run("c", 2, 100, started=1800)], 1, 500, {"c"}),
        Inside("not in its first ten minutes", [Run("low", 6, 1, started=500)], 1, 899, set()),
    ],
    ids=lambda case: case.id,
)  # fmt: skip
def test_inside_one_queue_a_lower_priority_leaves(case: Inside) -> None:
    made = World(nodes=1, gpus=6).tenant("a", nominal=6)
    for run in case.runs:
        made.running(run.name, "a", gpu=run.amount, priority=run.priority, nodes=["n000"], started=run.started)
    made.pending("j", "a", gpu=case.asks, priority=case.priority, submitted=case.submitted)

    plan = made.plan(replace(DEFAULT, within_queue=case.within))

    assert set(evicted(plan)) == case.want
    assert {reason for _, reason, _ in evicted(plan).values()} <= {"priority"}


def test_a_queue_that_was_just_taken_from_does_not_take_back() -> None:
    """b's run left for a nine minutes ago; b's share is the smaller one now, but the pair rests for the flap window."""
    made = world({"a": singles("a", 6), "b": singles("b", 3)}, nominal=3).pending("j", "b", gpu=1)
    made.evicted("a", "b", "was", ago=9 * 60)

    assert not made.plan().evicts
    assert set(evicted(made.plan(later=60))) == {"a5"}


def test_a_higher_priority_is_asked_although_an_older_starved_job_of_its_class_found_nobody() -> None:
    made = World(nodes=1, gpus=1).tenant("a", nominal=1).running("r", "a", gpu=1, priority=500, nodes=["n000"])
    made.pending("starved", "a", gpu=1, priority=500, submitted=7 * HOUR).pending("high", "a", gpu=1, priority=800)

    assert evicted(made.plan()) == {"r": ("high", "priority", 300)}


def test_who_waits_for_cards_that_others_leave_anyway_evicts_nobody() -> None:
    """72, for a borrower: one of b's leaves already."""
    made = world({"a": singles("a", 3), "b": singles("b", 5)}).running(
        "gone", "b", gpu=1, nodes=["n000"], leaving_in=100
    )

    plan = made.pending("j", "a", gpu=1).plan()

    assert not plan.evicts
    assert codes(plan) == {"j": "kept-for-preempted"}


def test_strategies_are_named_as_kueue_names_them() -> None:
    assert DEFAULT.preemption_strategies == (FINAL_SHARE, INITIAL_SHARE)
