"""SCH-05: over-quota share in Kueue's form, and dominant share."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from scheduling.engine.share import rank
from scheduling.engine.units import MAX_SHARE
from tests.unit.engine.builders import Role, World


def holding(world: World, tenant: str, *, gpu: int = 0, cpu: int = 0, flavor: str = "a100", job: str = "") -> World:
    """One running job of single-card pods and one CPU-only pod, all on the big node."""
    roles = [Role("worker", gpu, gpu=1, flavors=[flavor], nodes=["big"] * gpu)] if gpu else []
    roles += [Role("launcher", 1, cpu=cpu, nodes=["big"])] if cpu else []
    return world.running(job or f"{tenant}-{flavor}", tenant, roles=roles)


def world_of(gpus: int = 2000) -> World:
    return World().node("big", gpus=gpus, cpu=10_000)


@dataclass(frozen=True)
class Case:
    name: str
    world: World
    node: str
    want_permille: int
    want_dominant: str | None = None


def _case_1(weight: float = 1, cpu: int = 3, gpu: int = 7) -> World:
    world = world_of().tenant("q", nominal=5, cpu=2, weight=weight).tenant("peer", nominal=5, cpu=8)
    return holding(world, "q", gpu=gpu, cpu=cpu)


CASES = [
    Case("case 1: gpu 7 of 5, 10 lendable", _case_1(), "q", 200, "gpu"),
    Case("case 1: the peer does not borrow", _case_1(), "peer", 0),
    Case("case 2: only cpu is above", _case_1(gpu=4), "q", 100, "cpu"),
    Case("case 3: under nominal", _case_1(gpu=4, cpu=1), "q", 0),
    Case("case 3: no cohort", holding(world_of().tenant("q", cohort=None, nominal=5), "q", gpu=7), "q/main", 0),
    Case("case 4: weight 2 halves it", _case_1(weight=2), "q", 100),
    Case("case 4: weight 0.5 doubles it", _case_1(weight=0.5), "q", 400),
    Case("case 4: weight 0 is the maximum", _case_1(weight=0), "q", MAX_SHARE),
    Case("weight 0 inside nominal is 0", _case_1(weight=0, gpu=5, cpu=2), "q", 0),
    Case(
        "case 5: rounded up, so that it still reads as borrowing",
        holding(world_of().tenant("q", nominal=500).tenant("peer", nominal=1000), "q", gpu=501), "q", 1,
    ),
    Case(
        "case 8: a resource with nothing lendable is skipped",
        holding(world_of().tenant("q", nominal=5, cpu=0).tenant("peer", nominal=5), "q", gpu=7, cpu=3), "q", 200, "gpu",
    ),
    Case(
        "case 8: an unlimited pool overflows nothing",
        holding(world_of().tenant("q", nominal=5).cohort("root", nominal=2**58), "q", gpu=7), "q", 1,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_over_quota_share(case: Case) -> None:
    share = case.world.plan().shares[case.node]

    assert share.over_quota_permille == case.want_permille
    if case.want_dominant is not None:
        assert share.dominant == case.want_dominant


def test_under_use_of_one_flavor_is_not_netted_off_another() -> None:
    """Case 6: on-demand 15 + 10 of 20, spot 5 of 80, 200 lendable -> 25."""
    world = world_of().flavor("spot").node("spot", gpus=200, flavor="spot")
    world.tenant("q", nominal={"a100": 20, "spot": 80}).tenant("peer", nominal={"a100": 50, "spot": 50})
    holding(world, "q", gpu=15)
    world.running("s", "q", roles=[Role("worker", 5, gpu=1, flavors=["spot"], nodes=["spot"] * 5)])

    plan = world.pending("ask", "q", replicas=10, gpu=1, flavors=["a100"]).plan()

    assert plan.shares["q"].over_quota_permille == 25


def test_a_cohort_has_a_share_of_its_own() -> None:
    """Case 7: queue 10 of 5 in a child cohort of weight 2, root pool 45 -> 100 and 50."""
    world = (
        world_of()
        .cohort("root", nominal=45)
        .cohort("child", parent="root", weight=2)
        .tenant("q", cohort="child", nominal=5)
    )

    plan = holding(world, "q", gpu=10).plan()

    assert (plan.shares["q"].over_quota_permille, plan.shares["child"].over_quota_permille) == (100, 50)


def test_dominant_share_is_the_largest_over_the_resources_that_quota_limits() -> None:
    world = World().node("big", gpus=10, cpu=100).tenant("q", nominal=10, cpu=100, weight=2)

    share = holding(world, "q", gpu=3, cpu=80).plan().shares["q"]

    assert Fraction(share.drf_numerator, share.drf_denominator) == Fraction(80, 100) / 2
    assert share.dominant == "cpu"


def test_cards_count_by_their_flavors_weight() -> None:
    world = World().node("n", gpus=10).flavor("h800", weight=2).node("m", gpus=5, flavor="h800")
    world.tenant("q", nominal={"a100": 10, "h800": 5})

    share = world.running("r", "q", roles=[Role("w", 1, gpu=5, flavors=["h800"], nodes=["m"])]).plan().shares["q"]

    assert Fraction(share.drf_numerator, share.drf_denominator) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("smaller", "larger"), [((1, 3), (10**12 + 1, 3 * 10**12)), ((0, 1), (1, 10**30)), ((5, 7), (1, 0))]
)
def test_fractions_keep_their_order_without_rounding(smaller: tuple[int, int], larger: tuple[int, int]) -> None:
    assert rank(*smaller) < rank(*larger)


def test_equal_fractions_are_equal() -> None:
    assert rank(2, 6) == rank(10**15, 3 * 10**15)
