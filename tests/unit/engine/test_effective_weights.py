"""SCH-06: what past use and idle cards take off a weight, and off what may be borrowed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from scheduling.engine.policy import PRESETS
from scheduling.engine.quota import QuotaTree, QuotaUse
from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import ONE_PPM, UNLIMITED
from scheduling.engine.weights import Usage, weigh, weighings

HOUR = 3_600_000
DEFAULT = PRESETS["default"]


def a_node(
    name: str, kind: str, parent: int, *, weight: float = 1, nominal: int | None = None, **limits: int
) -> TreeNode:
    """One column; `borrowing`, `lending` and `scale` (ppm) as given."""
    ppm = int(weight * ONE_PPM)
    return TreeNode(
        *(name, name, kind, parent, (nominal,), (limits.get("borrowing"),), (limits.get("lending"),), ppm, ppm),
        borrow_scale_ppm=limits.get("scale", ONE_PPM),
    )


def two_tenants(*weights: float) -> tuple[TreeNode, ...]:
    """root -> a (two queues) and b (one); weights of a, b, a/x, a/y."""
    a, b, x, y = weights or (1, 1, 1, 1)
    return (
        a_node("root", "cohort", -1),
        a_node("a", "tenant", 0, weight=a), a_node("b", "tenant", 0, weight=b),
        a_node("a/x", "queue", 1, weight=x), a_node("a/y", "queue", 1, weight=y), a_node("b/z", "queue", 2),
    )  # fmt: skip


A, B, X, Y, Z = 1, 2, 3, 4, 5


def hours(decayed: float, busy: float | None = None, coverage: float = 1, held: float = 0) -> Usage:
    """Decayed card-hours, utilisation and coverage as shares, card-hours held in the last 7 days."""
    utilisation = None if busy is None else int(busy * ONE_PPM)
    return Usage(int(decayed * HOUR), utilisation, int(coverage * ONE_PPM), int(held * HOUR))


@dataclass(frozen=True)
class Case:
    """`want` is node -> (history factor, penalty, effective weight), in ppm."""

    name: str
    usage: Mapping[int, Usage]
    want: Mapping[int, tuple[int, int, int]]
    tree: tuple[TreeNode, ...] = field(default_factory=two_tenants)


CASES = [
    Case("nobody used anything: weights are as set", {}, {A: (ONE_PPM, 0, ONE_PPM), X: (ONE_PPM, 0, ONE_PPM)}),
    Case(
        "of two equal siblings one used everything: U/S = 2, F = 1/4 against 1",
        {X: hours(8)},
        {A: (250_000, 0, 775_000), B: (ONE_PPM, 0, ONE_PPM), X: (250_000, 0, 775_000), Y: (ONE_PPM, 0, ONE_PPM)},
    ),
    Case(
        "as much as its weight stands for: F = 1/2 for both, whatever the amounts",
        {X: hours(10), Z: hours(30)},
        {A: (500_000, 0, 2 * 850_000 // 2), B: (500_000, 0, 3 * 850_000)},
        two_tenants(1, 3, 1, 1),
    ),
    Case("without siblings history says nothing", {Z: hours(9)}, {Z: (ONE_PPM, 0, ONE_PPM)}),
    Case("a weight of 0 stays 0", {Z: hours(9)}, {B: (ONE_PPM, 0, 0)}, two_tenants(1, 0, 1, 1)),
    Case("utilisation at the target costs nothing", {Z: hours(1, 0.6)}, {Z: (ONE_PPM, 0, ONE_PPM)}),
    Case("a third below it costs a third", {Z: hours(1, 0.4)}, {Z: (ONE_PPM, 333_333, 666_667)}),
    Case("the penalty has a largest value", {Z: hours(1, 0)}, {Z: (ONE_PPM, 500_000, 500_000)}),
    Case("nine tenths of held time with samples are enough", {Z: hours(1, 0.4, 0.9)}, {Z: (ONE_PPM, 333_333, 666_667)}),
    Case("less is unknown, never idle", {Z: hours(1, 0.4, 0.899)}, {Z: (ONE_PPM, 0, ONE_PPM)}),
    Case("no samples at all are unknown too", {Z: hours(1, None, 1)}, {Z: (ONE_PPM, 0, ONE_PPM)}),
    Case(
        "a tenant's penalty is of what its queues held together, by card-time of the last days",
        {X: hours(5, 0.3, held=30), Y: hours(5, 0.6, held=10)},
        {A: (250_000, 375_000, 775_000 * 625 // 1000), X: (500_000, 500_000, 425_000), Y: (500_000, 0, 850_000)},
    ),
    Case(
        "a queue without samples is left out of its tenant's utilisation, not counted as idle",
        {X: hours(95, 0.6, held=95), Y: hours(5, None, 0, held=5)},
        {A: (250_000, 0, 775_000)},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_weights_by_past_use(case: Case) -> None:
    """SCH-06."""
    found = weighings(case.tree, case.usage, DEFAULT)

    got = {i: (found[i].history_ppm, found[i].penalty_ppm, found[i].effective_weight_ppm) for i in case.want}
    assert got == case.want
    weighed = weigh(case.tree, case.usage)
    assert [node.effective_weight_ppm for node in weighed] == [each.effective_weight_ppm for each in found]
    scales = [ONE_PPM - found[i].penalty_ppm if node.kind == "queue" else ONE_PPM for i, node in enumerate(case.tree)]
    assert [node.borrow_scale_ppm for node in weighed] == scales


def test_the_numbers_are_the_policys() -> None:
    """k = 1, target 0.8, at most 0.2 off, half of it covered: U/S = 2 twice, F = 1/4."""
    policy = replace(
        DEFAULT, history_ppm=ONE_PPM, idle_target_ppm=800_000, idle_penalty_ppm=200_000, idle_coverage_ppm=500_000
    )

    found = weighings(two_tenants(), {X: hours(8, 0.4, 0.5)}, policy)

    assert (found[X].history_ppm, found[X].penalty_ppm, found[X].effective_weight_ppm) == (250_000, 200_000, 200_000)


def test_history_falls_evenly_between_the_powers_of_two() -> None:
    """2^-(U/S) with U/S = 1.5 is 0.353553; it never rises with use, and nothing overflows."""
    factor = weighings(two_tenants(), {X: hours(3), Z: hours(1)}, DEFAULT)[A].history_ppm
    shares = [weighings(two_tenants(), {X: hours(n), Z: hours(100)}, DEFAULT)[A].history_ppm for n in range(0, 2000, 7)]
    light = weighings(two_tenants(0.000001, 1000, 1, 1), {X: Usage(2**62)}, DEFAULT)[A].history_ppm

    assert factor == 353_553
    assert shares == sorted(shares, reverse=True)
    assert light == 0


@dataclass(frozen=True)
class Borrowing:
    """Milli-cards that `a/x` may take while `uses` are held, with half of its borrowing left."""

    name: str
    tree: tuple[TreeNode, ...]
    uses: tuple[tuple[int, int], ...]
    want: int
    want_unscaled: int


def lenders(
    *, own: int | None = None, scale: int = 500_000, nominal: int = 8_000, **limits: int
) -> tuple[TreeNode, ...]:
    """a/x with 8 cards and a/y with 4 beside b/z with 16; `own` is the tenant's own line, limits are those of a/x."""
    return (
        a_node("root", "cohort", -1),
        a_node("a", "tenant", 0, nominal=own), a_node("b", "tenant", 0),
        a_node("a/x", "queue", 1, nominal=nominal, scale=scale, **limits), a_node("a/y", "queue", 1, nominal=4_000),
        a_node("b/z", "queue", 2, nominal=16_000),
    )  # fmt: skip


