"""SCH-03: what a node of the quota tree may still take, in Kueue's arithmetic."""

from dataclasses import dataclass

import pytest

from scheduling.engine.quota import QuotaTree, QuotaUse
from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import UNLIMITED
from scheduling.engine.vocabulary import Tier

COLUMNS = 1
NONE: tuple[int | None, ...] = (None,)


def node(
    name: str,
    kind: str,
    parent: int,
    nominal: int | None = None,
    borrowing: int | None = None,
    lending: int | None = None,
) -> TreeNode:
    return TreeNode(name, name, kind, parent, (nominal,), (borrowing,), (lending,))


def two_tenants(
    *,
    nominal: tuple[int, int] = (8, 8),
    borrowing: int | None = None,
    lending: int | None = None,
    pool: int | None = None,
) -> QuotaTree:
    """root -> a -> a/main and root -> b -> b/main; limits are on a's borrowing and b's lending."""
    return QuotaTree(
        [
            node("root", "cohort", -1, pool),
            node("a", "tenant", 0), node("a/main", "queue", 1, nominal[0], borrowing),
            node("b", "tenant", 0), node("b/main", "queue", 3, nominal[1], None, lending),
        ],
        COLUMNS,
    )  # fmt: skip


A, B = 2, 4


@dataclass(frozen=True)
class Case:
    name: str
    tree: QuotaTree
    uses: tuple[tuple[int, int], ...]
    want_a: int
    want_b: int


CASES = [
    Case("an idle cohort lends everything", two_tenants(), (), 16, 16),
    Case("what one borrows the other can no longer take", two_tenants(), ((A, 12),), 4, 4),
    Case("case 31: a borrowing limit holds even if the cohort is idle", two_tenants(borrowing=3), (), 11, 16),
    Case("case 31: what a queue keeps for itself cannot be borrowed", two_tenants(lending=2), (), 10, 16),
    Case(
        "case 31: kept quota stays its owner's when others borrowed all the rest",
        two_tenants(lending=2),
        ((A, 10),),
        0,
        6,
    ),
    Case("use inside what is kept never reaches the cohort", two_tenants(lending=2), ((B, 6),), 10, 10),
    Case("lending nothing leaves each to itself", two_tenants(lending=0, borrowing=0), (), 8, 16),
    Case("a cohort's own nominal is an extra pool", two_tenants(pool=5), (), 21, 21),
    Case("after a quota was lowered available is negative", two_tenants(nominal=(2, 0)), ((A, 7),), -5, -5),
    Case(
        "case 40: sums near the largest integer saturate",
        two_tenants(nominal=(UNLIMITED, UNLIMITED)),
        ((A, 5),),
        UNLIMITED,
        UNLIMITED,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_available(case: Case) -> None:
    use = QuotaUse(case.tree)

    for leaf, amount in case.uses:
        use.charge(leaf, [(0, amount)], Tier.DEVELOPMENT)

    assert use.available(A, 0) == case.want_a
    assert use.available(B, 0) == case.want_b


def test_refund_is_the_exact_inverse_of_charge() -> None:
    tree = two_tenants(lending=3, pool=2)
    use, fresh = QuotaUse(tree), QuotaUse(tree)
    charges = [(A, 9, Tier.BATCH), (B, 4, Tier.PRODUCTION), (B, 5, Tier.DEVELOPMENT)]

    for leaf, amount, tier in charges:
        use.charge(leaf, [(0, amount)], tier)
    for leaf, amount, tier in reversed(charges):
        use.refund(leaf, [(0, amount)], tier)

    assert use.used == fresh.used


def test_a_copy_is_independent() -> None:
    use = QuotaUse(two_tenants())
    twin = use.copy()

    twin.charge(A, [(0, 5)], Tier.BATCH)

    assert (use.available(A, 0), twin.available(A, 0)) == (16, 11)


def test_a_tenants_line_is_the_total_over_its_queues_and_no_extra_pool() -> None:
    """DESIGN section 4."""
    tree = QuotaTree(
        [node("t", "tenant", -1, 10), node("t/x", "queue", 0, 8, 0), node("t/y", "queue", 0, 8, None, 3)],
        COLUMNS,
    )

    assert tree.own(0, 0) == 10
    assert tree.potential(2, 0) == 10
    assert tree.potential(1, 0) == 5, "y keeps 5 of the 10 back, by its lending limit"


def test_without_a_line_a_tenants_nominal_is_the_sum_over_its_queues() -> None:
    tree = QuotaTree([node("t", "tenant", -1), node("t/x", "queue", 0, 8), node("t/y", "queue", 0, 4)], COLUMNS)

    assert tree.own(0, 0) == 12
    assert tree.potential(1, 0) == 12


def test_a_resource_without_any_line_is_not_limited() -> None:
    """SCH-02."""
    tree = QuotaTree([node("t", "tenant", -1), node("t/x", "queue", 0)], COLUMNS)

    assert QuotaUse(tree).available(1, 0) == UNLIMITED


def test_a_node_without_a_line_has_nominal_0_once_any_node_has_one() -> None:
    """SCH-02."""
    tree = QuotaTree(
        [node("t", "tenant", -1), node("t/x", "queue", 0), node("u", "tenant", -1), node("u/x", "queue", 2, 4)], COLUMNS
    )

    assert QuotaUse(tree).available(1, 0) == 0


def test_deep_trees_borrow_level_by_level() -> None:
    """A cohort's lending limit keeps its tenants' quota inside it, whoever asks from outside."""
    tree = QuotaTree(
        [
            node("root", "cohort", -1), node("inner", "cohort", 0, None, None, 2), node("a", "tenant", 1), node("a/main", "queue", 2, 8),
            node("b", "tenant", 0), node("b/main", "queue", 4, 4),
        ],
        COLUMNS,
    )  # fmt: skip
    use = QuotaUse(tree)

    assert use.available(5, 0) == 6
    assert use.available(3, 0) == 12
    use.charge(5, [(0, 6)], Tier.DEVELOPMENT)
    assert use.available(3, 0) == 6


def test_an_ask_of_zero_of_a_resource_above_its_quota_is_allowed() -> None:
    """Case 28."""
    use = QuotaUse(two_tenants(nominal=(0, 0)))
    use.charge(A, [(0, 3)], Tier.BATCH)

    assert use.allows(A, [(0, 0)])
    assert not use.allows(A, [(0, 1)])
