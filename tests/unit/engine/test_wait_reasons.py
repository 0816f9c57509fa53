"""SCH-21: why a job waits: one code, need, have and short, who holds it, what would help."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from scheduling.engine.cycle import run_cycle
from scheduling.engine.policy import PRESETS
from scheduling.engine.vocabulary import NodeState
from scheduling.engine.weights import Usage, weigh
from tests.unit.engine.assembly import NOW_MS
from tests.unit.engine.builders import Role, World, codes, started, wait_of


@dataclass(frozen=True)
class Case:
    name: str
    world: World
    want_code: str
    want_need: dict[str, int]
    want_have: dict[str, int]
    want_short: dict[str, int]
    want_suggestion: str = ""
    want_hint: dict[str, int] = field(default_factory=dict)


def base(nodes: int = 2, **fields: Any) -> World:
    return World(nodes=nodes, cpu=64, memory=512, **fields).tenant("a", nominal=64).tenant("b", nominal=64)


def gpus(amount: int) -> dict[str, int]:
    return {"gpu": amount * 1000, "gpu:a100": amount * 1000}


CASES = [
    Case(
        "borrowing limit", World(nodes=2).tenant("a", nominal=4, borrowing=2).tenant("b", nominal=8).running("r", "a", gpu=4, nodes=["n000"])
        .pending("j", "a", gpu=4), "quota-borrow-limit", gpus(4), gpus(2), gpus(2), "ask-quota", {"gpu:a100": 2000},
    ),
    Case(
        "nothing left to lend", World(nodes=2).tenant("a", nominal=4).tenant("b", nominal=8).running("r", "b", gpu=8, nodes=["n000"])
        .pending("j", "a", gpu=6), "quota-borrow-limit", gpus(6), gpus(4), gpus(2), "ask-quota", {"gpu:a100": 2000},
    ),
    Case(
        "too few cards", base(1).running("r", "b", gpu=6, nodes=["n000"]).pending("j", "a", gpu=4),
        "cards-busy", {**gpus(4)}, {**gpus(2)}, {**gpus(2)}, "fewer-cards", {"gpu": 2000},
    ),
    Case(
        "another flavor is free", base(1).flavor("h800").node("m", flavor="h800").running("r", "b", gpu=8, flavors=["a100"], nodes=["n000"])
        .pending("j", "a", gpu=4, flavors=["a100"]), "cards-busy", gpus(4), gpus(0), gpus(4), "other-flavor", {"gpu:h800": 8000},
    ),
    Case(
        "too little CPU", base(1).running("r", "b", gpu=1, cpu=60, nodes=["n000"]).pending("j", "a", gpu=1, cpu=8),
        "cpu-busy", {"cpu": 8000}, {"cpu": 4000}, {"cpu": 4000}, "less-cpu", {"cpu": 4000},
    ),
    Case(
        "too little memory", base(1).running("r", "b", gpu=1, memory=500, nodes=["n000"]).pending("j", "a", gpu=1, memory=20),
        "memory-busy", {"memory_gib": 20 * 1024}, {"memory_gib": 12 * 1024}, {"memory_gib": 8 * 1024}, "less-cpu", {"memory_gib": 12 * 1024},
    ),
    Case(
        "not on single nodes", base(2).running("r", "b", gpu=4, nodes=["n000", "n001"], replicas=2).pending("j", "a", gpu=6),
        "fragmented", {"gpu": 6000, "nodes": 1}, {"gpu": 8000, "nodes": 0}, {"nodes": 1}, "smaller-pods", {"gpu": 4000},
    ),
    Case(
        "no domain", base(4, per_rack=2).running("r", "b", gpu=8, nodes=["n000", "n002"], replicas=2)
        .pending("j", "a", gpu=8, replicas=2, topology=("required", "rack")),
        "topology", {"gpu": 16_000}, {"gpu": 8000}, {"gpu": 8000}, "relax-topology", {"gpu": 16_000},
    ),
    Case(
        "larger than any node", base(1).pending("j", "a", gpu=2, cpu=100), "impossible", {"cpu": 100_000}, {"cpu": 64_000}, {"cpu": 36_000},
        "resubmit", {"cpu": 64_000},
    ),
    Case(
        "more than the tenant can ever have", World(nodes=9).tenant("a", nominal=8).pending("j", "a", gpu=1, replicas=9, tier="production"),
        "impossible", gpus(9), gpus(8), gpus(1), "resubmit", {"gpu:a100": 8000},
    ),
    Case(
        "no domain is large enough", base(2).pending("j", "a", gpu=8, replicas=2, topology=("required", "host")),
        "impossible", {"gpu": 16_000}, {"gpu": 8000}, {"gpu": 8000}, "resubmit", {"gpu": 8000},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reason(case: Case) -> None:
    wait = wait_of(case.world.plan(), "j")

    assert wait.code == case.want_code
    assert (dict(wait.need), dict(wait.have), dict(wait.short)) == (case.want_need, case.want_have, case.want_short)
    assert (wait.suggestion, dict(wait.hint)) == (case.want_suggestion, case.want_hint)


HELD: dict[str, Any] = {"hold": "suspended"}


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        (HELD, "suspended"),
        ({**HELD, "eligible_in": 60, "backoff_in": 60}, "suspended"),
        ({"eligible_in": 60, "backoff_in": 60}, "not-before"),
        ({"hold": "dependency", "backoff_in": 60}, "dependency"),
        ({"backoff_in": 60}, "backoff"),
        ({"hold": "planner-fault", "gpu": 99}, "planner-fault"),
    ],
)
def test_the_first_code_of_the_contracts_order_wins(fields: dict[str, Any], want: str) -> None:
    wait = wait_of(base().pending("j", "a", **{"gpu": 1, **fields}).plan(), "j")

    assert wait.code == want
    assert wait.need["gpu"] >= 1000
    assert wait.position is None


def test_not_before_and_backoff_say_until_when() -> None:
    world = base().pending("j", "a", gpu=1, eligible_in=60).pending("k", "a", gpu=1, backoff_in=30)

    assert (wait_of(world.plan(), "j").reserved_start_ms, wait_of(world.plan(), "k").reserved_start_ms) == (
        1_000_060_000,
        1_000_030_000,
    )


@pytest.mark.parametrize(
    ("pool", "want"),
    [
        ({"maintenance": ((0, 10**12),)}, "maintenance"),
        ({"draining": True}, "maintenance"),
        ({"reachable": False}, "cluster-unreachable"),
    ],
)
def test_nothing_starts_in_a_pool_that_is_closed(pool: dict[str, Any], want: str) -> None:
    assert codes(base().pool("main", **pool).pending("j", "a", gpu=1).plan()) == {"j": want}


def test_a_maintenance_window_that_is_over_bars_nothing() -> None:
    assert not base().pool("main", maintenance=((0, 1000),)).pending("j", "a", gpu=1).plan().waits


def test_holders_of_quota_are_queues_by_what_they_use() -> None:
    world = World(nodes=2).tenant("a", nominal=2).tenant("b", nominal=4).tenant("c", nominal=8)
    world.running("r1", "b", gpu=4, nodes=["n000"]).running("r2", "c", gpu=8, nodes=["n001"])

    holders = wait_of(world.pending("j", "a", gpu=6).plan(), "j").holders

    assert [(holder.tenant, holder.queue, holder.amounts["gpu"]) for holder in holders] == [
        ("c", "main", 8000),
        ("b", "main", 4000),
    ]


def test_holders_of_cards_are_the_jobs_on_the_nearest_nodes_and_until_when() -> None:
    world = (
        base(2)
        .running("r1", "b", gpu=6, nodes=["n000"], started=100, limit=400)
        .running("r2", "b", gpu=7, nodes=["n001"])
    )

    (holder,) = wait_of(world.pending("j", "a", gpu=8).plan(), "j").holders

    assert (holder.job, holder.amounts, holder.until_ms) == ("r1", {"gpu": 6000}, 1_000_300_000)


def test_a_queues_largest_part_of_its_pool_is_a_limit() -> None:
    world = World(nodes=2).tenant("a").queue("a/main", nominal=16, fields={"max_pool_share_ppm": 500_000})

    wait = wait_of(world.running("r", "a", gpu=6, nodes=["n000"]).pending("j", "a", gpu=4).plan(), "j")

    assert (wait.code, wait.detail, wait.short) == ("quota-borrow-limit", "max-pool-share", {"gpu": 2000})


@pytest.mark.parametrize(
    ("idle_hours", "gpu", "want"),
    [
        pytest.param(10, 4, "idle-penalty", id="what it could borrow but for its idle cards says so"),
        pytest.param(10, 7, "", id="what nobody could lend anyway does not"),
        pytest.param(0, 7, "", id="nor does a queue that was busy"),
    ],
)
def test_a_queue_that_left_cards_idle_is_told_why_it_may_borrow_less(idle_hours: int, gpu: int, want: str) -> None:
    """SCH-06: half of the 6 lendable cards may be borrowed."""
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=6).running("r", "a", gpu=8, nodes=["n000"])
    snapshot = world.pending("j", "a", gpu=gpu).snapshot()
    at = [node.name for node in snapshot.tree].index("main")  # a's, the first
    idle = Usage(idle_hours * 3_600_000, 0 if idle_hours else 900_000, 1_000_000)
    plan = run_cycle(replace(snapshot, tree=weigh(snapshot.tree, {at: idle})), PRESETS["default"], NOW_MS)

    wait = wait_of(plan, "j")

    assert (wait.code, wait.detail) == ("quota-borrow-limit", want)


def test_a_production_job_blocked_by_cards_does_not_blame_quota_that_a_lower_tier_took_after_it() -> None:
    world = World(nodes=2).tenant("a", cohort=None, nominal=16)
    world.running("d1", "a", gpu=4, nodes=["n000"]).running("d2", "a", gpu=4, nodes=["n001"])

    plan = world.pending("prod", "a", gpu=8, tier="production").pending("dev", "a", gpu=4).plan()

    assert wait_of(plan, "prod").code == "cards-busy"


def test_asks_that_need_a_later_rule_are_impossible_by_name() -> None:
    """A size of shares is not chosen yet (SCH-10, SCH-13)."""
    world = base().pending("shares", "a", roles=[Role(replicas=4, minimum=2, gpu=0.5)])

    plan = world.plan()

    assert {wait.job: wait.detail for wait in plan.waits} == {"shares": "unsupported"}


def test_reserved_says_how_much_is_left_for_whom_the_rest_is_and_what_length_would_pass() -> None:
    world = base(2).running("r", "b", gpu=8, nodes=["n000"], started=600, limit=1200)
    world.pending("head", "a", replicas=2, gpu=8, submitted=900, priority=600)

    wait = wait_of(world.pending("late", "a", gpu=2, limit=601).plan(), "late")

    assert (wait.code, dict(wait.need), dict(wait.have), dict(wait.short)) == (
        "reserved",
        {"gpu": 2000},
        {"gpu": 0},
        {"gpu": 2000},
    )
    assert [(holder.job, holder.amounts) for holder in wait.holders] == [("head", {"gpu": 16_000})]
    assert (wait.suggestion, dict(wait.hint)) == ("declare-runtime", {"before": 1_000_600_000})


def test_a_job_does_not_wait_for_its_own_place_nor_for_one_of_a_flavor_it_cannot_use() -> None:
    world = base(2).tenant("c", nominal=64).flavor("h800").node("m", flavor="h800")
    world.running("r", "b", gpu=8, flavors=["a100"], nodes=["n000"], started=600, limit=1200)
    world.running("s", "b", gpu=8, flavors=["h800"], nodes=["m"], started=600, limit=900)
    world.pending("head", "a", replicas=2, gpu=8, flavors=["a100"], submitted=900, priority=600, limit=3600)
    world.pending("other", "c", gpu=8, flavors=["h800"], submitted=900, priority=600)

    world.pending("second", "b", gpu=8, flavors=["a100"], limit=6000)

    wait = wait_of(world.plan(), "second")

    assert wait.code == "reserved"
    assert wait.reserved_start_ms is not None, "it has a place of its own"
    assert [holder.job for holder in wait.holders] == ["head"]
    assert dict(wait.hint) == {"before": 1_000_600_000}


def test_a_job_waits_for_places_of_those_before_it_only() -> None:
    """Three heads of one line have places: the second does not wait for the third's."""
    world = base(4).running("r", "b", gpu=8, replicas=3, nodes=["n001", "n002", "n003"], started=600, limit=1200)
    for at, name in enumerate(("first", "second", "third")):
        world.pending(name, "a", gpu=8, submitted=900 + at, priority=600 - at, limit=6000, replicas=1 if at else 2)

    plan = world.plan()

    waits = {str(wait.job): wait for wait in plan.waits}
    assert plan.order == ("first", "second", "third")
    reserved = {name: [h.job for h in wait.holders] for name, wait in waits.items() if wait.code == "reserved"}
    assert reserved == {"second": ["first"], "third": ["first", "second"]}


