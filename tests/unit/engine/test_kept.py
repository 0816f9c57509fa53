"""SCH-17: what was freed for a job is kept for it, from the notice until it starts. The scene is must show 3: 8 + 8 cards."""

from tests.unit.engine.builders import World, codes, evicted, start_of, started, wait_of


def lending() -> World:
    return World(nodes=2).tenant("borrower", nominal=8).tenant("lender", nominal=8)


def test_a_borrower_takes_idle_quota_with_a_loan_that_says_whose_and_until_when() -> None:
    start = start_of(lending().pending("b1", "borrower", replicas=2, gpu=8).plan(), "b1")

    assert (start.own, start.borrowed) == ({"gpu": 8000}, {"gpu": 8000})
    (loan,) = start.loans
    assert (loan.amount_m, loan.sides) == (8000, (("tenant", "lender", 8000),))
    assert loan.expires_ms == (1_000_000 + 4 * 3600) * 1000


def test_the_lender_gets_its_nominal_back_within_the_borrowers_grace() -> None:
    world = lending().running("b1", "borrower", gpu=8, nodes=["n000", "n001"], borrowed=8, loan_expires_in=9000)

    plan = world.pending("l1", "lender", gpu=8, tier="production").plan()

    assert evicted(plan) == {"b1": ("l1", "reclaim-nominal", 300)}
    wait = wait_of(plan, "l1")
    assert (wait.code, wait.kept, wait.reserved_start_ms) == ("kept-for-preempted", ("n000",), 1_000_300_000)
    (reserve,) = plan.reserves
    assert (reserve.kind, reserve.job, reserve.nodes, reserve.cards) == (
        "kept-for-job",
        "l1",
        ("n000",),
        (("n000", 8000),),
    )


def test_while_the_grace_runs_the_place_is_kept_and_nobody_gets_a_second_notice() -> None:
    world = lending().running("b1", "borrower", gpu=8, nodes=["n000", "n001"], borrowed=8, leaving_in=200)
    world.pending("l1", "lender", gpu=8, tier="production").kept("k1", "l1", ["n000"])

    plan = world.plan()

    assert not plan.evicts
    assert codes(plan) == {"l1": "kept-for-preempted"}
    assert not plan.reserves
    assert not plan.releases


def test_when_the_borrower_has_left_the_lender_starts_as_own_and_the_reservation_is_released() -> None:
    world = lending().pending("l1", "lender", gpu=8, tier="production").kept("k1", "l1", ["n000"])
    world.pending("b1", "borrower", replicas=2, gpu=8, submitted=9000)

    plan = world.plan()

    assert started(plan) == {"l1": ("n000",)}
    assert start_of(plan, "l1").own == {"gpu": 8000}
    assert [(release.reservation, release.why) for release in plan.releases] == [("k1", "started")]
    assert codes(plan) == {"b1": "quota-borrow-limit"}


def test_nobody_else_takes_kept_cards_that_are_free_already() -> None:
    """One of two victims has left; a higher tier of a third tenant finds the card idle, and kept."""
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0).tenant("c", nominal=8)
    world.running("b1", "b", gpu=4, nodes=["n000"], leaving_in=100)
    world.pending("kept", "a", gpu=8).kept("k1", "kept", ["n000"]).pending("c1", "c", gpu=4, tier="production")

    plan = world.plan()

    assert not plan.starts
    assert codes(plan) == {"kept": "kept-for-preempted", "c1": "reserved"}


def test_a_place_that_is_no_use_any_more_moves() -> None:
    world = World(nodes=2).tenant("a", nominal=8).running("foreign", "nobody/x", gpu=8, nodes=["n000"])
    world.running("b1", "a", gpu=8, tier="batch", nodes=["n001"], leaving_in=50).pending("j", "a", gpu=8).kept(
        "k1", "j", ["n000"]
    )

    plan = world.plan()

    assert [(row.job, row.nodes) for row in plan.reserves] == [("j", ("n001",))]
    assert [(release.reservation, release.why) for release in plan.releases] == [("k1", "moved")]


def test_a_promise_to_a_job_that_is_gone_is_released() -> None:
    world = World(nodes=1).tenant("a", nominal=8).pending("j", "a", gpu=8).kept("k1", "gone", ["n000"])

    plan = world.plan()

    assert set(started(plan)) == {"j"}
    assert [(release.reservation, release.why) for release in plan.releases] == [("k1", "gone")]


def test_a_promise_that_quota_no_longer_covers_is_released() -> None:
    world = World(nodes=1).tenant("a", nominal=4).pending("j", "a", gpu=8, tier="production").kept("k1", "j", ["n000"])

    plan = world.plan()

    assert [(release.reservation, release.why) for release in plan.releases] == [("k1", "cannot-be-kept")]
    assert codes(plan) == {"j": "impossible"}


def test_a_promise_that_the_queues_share_of_the_pool_no_longer_covers_is_released() -> None:
    """The share was lowered since: half of the pool's eight cards, three of which the queue's own run holds."""
    world = World(nodes=1).tenant("a").queue("a/main", nominal=8, fields={"max_pool_share_ppm": 500_000})
    world.running("r", "a", gpu=3, nodes=["n000"]).pending("j", "a", gpu=2).kept("k1", "j", ["n000"])

    plan = world.plan()

    assert [(release.reservation, release.why) for release in plan.releases] == [("k1", "cannot-be-kept")]
    wait = wait_of(plan, "j")
    assert (wait.code, wait.detail) == ("quota-borrow-limit", "max-pool-share")


def test_two_shares_kept_on_one_card_do_not_wait_for_each_other() -> None:
    """SCH-13: the card is opened by the first of them, in the picture of now as in that of after."""
    world = World(nodes=1, gpus=1).tenant("a", nominal=1)
    for name in ("one", "two"):
        world.pending(name, "a", gpu=0.5).kept(f"k-{name}", name, ["n000"], [("worker", "n000", -1, 1)])

    plan = world.plan()

    assert started(plan) == {"one": ("n000",), "two": ("n000",)}
    assert start_of(plan, "one").pods[0].cards == start_of(plan, "two").pods[0].cards


def test_a_place_kept_for_a_smaller_size_stays_one_of_that_size() -> None:
    """SCH-10: the place of the full size would be what another job's cards are kept for."""
    world = World(nodes=2).tenant("a", nominal=16).running("r", "a", gpu=8, nodes=["n000"], leaving_in=60)
    world.running("s", "a", gpu=8, nodes=["n001"], leaving_in=60)
    world.pending("elastic", "a", replicas=2, minimum=1, gpu=8).kept(
        "k1", "elastic", ["n001"], [("worker", "n001", 0, 1)]
    )
    world.pending("other", "a", gpu=8, priority=100).kept("k2", "other", ["n000"], [("worker", "n000", 0, 1)])

    plan = world.plan()

    assert codes(plan) == {"elastic": "kept-for-preempted", "other": "kept-for-preempted"}
    assert not plan.reserves
    assert not plan.releases
