"""SCH-13, SCH-12: which card a share goes to, whom it shares it with, and what of that whole cards and MIG instances see."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from scheduling.engine.invariants import check
from scheduling.engine.plan import Plan
from scheduling.engine.vocabulary import NodeState
from tests.unit.engine.builders import Role, World, codes, evicted, start_of, started, wait_of


def cluster(nodes: int = 1, *, gpus: int = 1, vram: int = 80, mode: str = "any") -> World:
    """Nodes of few cards of 80 GiB; tenants a and b with more quota than there are cards."""
    world = World().flavor("a100", vram=vram, mode=mode)
    for index in range(nodes):
        world.node(f"n{index}", gpus=gpus)
    return world.tenant("a", nominal=64).tenant("b", nominal=64)


def cards_of(plan: Plan, job: str) -> list[tuple[object, tuple[int, ...]]]:
    return [(pod.node, pod.cards) for pod in start_of(plan, job).pods]


@dataclass
class Row:
    """`pending` is job -> (tenant, ask); `want` is the jobs that start."""

    pending: dict[str, tuple[str, dict[str, Any]]]
    want: set[str]
    gpus: int = 1
    mode: str = "any"
    vram: int = 80
    running: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)


ROWS = {
    "two shares that fill a card share it": Row({"j1": ("a", {"gpu": 0.5}), "j2": ("a", {"gpu": 0.5})}, {"j1", "j2"}),
    "0.6 and 0.6 do not fit on one card": Row({"j1": ("a", {"gpu": 0.6}), "j2": ("a", {"gpu": 0.6})}, {"j1"}),
    "0.6 and 0.6 fit on two": Row({"j1": ("a", {"gpu": 0.6}), "j2": ("a", {"gpu": 0.6})}, {"j1", "j2"}, gpus=2),
    "two parts of two cards are no share": Row(
        {"j": ("a", {"gpu": 0.6})}, set(), gpus=2,
        running={"r1": ("a", {"gpu": 0.5, "cards": [0]}), "r2": ("a", {"gpu": 0.5, "cards": [1]})},
    ),
    "a whole card needs an empty one": Row({"j": ("a", {"gpu": 1})}, set(), running={"r": ("a", {"gpu": 0.1, "cards": [0]})}),
    "half-used cards are no two cards": Row(
        {"j": ("a", {"gpu": 2})}, set(), gpus=3,
        running={"r1": ("a", {"gpu": 0.1, "cards": [0]}), "r2": ("a", {"gpu": 0.1, "cards": [1]})},
    ),
    "the other cards of the node are whole": Row({"j": ("a", {"gpu": 2})}, {"j"}, gpus=3, running={"r": ("a", {"gpu": 0.1, "cards": [1]})}),
    "a share needs a card that nobody holds whole": Row({"j": ("a", {"gpu": 0.1})}, set(), running={"r": ("a", {"gpu": 1, "cards": [0]})}),
    "two tenants never share a card": Row({"j": ("b", {"gpu": 0.1})}, set(), running={"r": ("a", {"gpu": 0.1, "cards": [0]})}),
    "two tenants may share a node": Row({"j": ("b", {"gpu": 0.1})}, {"j"}, gpus=2, running={"r": ("a", {"gpu": 0.1, "cards": [0]})}),
    "nobody joins foreign work": Row({"j": ("a", {"gpu": 0.1})}, set(), running={"r": ("nobody", {"gpu": 0.1, "cards": [0]})}),
    "card memory is full before the card is": Row(
        {"j": ("a", {"gpu": 0.2, "vram": 30})}, set(), running={"r": ("a", {"gpu": 0.2, "vram": 60, "cards": [0]})}
    ),
    "card memory that adds up to the card's": Row(
        {"j": ("a", {"gpu": 0.2, "vram": 20})}, {"j"}, running={"r": ("a", {"gpu": 0.2, "vram": 60, "cards": [0]})}
    ),
    "without a cap a share takes its part of the memory": Row(
        {"j": ("a", {"gpu": 0.5})}, set(), running={"r": ("a", {"gpu": 0.2, "vram": 60, "cards": [0]})}
    ),
    "where nobody knows the card's memory caps bound nothing": Row(
        {"j": ("a", {"gpu": 0.2, "vram": 30})}, {"j"}, vram=0, running={"r": ("a", {"gpu": 0.2, "vram": 60, "cards": [0]})}
    ),
    "shares of one job on one card": Row({"j": ("a", {"gpu": 0.5, "replicas": 2})}, {"j"}),
    "a gang of shares starts whole or not at all": Row({"j": ("a", {"gpu": 0.5, "replicas": 3})}, set()),
    "shares of a file that names no cards": Row({"j": ("a", {"gpu": 0.5})}, {"j"}, running={"r": ("a", {"gpu": 0.5})}),
    "a whole-card flavor has no shares": Row({"j": ("a", {"gpu": 0.5})}, set(), mode="whole"),
    "a shared flavor has no whole cards": Row({"j": ("a", {"gpu": 1})}, set(), mode="shared"),
    "a shared flavor has shares": Row({"j": ("a", {"gpu": 0.5})}, {"j"}, mode="shared"),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_share_starts_where_a_single_card_has_room_for_it(row: Row) -> None:
    """SCH-13."""
    world = cluster(gpus=row.gpus, mode=row.mode, vram=row.vram)
    for job, (tenant, ask) in row.running.items():
        world.running(job, tenant, nodes=["n0"], **ask)
    for job, (tenant, ask) in row.pending.items():
        world.pending(job, tenant, **ask)

    plan = world.plan()

    assert set(started(plan)) == row.want
    assert check(world.snapshot(), plan) == ()


def test_a_share_goes_to_the_fullest_card_that_still_fits_then_by_node_name() -> None:
    """SCH-12 with no mix of demand to go by."""
    world = cluster(3, gpus=2)
    world.running("r1", "a", gpu=0.2, nodes=["n0"], cards=[1]).running("r2", "a", gpu=0.5, nodes=["n1"], cards=[0])
    world.running("r3", "a", gpu=0.5, nodes=["n2"], cards=[1]).running("r4", "a", gpu=0.9, nodes=["n2"], cards=[0])

    plan = world.pending("j", "a", gpu=0.5).plan()

    assert cards_of(plan, "j") == [("n1", (0,))]


def test_an_empty_card_is_opened_where_the_fewest_are_free() -> None:
    """SCH-12: whole nodes stay whole."""
    world = cluster(2, gpus=4).running("r", "b", gpu=3, nodes=["n1"], cards=[(0, 1, 3)])

    plan = world.pending("j", "a", gpu=0.5).plan()

    assert cards_of(plan, "j") == [("n1", (2,))]


def test_whole_cards_and_shares_of_one_cycle_get_different_cards() -> None:
    world = cluster(gpus=4).pending("s1", "a", gpu=0.5, submitted=90).pending("w", "a", gpu=2, submitted=80)

    plan = world.pending("s2", "a", gpu=0.5, submitted=70).pending("s3", "b", gpu=0.5, submitted=60).plan()

    assert [cards_of(plan, job)[0][1] for job in ("s1", "w", "s2", "s3")] == [(0,), (2, 3), (0,), (1,)]
    assert check(world.snapshot(), plan) == ()


def test_the_pods_of_a_role_keep_their_ranks_over_several_cards() -> None:
    world = cluster(gpus=2).pending("j", "a", gpu=0.5, replicas=4)

    pods = start_of(world.plan(), "j").pods

    assert [(pod.index, pod.cards) for pod in pods] == [(0, (0,)), (1, (0,)), (2, (1,)), (3, (1,))]
    assert [pod.cards_m for pod in pods] == [500] * 4


def test_a_card_is_whole_again_when_its_last_share_has_left() -> None:
    """SCH-13: a flavor `any` turns a card to shares when first used and back when it is empty."""
    world = cluster().running("r", "a", gpu=0.5, nodes=["n0"], cards=[0])

    before = world.pending("j", "b", gpu=1).plan()
    del world.running_rows["r"]
    after = world.plan()

    assert codes(before) == {"j": "cards-busy"}
    assert cards_of(after, "j") == [("n0", (0,))]


def test_a_card_out_of_service_with_a_share_on_it_gives_nothing_and_takes_nothing() -> None:
    world = cluster(gpus=2).node("n0", gpus=2, bad=[0])
    world.running("r", "a", gpu=0.5, nodes=["n0"], cards=[0])

    plan = world.pending("s", "a", gpu=0.5, submitted=90).pending("w", "a", gpu=1).plan()

    assert cards_of(plan, "s") == [("n0", (1,))]
    assert set(started(plan)) == {"s"}
    assert check(world.snapshot(), plan) == ()


def test_shares_are_charged_in_thousandths_of_a_card_and_by_their_memory_cap() -> None:
    """SCH-02, SCH-03."""
    world = World().flavor("a100", vram=80).node("n0", gpus=8).tenant("a", nominal=1, vram=100).tenant("b", nominal=0)
    world.pending("j1", "a", gpu=0.4, vram=60, submitted=90, tier="production")

    plan = world.pending("j2", "a", gpu=0.6, vram=60, submitted=80, tier="production").plan()

    assert start_of(plan, "j1").own == {"gpu": 400}
    wait = wait_of(plan, "j2")
    assert (wait.code, wait.need, wait.have) == (
        "quota-nominal", {"vram_gib": 60 * 1024}, {"vram_gib": 40 * 1024},
    )  # fmt: skip


def test_a_share_that_nominal_covers_in_part_is_lent_whole() -> None:
    """SCH-03, SCH-16: quota is exact; a lease is own or borrowed, and loans say what leases say."""
    world = World().flavor("a100", vram=80).node("n0", gpus=1).tenant("a", nominal=0.3).tenant("b", nominal=1)

    start = start_of(world.pending("j", "a", gpu=0.5).plan(), "j")

    assert (start.own, start.borrowed) == ({"gpu": 300}, {"gpu": 200})
    assert [pod.borrowed_m for pod in start.pods] == [500]
    assert [loan.amount_m for loan in start.loans] == [500]


@pytest.mark.parametrize(
    ("marked", "want"), [(0.5, []), (0, [("r", 500)])], ids=["marked whole stays", "not marked is marked whole"]
)
def test_the_split_of_a_share_comes_to_rest(marked: float, want: list[tuple[str, int]]) -> None:
    """0.2 of the share's 0.5 are above nominal in either case."""
    world = World().flavor("a100", vram=80).node("n0", gpus=1).tenant("a", nominal=0.3).tenant("b", nominal=1)
    world.running("r", "a", gpu=0.5, nodes=["n0"], cards=[0], borrowed=marked)
    if marked:
        world.loan("l", "r", 0.5, expires_in=60)

    plan = world.plan()

    assert [(row.job, amount) for row in plan.recharges for _, _, amount in row.borrowed_m] == want