def test_reserved_quota_is_not_left_over_either() -> None:
    world = World(nodes=4).tenant("a", nominal=0).tenant("b", nominal=0).tenant("c", nominal=20)
    world.running("r", "a", gpu=8, nodes=["n000"], started=100, limit=700)
    world.pending("head", "a", replicas=2, gpu=8, submitted=900)

    wait = wait_of(world.pending("late", "b", gpu=6, tier="batch").plan(), "late")

    assert (wait.code, dict(wait.have), dict(wait.short)) == ("reserved", {"gpu": 4000}, {"gpu": 2000})


def test_fewer_cards_are_as_many_as_whole_pods_of_the_job_find_room_for() -> None:
    """Must show 4: three whole nodes and half of the fourth are free; 28 cards would not start either, 24 would."""
    world = World(nodes=4).tenant("team").running("half", "team", gpu=4, nodes=["n003"])

    wait = wait_of(world.pending("gang", "team", replicas=4, gpu=8).plan(), "gang")

    assert (wait.code, wait.short["nodes"]) == ("cards-busy", 1)
    assert [holder.job for holder in wait.holders] == ["half"]
    assert (wait.suggestion, dict(wait.hint)) == ("fewer-cards", {"gpu": 24_000})


def test_a_job_that_waits_for_a_closed_node_says_so() -> None:
    """SCH-21: nobody holds what it lacks; a node that takes no jobs does."""
    world = World(nodes=1, gpus=4).node("n9", gpus=8, state=NodeState.CORDONED).tenant("a", nominal=16)

    waits = world.pending("j1", "a", gpu=8).pending("j2", "a", gpu=0.5, replicas=9).plan().waits

    assert [(wait.job, wait.code.value, wait.detail) for wait in waits] == [
        ("j1", "cards-busy", "nodes-closed"), ("j2", "cards-busy", "nodes-closed"),
    ]  # fmt: skip


