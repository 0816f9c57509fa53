"""SCH-01: what each tier may use, and SCH-15's physically backed part."""

from tests.unit.engine.builders import NOW_MS, World, codes, evicted, start_of, started, wait_of


def test_production_uses_only_its_tenants_nominal_even_beside_idle_cards() -> None:
    """Case 74. It says that it would need quota, not cards."""
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("r", "a", gpu=6, tier="production", nodes=["n000"])

    wait = wait_of(world.pending("j", "a", gpu=4, tier="production").plan(), "j")

    assert (wait.code, wait.detail, wait.suggestion) == ("quota-nominal", "idle-cards", "borrow")
    assert (wait.need["gpu"], wait.have["gpu"], wait.short["gpu"]) == (4000, 2000, 2000)


def test_development_may_borrow() -> None:
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)

    start = start_of(world.pending("j", "a", replicas=3, gpu=4).plan(), "j")

    assert (start.own, start.borrowed) == ({"gpu": 8000}, {"gpu": 4000})
    assert [pod.borrowed_m for pod in start.pods] == [0, 0, 4000], "own first, in rank order"


def test_production_inside_nominal_ignores_what_lower_tiers_hold() -> None:
    """Nominal fills from the highest tier down: development turns borrowed."""
    world = World(nodes=2).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("dev", "a", gpu=8, nodes=["n000"], borrowed=0)

    plan = world.pending("prod", "a", gpu=8, tier="production").plan()

    assert started(plan) == {"prod": ("n001",)}
    assert start_of(plan, "prod").borrowed == {"gpu": 0}
    (recharge,) = plan.recharges
    assert (recharge.job, recharge.borrowed_m) == ("dev", (("worker", 0, 8000),))
    assert [(loan.amount_m, loan.sides) for loan in recharge.loans] == [(8000, (("tenant", "b", 8000),))]


def test_production_takes_its_nominal_back_from_its_own_development_where_nothing_is_left() -> None:
    world = World(nodes=1).tenant("a", cohort=None, nominal=8).running("dev", "a", gpu=8, nodes=["n000"])

    plan = world.pending("prod", "a", gpu=8, tier="production").plan()

    assert evicted(plan) == {"dev": ("prod", "reclaim-nominal", 300)}
    assert codes(plan) == {"prod": "kept-for-preempted"}


def test_production_is_never_evicted() -> None:
    world = World(nodes=1).tenant("a", nominal=4).tenant("b", nominal=4)
    world.running("r", "b", gpu=8, tier="production", nodes=["n000"])

    plan = world.pending("j", "a", gpu=4, tier="production").plan()

    assert not plan.evicts
    assert codes(plan) == {"j": "quota-borrow-limit"}


def test_batch_runs_on_what_is_idle_and_evicts_nobody() -> None:
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0)
    world.running("r", "b", gpu=8, nodes=["n000"])

    plan = world.pending("j", "a", gpu=4, tier="batch").plan()

    assert not plan.evicts
    assert set(codes(plan)) == {"j"}
    idle = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0).pending("j", "b", gpu=4, tier="batch")
    assert set(started(idle.plan())) == {"j"}


def test_batch_yields_to_higher_tiers_of_its_own_tenant() -> None:
    world = (
        World(nodes=1).tenant("a", cohort=None, nominal=8).running("batch", "a", gpu=8, tier="batch", nodes=["n000"])
    )

    plan = world.pending("dev", "a", gpu=4).plan()

    assert evicted(plan) == {"batch": ("dev", "yield", 30)}


def test_batch_above_nominal_yields_to_any_claim_on_nominal() -> None:
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0)
    world.running("batch", "b", gpu=8, tier="batch", nodes=["n000"])

    assert evicted(world.pending("dev", "a", gpu=4).plan()) == {"batch": ("dev", "yield", 30)}


