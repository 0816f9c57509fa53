"""Worked cases of cases/scheduling.md that have no room of their own, and the books on which case has a test."""

import re
from pathlib import Path

from tests.unit.engine.builders import World, codes, evicted, started

TESTS = Path(__file__).parents[2]
GAPS = {9, 15, 20, 22, 33, 35, 45, 47, 52, 54, 66, 71, 77, 80}
NUMBERS = set(range(1, 84)) - GAPS
"""The numbers that cases/scheduling.md uses."""
NAMED = re.compile(
    r'(?:\b[Cc]ases? |test_case_|\b(?:Case|Inside)\(\s*"|^"""|^# )(\d{1,2}(?:, \d{1,2})*)(?!\d)', re.MULTILINE
)
DECIDED_OTHERWISE = TESTS.parent / "docs/adr/0020-worked-cases-that-berth-decides-otherwise.md"
HOUR = 3600


def test_every_case_has_a_test_that_names_it_or_a_line_that_says_why_not() -> None:
    named = {int(path.name[1:3]) for path in TESTS.glob("acceptance/plan/q*.yaml")}
    for room in ("unit/engine", "unit/simulator", "properties", "integration"):
        for path in TESTS.glob(f"{room}/*.py"):
            named |= {int(number) for found in NAMED.findall(path.read_text()) for number in found.split(", ")}
    explained = {
        int(number)
        for line in re.findall(r"^- \*\*([\d, ]+)\*\*", DECIDED_OTHERWISE.read_text(), re.MULTILINE)
        for number in line.split(", ")
    }

    assert sorted(NUMBERS - named - explained) == []


def test_case_25_an_ask_inside_nominal_wins_though_another_flavor_is_far_above() -> None:
    world = World().flavor("od").flavor("spot").node("n0", gpus=20, flavor="od").node("n1", gpus=4, flavor="spot")
    world.tenant("a", nominal={"od": 2, "spot": 4}).tenant("b", nominal={"od": 18, "spot": 0})
    world.running("a1", "a", gpu=18, flavors=["od"], nodes=["n0"], started=HOUR)
    world.running("b1", "b", gpu=4, flavors=["spot"], nodes=["n1"], started=HOUR)

    assert evicted(world.pending("j", "a", gpu=2, flavors=["spot"]).plan()) == {"b1": ("j", "reclaim-nominal", 300)}


def pool(cards: int, weights: dict[str, float]) -> World:
    world = World(nodes=1, gpus=cards).cohort("root", nominal=cards)
    for name, weight in weights.items():
        world.tenant(name, nominal=0, weight=weight)
    return world


def test_case_48_weights_divide_a_pool() -> None:
    """48, 46: 1 to 3 of a hundred; where one asks for one only, the other has the rest."""
    both, few = pool(100, {"a": 1, "b": 3}), pool(100, {"a": 1, "b": 3})
    for place in range(100):
        both.pending(f"a{place:03d}", "a", gpu=1).pending(f"b{place:03d}", "b", gpu=1)
        few.pending(f"a{place:03d}", "a", gpu=1)
    few.pending("b000", "b", gpu=1)

    divided, left = sorted(job[0] for job in started(both.plan())), sorted(job[0] for job in started(few.plan()))

    assert (divided.count("a"), divided.count("b")) == (25, 75)
    assert (left.count("a"), left.count("b")) == (99, 1)


def test_case_49_a_pool_without_capacity_divides_by_nothing() -> None:
    world = World().cohort("root", nominal=0).tenant("a", nominal=0).tenant("b", nominal=0)

    plan = world.pending("a1", "a", gpu=1).pending("b1", "b", gpu=1).plan()

    assert set(codes(plan)) == {"a1", "b1"}
    assert [share.over_quota_permille for share in plan.shares.values()] == [0] * len(plan.shares)


def test_case_55_a_borrower_with_less_takes_one_of_the_one_with_more_and_no_more() -> None:
    """A's 16 are production and stay; D at 2 takes one of B's 11, and the next round changes nothing."""

    def divided(b: int, d: int) -> World:
        world = World(nodes=1, gpus=32).cohort("root", nominal=16).tenant("a", nominal=16)
        world.running("a", "a", gpu=16, tier="production", nodes=["n000"])
        for name, count in (("b", b), ("c", 3), ("d", d)):
            world.tenant(name, nominal=0)
            for place in range(count):
                world.running(f"{name}{place:02d}", name, gpu=1, nodes=["n000"], started=HOUR - place)
        return world

    assert evicted(divided(11, 2).pending("j", "d", gpu=1).plan()) == {"b10": ("j", "fair-share", 300)}
    assert not evicted(divided(10, 3).pending("b10", "b", gpu=1).plan())