def test_a_job_without_cards_that_waits_beside_idle_ones_says_so() -> None:
    """SCH-02."""
    world = World(nodes=1, cpu=16).tenant("a", nominal=8)

    wait = wait_of(world.pending("j", "a", cpu=8).plan(), "j")

    assert (wait.code, wait.detail, wait.have) == ("cpu-busy", "beside-cards", {"cpu": 0})


def test_as_much_quota_is_asked_for_as_would_help_after_a_quota_was_lowered() -> None:
    """SCH-03: what is shown as 0 is below it. 12 are held of 8, so 4 more than are short would be needed."""
    world = (
        World(nodes=2).tenant("a", cohort=None, nominal=8).running("r", "a", gpu=6, nodes=["n000", "n001"], replicas=2)
    )

    wait = wait_of(world.pending("j", "a", gpu=2).plan(), "j")

    assert (wait.code, wait.short["gpu"], wait.hint) == ("quota-borrow-limit", 2000, {"gpu:a100": 6000})
    assert started(world.tenant("a", cohort=None, nominal=14).plan()) == {"j": ("n000",)}


def test_a_job_that_waits_for_its_own_queue_names_it() -> None:
    """The queue may hold half of the pool."""
    world = World(nodes=2).tenant("a", nominal=16)
    world.queue("a/main", nominal=16, fields={"max_pool_share_ppm": 500_000}).running("r", "a", gpu=6, nodes=["n000"])

    wait = wait_of(world.pending("j", "a", gpu=4).plan(), "j")

    assert (wait.code, wait.detail, wait.suggestion) == ("quota-borrow-limit", "max-pool-share", "wait")
    assert [(holder.tenant, holder.queue, holder.amounts) for holder in wait.holders] == [("a", "main", {"gpu": 6000})]