def test_batch_inside_its_own_tenants_nominal_yields_to_nobody_elses() -> None:
    """Nodes are short, since quota exceeds cards: still nobody outside may take it."""
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=8)
    world.running("batch", "b", gpu=8, tier="batch", nodes=["n000"])

    plan = world.pending("prod", "a", gpu=8, tier="production").plan()

    assert not plan.evicts
    assert codes(plan) == {"prod": "cards-busy"}


def test_batch_does_not_yield_to_batch() -> None:
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0)
    world.running("batch", "b", gpu=8, tier="batch", nodes=["n000"])

    assert not world.pending("other", "a", gpu=4, tier="batch").plan().evicts


def test_production_may_use_the_physically_backed_part_of_nominal_only() -> None:
    """SCH-15: floor(12 ÷ 1.2) = 10 of nominal 12."""
    world = World(nodes=2).pool("main", factor_ppm=1_200_000).tenant("a", nominal=12)

    assert set(started(world.pending("j", "a", replicas=10, gpu=1, tier="production").plan())) == {"j"}
    assert codes(world.pending("j", "a", replicas=11, gpu=1, tier="production").plan()) == {"j": "impossible"}
    assert set(started(world.pending("j", "a", replicas=12, gpu=1).plan())) == {"j"}


def test_what_backs_a_nominal_are_whole_cards() -> None:
    """SCH-15: floor(10 ÷ 1.2) = 8 cards, not 8.333."""
    world = World(nodes=2).pool("main", factor_ppm=1_200_000).tenant("a", nominal=10)
    world.running("r", "a", gpu=6, tier="production", nodes=["n000"])

    wait = wait_of(world.pending("j", "a", gpu=4, tier="production").plan(), "j")

    assert (wait.have["gpu"], wait.short["gpu"]) == (2_000, 2_000)


def test_two_queues_of_a_tenant_share_its_nominal_as_own() -> None:
    """DESIGN section 4: only what crosses the tenant's boundary is borrowed."""
    world = World(nodes=2).tenant("a", queues=("x", "y"), nominal=8).queue("a/y", nominal=4).tenant("b", nominal=4)

    start = start_of(world.pending("j", "a/y", replicas=14, gpu=1).plan(), "j")

    assert (start.own, start.borrowed) == ({"gpu": 12_000}, {"gpu": 2_000})


def test_an_unlimited_resource_needs_no_quota() -> None:
    """SCH-02: no line for CPU anywhere."""
    world = World().node("c", gpus=0, cpu=8).tenant("a", nominal=1)

    assert set(started(world.pending("j", "a", cpu=8, tier="production").plan())) == {"j"}


def test_a_cpu_only_job_has_no_gpu_reason() -> None:
    """SCH-02."""
    world = World().node("c", gpus=0, cpu=8).tenant("a", nominal=0, cpu=4).tenant("b", cpu=4)

    plan = (
        world.pending("quota", "a", cpu=5, tier="production")
        .running("r", "b", cpu=6, nodes=["c"])
        .pending("busy", "a", cpu=3, tier="batch")
        .plan()
    )

    assert codes(plan) == {"quota": "impossible", "busy": "quota-borrow-limit"}


def test_production_waits_for_production_that_still_holds_what_backs_the_nominal() -> None:
    """SCH-01, SCH-15: nominal 6 at a factor of 1.2 is backed by 5; two that leave hold them until they have left."""
    world = World(nodes=1).pool("main", factor_ppm=1_200_000).tenant("a", nominal=6).tenant("b", nominal=3)
    world.running("old", "a", gpu=2, tier="production", nodes=["n000"], leaving_in=200)

    plan = world.pending("j", "a", gpu=4, tier="production").plan()

    assert not plan.starts
    assert codes(plan) == {"j": "kept-for-preempted"}
    assert wait_of(plan, "j").reserved_start_ms == NOW_MS + 200_000


def test_nobody_borrows_under_a_policy_without_borrowing_while_others_of_its_tenant_leave() -> None:
    world = World(nodes=2).tenant("a", nominal=4).tenant("b", nominal=12)
    world.running("old", "a", gpu=4, nodes=["n000"], leaving_in=200)

    assert not world.pending("j", "a", gpu=4).plan("static-quota").starts