def test_case_62_a_hierarchy_shares_what_its_members_ask_for() -> None:
    """HDRF, 10 cores and 10 GiB: sci asks both, eng's two queues one each."""
    world = World().node("n0", gpus=0, cpu=10, memory=10).cohort("root", cpu=10, memory=10)
    world.tenant("sci", cpu=0, memory=0).tenant("eng", queues=("dev", "prod"))
    world.queue("eng/dev", cpu=0, memory=0).queue("eng/prod", cpu=0, memory=0)
    for place in range(12):
        world.pending(f"s{place:02d}", "sci", gpu=0, cpu=1, memory=1)
        world.pending(f"d{place:02d}", "eng/dev", gpu=0, cpu=1).pending(f"p{place:02d}", "eng/prod", gpu=0, memory=1)

    count = [job[0] for job in started(world.plan())]

    assert {name: count.count(name) for name in "sdp"} == {"s": 5, "d": 5, "p": 5}


def test_case_63_a_saturated_resource_does_not_block_the_other() -> None:
    """HDRF, 30 cores and 30 GiB: cores 10 each, memory 15 each; n2 has a queue for either."""
    world = World().node("n0", gpus=0, cpu=30, memory=30).cohort("root", cpu=30, memory=30)
    world.tenant("n1", cpu=0, memory=0).tenant("n3", cpu=0, memory=0).tenant("n4", cpu=0, memory=0)
    world.tenant("n2", queues=("c", "m")).queue("n2/c", cpu=0, memory=0).queue("n2/m", cpu=0, memory=0)
    for place in range(32):
        for letter, queue in (("a", "n1"), ("b", "n2/c"), ("c", "n3")):
            world.pending(f"{letter}{place:02d}", queue, gpu=0, cpu=1)
        for letter, queue in (("m", "n2/m"), ("k", "n4")):
            world.pending(f"{letter}{place:02d}", queue, gpu=0, memory=1)

    count = [job[0] for job in started(world.plan())]

    assert {name: count.count(name) for name in "abcmk"} == {"a": 10, "b": 10, "c": 10, "m": 15, "k": 15}


def test_case_64_what_was_kept_for_a_job_that_is_gone_is_free_again() -> None:
    """Capacity held for a job that does not come is released in the next cycle, and others start on it."""
    world = World(nodes=1).tenant("a", nominal=8).kept("kept", "gone", ["n000"]).pending("j", "a", gpu=8)

    plan = world.plan()

    assert [(release.reservation, release.why) for release in plan.releases] == [("kept", "gone")]
    assert started(plan) == {"j": ("n000",)}


def test_case_73_nobody_is_moved_to_make_whole_what_is_split() -> None:
    world = World(nodes=2, gpus=2).tenant("a", nominal=4)
    for place in range(2):
        world.running(f"r{place}", "a", gpu=1, nodes=[f"n00{place}"], started=HOUR)

    plan = world.pending("j", "a", gpu=2).plan()

    assert not plan.evicts
    assert codes(plan) == {"j": "fragmented"}


def test_case_75_no_card_is_idle_while_someone_asks_for_it() -> None:
    world = pool(10, {"a": 1, "b": 1, "c": 1})
    for place in range(10):
        for name in "abc":
            world.pending(f"{name}{place}", name, gpu=1)

    count = [job[0] for job in started(world.plan())]

    assert sorted(count.count(name) for name in "abc") == [3, 3, 4]


def test_case_68_batch_causes_no_eviction_where_development_would() -> None:
    """Policy Never: the same ask evicts a borrower as development, and nobody as batch."""

    def asked(tier: str) -> World:
        world = World(nodes=1).tenant("a", nominal=4).tenant("b", nominal=4)
        return world.running("r", "b", gpu=8, nodes=["n000"], started=HOUR).pending("j", "a", gpu=4, tier=tier)

    assert set(evicted(asked("development").plan())) == {"r"}
    assert not evicted(asked("batch").plan())