def test_more_than_its_queue_may_ever_hold_is_impossible_and_blocks_nobody() -> None:
    """Case 58, SCH-21."""
    world = World(nodes=2).tenant("a", nominal=16)
    world.queue("a/main", nominal=16, fields={"max_pool_share_ppm": 250_000})

    plan = world.pending("large", "a", gpu=8, priority=900).pending("small", "a", gpu=2).plan("fifo")

    wait = wait_of(plan, "large")
    assert (wait.code, wait.detail, wait.hint) == ("impossible", "max-pool-share", {"gpu": 4000})
    assert started(plan) == {"small": ("n000",)}


def test_a_node_without_room_for_another_pod_is_not_offered_for_a_smaller_one() -> None:
    world = World().node("n0", gpus=8, max_pods=1).node("n1", gpus=2).tenant("a", nominal=16)
    world.running("r", "a", gpu=1, nodes=["n0"])

    wait = wait_of(world.pending("j", "a", gpu=4).plan(), "j")

    assert (wait.code, wait.suggestion, wait.hint) == ("fragmented", "smaller-pods", {"gpu": 2000})


def test_holders_are_named_also_where_each_role_would_fit_alone() -> None:
    """Two roles lack cards together; the second could use those that `r` holds."""
    world = World().node("n1", gpus=4).node("n2", gpus=2).tenant("a", nominal=16)
    world.running("r", "a", gpu=2, nodes=["n2"])
    world.pending("j", "a", roles=[Role(gpu=4), Role("second", replicas=2, gpu=1)])

    wait = wait_of(world.plan(), "j")

    assert (wait.code, [holder.job for holder in wait.holders]) == ("cards-busy", ["r"])


