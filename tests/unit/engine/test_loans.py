"""SCH-16: loans, their sides and their end; SCH-03: when the split of a running job changes."""

from tests.unit.engine.builders import World, evicted, start_of


def borrower(**fields: object) -> World:
    world = World(nodes=2).tenant("a").queue("a/main", nominal=8, fields=fields).tenant("b", nominal=8)
    return world.running("r", "a", replicas=2, gpu=8, nodes=["n000", "n001"], borrowed=8, loan_expires_in=-1)


def test_an_expired_loan_is_renewed_where_nobody_on_the_lenders_side_waits() -> None:
    plan = borrower().loan("l1", "r", 8, expires_in=-1, sides={"b": 8}).plan()

    assert not plan.evicts
    assert [(change.loan, change.why, change.expires_ms) for change in plan.loans] == [("l1", "renewed", 1_014_400_000)]


def test_an_expired_loan_is_reclaimed_for_the_lenders_work() -> None:
    plan = borrower().loan("l1", "r", 8, expires_in=-1, sides={"b": 8}).pending("j", "b", gpu=8).plan()

    assert evicted(plan) == {"r": ("j", "loan-expired", 300)}
    assert not plan.loans


def test_a_lender_need_not_wait_for_the_expiry() -> None:
    world = borrower()
    world.running_rows["r"].extra["loan_expires_in"] = 9000

    assert evicted(world.pending("j", "b", gpu=8).plan()) == {"r": ("j", "reclaim-nominal", 300)}


def test_strict_expiry_ends_a_loan_though_nobody_waits() -> None:
    plan = borrower(strict_expiry=True).loan("l1", "r", 8, expires_in=-1, sides={"b": 8}).plan()

    assert evicted(plan) == {"r": (None, "loan-expired", 300)}
    assert not plan.loans


def test_a_loan_that_has_not_expired_is_left_alone() -> None:
    world = borrower(strict_expiry=True).loan("l1", "r", 8, expires_in=60)
    world.running_rows["r"].extra["loan_expires_in"] = 60

    plan = world.plan()

    assert not plan.evicts
    assert not plan.loans


def test_the_lenders_side_is_spread_in_proportion_by_largest_remainder() -> None:
    """10 cards from 5 + 3 + 4 unused: 4.17, 2.5, 3.33; whole cards are lent whole."""
    world = World(nodes=4).tenant("z", nominal=0)
    for tenant, nominal in (("b", 5), ("c", 3), ("d", 4)):
        world.tenant(tenant, nominal=nominal)

    (loan,) = start_of(world.pending("j", "z", replicas=10, gpu=1).plan(), "j").loans

    assert loan.sides == (("tenant", "b", 4000), ("tenant", "c", 3000), ("tenant", "d", 3000))


def test_whole_cards_of_a_lender_go_before_parts_of_another() -> None:
    world = World(nodes=2).tenant("z", nominal=0).tenant("b", nominal=1.5).tenant("c", nominal=1)

    (loan,) = start_of(world.pending("j", "z", replicas=2, gpu=1).plan(), "j").loans

    assert loan.sides == (("tenant", "b", 1000), ("tenant", "c", 1000))


def test_lenders_with_half_cards_left_cover_a_whole_one_together() -> None:
    world = World(nodes=2).tenant("z", nominal=0).tenant("b", nominal=0.5).tenant("c", nominal=1.5)

    (loan,) = start_of(world.pending("j", "z", replicas=2, gpu=1).plan(), "j").loans

    assert loan.sides == (("tenant", "b", 500), ("tenant", "c", 1500))


def test_a_cohorts_own_nominal_lends_too_and_kept_quota_does_not() -> None:
    world = World(nodes=4).cohort("root", nominal=2).tenant("z", nominal=0).tenant("b", nominal=6, lending=2)

    (loan,) = start_of(world.pending("j", "z", replicas=4, gpu=1).plan(), "j").loans

    assert loan.sides == (("tenant", "b", 2000), ("cohort", "root", 2000))


def test_what_open_loans_took_is_not_lent_twice() -> None:
    world = World(nodes=2).tenant("a", nominal=0).tenant("b", nominal=8).tenant("c", nominal=8)
    world.running("r", "a", gpu=8, nodes=["n000"], borrowed=8).loan("l1", "r", 8, expires_in=99, sides={"b": 8})

    (loan,) = start_of(world.pending("j", "a", gpu=8).plan(), "j").loans

    assert loan.sides == (("tenant", "c", 8000),)


def test_borrowed_work_turns_own_when_its_tenant_is_inside_nominal_again() -> None:
    """The oldest first; and its loan ends."""
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("old", "a", gpu=4, nodes=["n000"], started=900, borrowed=4).loan(
        "l1", "old", 4, expires_in=99, sides={"b": 4}
    )
    world.running("new", "a", gpu=8, nodes=["n001"], started=100, borrowed=8).loan(
        "l2", "new", 8, expires_in=99, sides={"b": 8}
    )

    plan = world.plan()

    assert [(row.job, row.borrowed_m) for row in plan.recharges] == [
        ("new", (("worker", 0, 4000),)),
        ("old", (("worker", 0, 0),)),
    ]
    assert {change.loan: change.why for change in plan.loans} == {"l1": "own-now", "l2": "resplit"}
    assert [loan.amount_m for row in plan.recharges for loan in row.loans] == [4000]


def test_a_split_that_is_right_is_left_alone() -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", replicas=2, gpu=8, nodes=["n000", "n001"], borrowed=8)

    assert not world.plan().recharges


def test_runs_whose_split_is_unknown_are_left_alone() -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)

    assert not world.running("r", "a", replicas=2, gpu=8, nodes=["n000", "n001"]).plan().recharges


def test_a_loan_shrinks_with_the_pods_that_ended_before_the_others() -> None:
    world = World(nodes=2).tenant("a", nominal=0).tenant("b", nominal=16)
    world.running("r", "a", gpu=8, nodes=["n000"], borrowed=8).loan("l1", "r", 16, expires_in=99, sides={"b": 16})

    plan = world.plan()

    assert [(change.loan, change.why) for change in plan.loans] == [("l1", "resplit")]
    (recharge,) = plan.recharges
    assert recharge.borrowed_m == (("worker", 0, 8000),)
    assert [(loan.amount_m, loan.sides) for loan in recharge.loans] == [(8000, (("tenant", "b", 8000),))]
