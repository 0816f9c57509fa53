"""SCH-17 where taking in order leads nowhere, or takes more than it needs: scenes that trying everything on tiny clusters brought up."""

from scheduling.engine.vocabulary import WaitCode
from tests.unit.engine.builders import World, codes, evicted, started, wait_of


def test_a_run_that_makes_room_alone_leaves_where_the_first_in_order_would_carry_its_tenant_to_nominal() -> None:
    """b is one card above, so that one run of it may leave: `pair` comes first, but only `three` makes the room that a node has to have."""
    world = World().node("n000", gpus=1).node("n001", gpus=4).tenant("a", nominal=3).tenant("b", nominal=4)
    world.running("pair", "b", replicas=2, gpu=1, nodes=["n000", "n001"], checkpoint=0)
    world.running("three", "b", gpu=3, nodes=["n001"], checkpoint=0)

    plan = world.pending("j", "a", replicas=3, gpu=1, topology=("required", "host")).plan()

    assert set(evicted(plan)) == {"three"}


def test_a_gang_leaves_last_where_its_whole_would_use_up_what_its_tenant_holds_above_nominal() -> None:
    """b is 5 above: `part` may go, and then the whole gang, but not the gang first. Seven others stand where nobody finds room."""
    world = World(nodes=3).tenant("a", nominal=16).tenant("b", nominal=14)
    world.running("gang", "b", gpu=4, nodes=["n000", "n001"], checkpoint=1).running("part", "b", gpu=4, nodes=["n000"])
    world.running("p1", "a", gpu=4, tier="production", nodes=["n001"])
    world.running("p2", "a", gpu=1, tier="production", nodes=["n002"])
    for place in range(7):
        world.running(f"s{place}", "b", gpu=1, nodes=["n002"])

    plan = world.pending("j", "a", gpu=8).plan()

    assert set(evicted(plan)) == {"gang", "part"}
    assert wait_of(plan, "j").kept == ("n000",)


def test_of_runs_that_only_their_id_tells_apart_as_few_as_possible_leave() -> None:
    world = World(nodes=2, gpus=2).tenant("a", nominal=2).tenant("idle", nominal=2).tenant("b", nominal=0)
    for name in ("x0", "x1"):
        world.running(name, "b", gpu=1, nodes=["n000"], checkpoint=0)
    world.running("y", "b", gpu=2, nodes=["n001"], checkpoint=0)

    assert set(evicted(world.pending("j", "a", gpu=2).plan())) == {"y"}


def test_nominal_is_taken_back_where_limits_were_lowered_until_nobody_lends() -> None:
    """Nothing is lendable, so no over-quota share says that b stands above (SCH-05)."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=2, lending=0).tenant("b", nominal=1, lending=0)
    world.running("b0", "b", gpu=3, nodes=["n000"])

    assert evicted(world.pending("j", "a", gpu=2).plan()) == {"b0": ("j", "reclaim-nominal", 300)}


def test_a_borrower_asks_others_once_a_lower_priority_of_its_own_queue_makes_room_within_its_limit() -> None:
    world = World(nodes=1, gpus=5).tenant("idle", nominal=3).tenant("a", nominal=2, borrowing=2).tenant("b", nominal=0)
    world.running("low", "a", gpu=2, priority=100, nodes=["n000"]).running("big", "b", gpu=3, nodes=["n000"])

    plan = world.pending("j", "a", gpu=4, priority=800).plan()

    assert {job: row[1] for job, row in evicted(plan).items()} == {"low": "priority", "big": "fair-share"}


def test_whose_leaving_lowers_the_askers_share_so_that_another_may_be_taken_is_not_spared() -> None:
    """a's share with the ask in is above b's until `low` has left, though there would be cards without it."""
    world = World(nodes=2, gpus=4).tenant("a", nominal=3).tenant("b", nominal=1, weight=2)
    world.running("low", "a", gpu=1, priority=100, nodes=["n000"]).running("big", "b", gpu=2, nodes=["n001"])
    world.running("foreign", "nobody/x", gpu=3, nodes=["n000"]).running("other", "nobody/x", gpu=1, nodes=["n001"])

    assert set(evicted(world.pending("j", "a", gpu=3, priority=800).plan())) == {"low", "big"}


def test_lower_tiers_of_a_queue_leave_where_its_share_of_the_pool_is_used_up() -> None:
    world = World(nodes=1).tenant("a").queue("a/main", nominal=8, fields={"max_pool_share_ppm": 500_000})
    world.running("batch", "a", gpu=4, tier="batch", nodes=["n000"])

    plan = world.pending("j", "a", gpu=2, tier="production").plan()

    assert evicted(plan) == {"batch": ("j", "yield", 30)}
    assert codes(plan) == {"j": "kept-for-preempted"}


def test_development_that_fits_nominal_beside_the_production_does_not_leave_for_what_batch_holds_above() -> None:
    """SCH-01: nominal fills from the highest tier down. An expired loan puts it in front of the batch run."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=6)
    world.running("dev", "a", gpu=2, nodes=["n000"], loan_expires_in=-1)
    world.running("batch", "a", gpu=2, tier="batch", nodes=["n000"]).node("n001", gpus=0)

    assert not evicted(world.pending("j", "a", gpu=4, tier="production").plan())


def test_who_finds_room_in_what_a_leaver_gives_up_beyond_what_is_taken_starts_in_the_same_cycle() -> None:
    """`first` waits for `gone`; `late` finds nothing beside its place until `big` leaves two cards for one of `own`'s."""
    world = World(nodes=1, gpus=4).tenant("a", nominal=3).tenant("b", nominal=3)
    world.running("gone", "a", gpu=1, tier="batch", nodes=["n000"], leaving_in=250)
    world.running("big", "a", gpu=2, tier="batch", nodes=["n000"])
    world.pending("first", "b", gpu=2, priority=800).pending("late", "b", gpu=1).pending("own", "a", gpu=1)

    plan = world.plan()

    assert set(evicted(plan)) == {"big"}
    assert started(plan) == {"late": ("n000",)}
    assert codes(plan) == {"first": "kept-for-preempted", "own": "kept-for-preempted"}


def test_who_finds_quota_in_what_a_borrower_gives_up_that_stepped_back_starts_in_the_same_cycle() -> None:
    """`two` steps back for `own`, which stands behind `huge` in its line and needs one card of the two."""
    world = World(nodes=1, gpus=16).tenant("a", nominal=2).tenant("b", nominal=0).tenant("c", nominal=0, weight=0.25)
    world.pending("huge", "a", gpu=8, submitted=900).pending("own", "a", gpu=1)
    world.pending("two", "b", gpu=2).pending("one", "c", gpu=1)

    plan = world.plan()

    assert set(started(plan)) == {"own", "one"}
    assert codes(plan)["two"] == "quota-borrow-limit"


def test_a_job_whose_nominal_is_promised_to_another_is_told_so_and_not_to_wait_its_turn() -> None:
    world = World(nodes=2, gpus=4).tenant("a", nominal=4, lending=0).tenant("b", nominal=4)
    world.running("r", "a", gpu=3, priority=100, nodes=["n000"]).running(
        "b0", "b", gpu=1, tier="production", nodes=["n001"]
    )

    plan = world.pending("first", "a", gpu=4, tier="production").pending("second", "a", gpu=1, tier="production").plan()

    assert codes(plan)["first"] == WaitCode.KEPT_FOR_PREEMPTED
    wait = wait_of(plan, "second")
    assert (wait.code, wait.short) == (WaitCode.RESERVED, {"gpu": 1000})
    assert [holder.job for holder in wait.holders] == ["first"]