def test_a_holder_is_named_on_a_node_that_has_room_for_some_of_the_pods() -> None:
    world = World(nodes=1).tenant("a", nominal=16).running("r", "a", gpu=5, nodes=["n000"])

    wait = wait_of(world.pending("j", "a", gpu=2, replicas=3).plan(), "j")

    assert (wait.code, [holder.job for holder in wait.holders]) == ("cards-busy", ["r"])


def test_a_job_without_cards_is_not_barred_by_its_queues_part_of_the_pools_cards() -> None:
    """SCH-02: it has no line of cards and never waits for a reason of cards."""
    world = World(nodes=1, cpu=64).tenant("a", nominal=8)
    world.queue("a/main", nominal=8, fields={"max_pool_share_ppm": 250_000}).running("r", "a", gpu=4, nodes=["n000"])

    assert started(world.pending("j", "a", cpu=4).plan()) == {"j": ("n000",)}


def test_who_waits_for_cards_that_stay_idle_for_an_aged_job_is_told_for_whom() -> None:
    """SCH-07: the aged one has no time; no run is short enough to pass it."""
    world = (
        World(nodes=1, gpus=4).tenant("a", nominal=4).tenant("b", nominal=4).running("r", "b", gpu=2, nodes=["n000"])
    )
    world.pending("old", "a", gpu=4, tier="production", submitted=7200).pending("j", "b", gpu=1)

    wait = wait_of(world.plan(), "j")

    assert (wait.code, wait.suggestion, [holder.job for holder in wait.holders]) == ("reserved", "", ["old"])