REASONS = {
    "the largest part speaks, not the sum": (
        2, [("a", 0.7, 0), ("a", 0.6, 1)], {"gpu": 0.5}, "fragmented", "card-part", {"gpu:a100": 500}, {"gpu:a100": 400},
    ),
    "too little in total": (1, [("a", 0.7, 0)], {"gpu": 0.5}, "cards-busy", "card-part", {"gpu:a100": 500}, {"gpu:a100": 300}),
    "another tenant's card has no part for it": (1, [("b", 0.1, 0)], {"gpu": 0.5}, "cards-busy", "card-part", {"gpu:a100": 500}, {"gpu:a100": 0}),
    "the memory beside the part": (
        1, [("a", 0.1, 0)], {"gpu": 0.5, "vram": 75}, "cards-busy", "card-part-memory", {"vram_gib": 75 * 1024}, {"vram_gib": 72 * 1024},
    ),
    "several shares": (
        1, [("a", 0.1, 0)], {"gpu": 0.5, "replicas": 2}, "cards-busy", "", {"gpu:a100": 1000}, {"gpu:a100": 500},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("gpus", "holders", "ask", "code", "detail", "need", "have"), REASONS.values(), ids=REASONS.keys())  # fmt: skip
def test_a_waiting_share_is_told_of_the_largest_free_part_of_one_card(
    gpus: int, holders: list[Any], ask: dict[str, Any], code: str, detail: str, need: dict[str, int], have: dict[str, int]
) -> None:  # fmt: skip
    """SCH-21: true of single cards."""
    world = cluster(gpus=gpus)
    for place, (tenant, gpu, card) in enumerate(holders):
        world.running(f"r{place}", tenant, gpu=gpu, nodes=["n0"], cards=[card])

    wait = wait_of(world.pending("j", "a", **ask).plan(), "j")

    assert (wait.code, wait.detail) == (code, detail)
    assert need.items() <= wait.need.items()
    assert have.items() <= wait.have.items()
    assert {key: need[key] - have[key] for key in need}.items() <= wait.short.items()
    assert wait.holders or not detail


def test_free_parts_are_no_room_for_whole_cards_in_reasons_either() -> None:
    world = cluster(gpus=2).running("r1", "a", gpu=0.1, nodes=["n0"], cards=[0])

    wait = wait_of(world.pending("j", "a", gpu=2).plan(), "j")

    assert (wait.code, wait.have["gpu"], wait.short["gpu"]) == ("cards-busy", 1000, 1000)


def test_a_claim_on_nominal_takes_a_borrowed_share_and_its_card_is_kept_whole() -> None:
    """SCH-17: both shares of the card have to leave for a whole card."""
    world = World().flavor("a100", vram=80).node("n0", gpus=1).tenant("a", nominal=1).tenant("b", nominal=0)
    world.running("r1", "b", gpu=0.5, nodes=["n0"], cards=[0], started=90).running(
        "r2", "b", gpu=0.5, nodes=["n0"], cards=[0]
    )

    plan = world.pending("j", "a", gpu=1, tier="production").plan()

    assert set(evicted(plan)) == {"r1", "r2"}
    assert codes(plan) == {"j": "kept-for-preempted"}


def test_a_claim_for_a_share_takes_one_whole_run_of_another_tenant_and_no_more() -> None:
    world = World().flavor("a100", vram=80).node("n0", gpus=2).tenant("a", nominal=2).tenant("b", nominal=0)
    world.running("r1", "b", gpu=1, nodes=["n0"], cards=[0], started=90).running(
        "r2", "b", gpu=1, nodes=["n0"], cards=[1]
    )

    plan = world.pending("j", "a", gpu=0.5, tier="production").plan()

    assert len(evicted(plan)) == 1
    assert codes(plan) == {"j": "kept-for-preempted"}


def test_a_kept_share_starts_on_its_node_when_those_there_have_left() -> None:
    world = cluster(2).running("r", "b", gpu=1, nodes=["n0"], cards=[0], leaving_in=30).kept("k", "j", ["n0"])
    world.running("s", "b", gpu=1, nodes=["n1"], cards=[0]).pending("j", "a", gpu=0.5)

    first = world.plan()
    del world.running_rows["r"]
    then = world.plan()

    assert codes(first) == {"j": "kept-for-preempted"}
    assert cards_of(then, "j") == [("n0", (0,))]


def test_a_share_that_ends_in_time_passes_a_reserved_card_and_a_longer_one_does_not() -> None:
    """SCH-08 for parts of cards: the head needs both cards in 20 minutes."""
    world = cluster(gpus=2).running("r", "a", gpu=0.5, nodes=["n0"], cards=[0], started=600, limit=1800)
    world.pending("head", "a", gpu=2, submitted=900)

    passes = world.pending("j", "a", gpu=0.5, limit=1200).plan()
    waits = world.pending("j", "a", gpu=0.5, limit=1201).plan()

    assert cards_of(passes, "j") == [("n0", (0,))]
    assert codes(waits)["j"] == "reserved"


def test_a_head_of_shares_holds_a_part_of_a_card_only() -> None:
    world = cluster(gpus=2).running("r", "a", gpu=0.5, nodes=["n0"], cards=[0], started=600, limit=1800)
    world.running("w", "a", gpu=1, nodes=["n0"], cards=[1], started=600, limit=90_000)
    world.pending("head", "a", gpu=0.6, submitted=900)

    plan = world.pending("j", "a", gpu=0.4, limit=90_000).plan()

    assert cards_of(plan, "j") == [("n0", (0,))]
    assert wait_of(plan, "head").reserved_start_ms is not None


MIG = {
    "one card of 1g has seven instances": ("1g.10gb", 1, 7),
    "one card of 3g has two": ("3g.40gb", 1, 2),
    "two cards of 2g have six": ("2g.20gb", 2, 6),
    "7g is the card": ("7g.80gb", 2, 2),
    "one seventh with a quarter of the memory goes in four times": ("1g.20gb", 1, 4),
    "media engines are there once": ("1g.10gb+me", 2, 2),
}


@pytest.mark.parametrize(("profile", "gpus", "want"), MIG.values(), ids=MIG.keys())
def test_a_node_has_the_instances_that_its_cards_profile_gives(profile: str, gpus: int, want: int) -> None:
    """SCH-13: `gpus` counts cards, an ask counts instances."""
    world = World().flavor("mig", mig=profile, vram=10).node("n0", gpus=gpus, flavor="mig")
    world.flavors.pop("a100")
    world.tenant("a", nominal=100)
    for number in range(want + 1):
        world.pending(f"j{number}", "a", gpu=1, submitted=90 - number)

    plan = world.plan()

    assert len(started(plan)) == want
    assert codes(plan) == {f"j{want}": "cards-busy"}
    held = [card for start in plan.starts for pod in start.pods for card in pod.cards]
    assert held == [card for card in range(gpus) for _ in range(want // gpus)]
    assert check(world.snapshot(), plan) == ()


def test_a_role_of_several_ranks_may_not_run_on_mig_instances() -> None:
    """SCH-13: they do not talk to each other."""
    world = World().flavor("mig", mig="1g.10gb").node("n0", gpus=1, flavor="mig").tenant("a", nominal={"mig": 9})
    roles = [Role("one", 1, gpu=1, flavors=["mig"]), Role("two", 1, gpu=1, flavors=["mig"])]
    world.pending("pair", "a", gpu=1, replicas=2, flavors=["mig"]).pending("roles", "a", roles=roles)

    plan = world.plan()

    assert wait_of(plan, "pair").code == "impossible"
    assert wait_of(plan, "pair").detail == "mig-ranks"
    assert set(started(plan)) == {"roles"}


def test_a_gang_takes_whole_cards_where_its_flavors_are_mig_and_others() -> None:
    world = World().flavor("mig", mig="1g.10gb").node("n0", gpus=1, flavor="mig").node("n1", gpus=2)
    world.tenant("a", nominal={"mig": 9, "a100": 9}).pending("j", "a", gpu=1, replicas=2, flavors=["mig", "a100"])

    assert started(world.plan()) == {"j": ("n1", "n1")}


def test_a_mig_instance_counts_as_its_sevenths_of_a_card_in_shares() -> None:
    """SCH-05: a card-equivalent is by the flavor's weight, and an instance is a part of a card."""
    world = World().flavor("mig", mig="1g.10gb").node("n0", gpus=1, flavor="mig").node("n1", gpus=1)
    world.tenant("a", nominal={"mig": 7, "a100": 1}).tenant("b", nominal={"mig": 7, "a100": 1})
    world.running("r", "a", gpu=1, flavors=["mig"], nodes=["n0"], cards=[0])

    share = world.plan().shares["a"]

    assert share.drf_numerator * 14 == pytest.approx(share.drf_denominator, rel=1e-5)


def test_a_share_waits_on_a_node_that_takes_nothing_new() -> None:
    world = cluster().node("n0", gpus=1, state=NodeState.CORDONED).running("r", "a", gpu=0.5, nodes=["n0"], cards=[0])

    assert codes(world.pending("j", "a", gpu=0.5).plan()) == {"j": "cards-busy"}