BORROWING = [
    Borrowing("nominal, the sibling's and half of what the cohort lends", lenders(), (), 20_000, 28_000),
    Borrowing("the tenant's own quota is no borrowing", lenders(), ((Z, 16_000),), 12_000, 12_000),
    Borrowing("what others left of it may be all that is there", lenders(), ((Z, 10_000),), 18_000, 18_000),
    Borrowing("borrowing of the whole tenant counts against it", lenders(), ((Y, 10_000),), 10_000, 18_000),
    Borrowing("an explicit limit shrinks with it", lenders(borrowing=3_000), (), 9_500, 11_000),
    Borrowing("a penalty of all leaves the tenant's own", lenders(scale=0), (), 12_000, 28_000),
    Borrowing("a scale of one changes nothing", lenders(scale=ONE_PPM), (), 28_000, 28_000),
    Borrowing("who holds more already may take nothing", lenders(borrowing=4_000), ((X, 11_000),), -1_000, 1_000),
    Borrowing("sums near the largest integer saturate", lenders(nominal=UNLIMITED), (), UNLIMITED, UNLIMITED),
]


@pytest.mark.parametrize("case", BORROWING, ids=lambda case: case.name)
def test_what_a_queue_with_a_penalty_may_take(case: Borrowing) -> None:
    """SCH-06: p also scales what the queue may borrow now."""
    tree = QuotaTree(case.tree, 1)
    use = QuotaUse(tree)
    for leaf, amount in case.uses:
        use.charge(leaf, [(0, amount)], 0)

    assert use.available(X, 0) == case.want
    assert use.available(X, 0, way=tree.descent(X, 0)) == case.want_unscaled
