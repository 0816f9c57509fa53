"""SCH-02, SCH-09, SCH-11, SCH-12: where pods go, or why they go nowhere."""

from dataclasses import dataclass, field

import pytest

from scheduling.engine.vocabulary import NodeState
from tests.unit.engine.builders import Role, World, codes, start_of, started, wait_of

REQUIRED, PREFERRED = ("required", "rack"), ("preferred", "rack")


def cluster(free: dict[str, int], racks: dict[str, str] | None = None) -> World:
    """Nodes of 8 cards of which only `free` are free; plenty of quota."""
    world = World().tenant("a", nominal=1000).tenant("busy", nominal=1000)
    for name, cards in free.items():
        world.node(name, gpus=8, labels={"rack": racks[name]} if racks else {})
        if cards < 8:
            world.running(f"on-{name}", "busy", gpu=8 - cards, nodes=[name])
    return world


@dataclass(frozen=True)
class Case:
    name: str
    free: dict[str, int]
    want: tuple[str, ...] | str
    pods: int = 1
    gpu: int = 8
    racks: dict[str, str] | None = None
    topology: tuple[str, str] = ("none", "")
    want_crossed: tuple[str, ...] = field(default=())


RACKS = {"n1": "r0", "n2": "r0", "n3": "r1", "n4": "r1", "n5": "r1"}

CASES = [
    Case("the tightest node that fits, so that whole nodes stay whole", {"n1": 8, "n2": 3, "n3": 2}, ("n3",), gpu=2),
    Case("equal nodes by name", {"n2": 4, "n1": 4}, ("n1",), gpu=2),
    Case("case 41: 8 free split over nodes do not fit one pod of 8", {"n1": 4, "n2": 4}, "fragmented"),
    Case("too few free in total", {"n1": 4, "n2": 2}, "cards-busy"),
    Case("a gang starts whole", {"n1": 8, "n2": 8}, ("n1", "n2"), pods=2, want_crossed=("host",)),
    Case("a gang with a node too few does not start at all", {"n1": 8, "n2": 8, "n3": 4}, "cards-busy", pods=3),
    Case("a gang on one node rather than over two", {"n1": 4, "n2": 8}, ("n2", "n2"), pods=2, gpu=4),
    Case("case 42: required means all in one rack", {"n1": 8, "n2": 0, "n3": 8}, "topology", 2, 8, RACKS, REQUIRED),
    Case("required, and one rack has room", {"n1": 8, "n2": 0, "n3": 8, "n4": 8}, ("n3", "n4"), 2, 8, RACKS, REQUIRED, ("host",)),
    Case("case 42: preferred takes one rack if it can", {"n1": 8, "n3": 8, "n4": 8}, ("n3", "n4"), 2, 8, RACKS, PREFERRED, ("host",)),
    Case("case 42: preferred climbs when it cannot", {"n1": 8, "n3": 8}, ("n1", "n3"), 2, 8, RACKS, PREFERRED, ("host", "rack")),
    Case("the tightest rack that fits", {"n1": 8, "n2": 8, "n3": 8, "n4": 8, "n5": 8}, ("n1", "n2"), 2, 8, RACKS, REQUIRED, ("host",)),
    Case(
        "case 43: fewest racks first, then fewest nodes", {"n1": 4, "n2": 4, "n3": 8, "n4": 4, "n5": 4},
        ("n3", "n3", "n4", "n5"), 4, 4, RACKS, PREFERRED, ("host",),
    ),
    Case("required host is one node", {"n1": 4, "n2": 8}, ("n2", "n2"), 2, 4, RACKS, ("required", "host")),
    Case("no node holds both", {"n1": 4, "n2": 4}, "topology", 2, 4, RACKS, ("required", "host")),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_place(case: Case) -> None:
    plan = (
        cluster(case.free, case.racks)
        .pending("j", "a", replicas=case.pods, gpu=case.gpu, topology=case.topology)
        .plan()
    )

    if isinstance(case.want, str):
        assert codes(plan) == {"j": case.want}
    else:
        assert sorted(started(plan)["j"]) == list(case.want)
        assert start_of(plan, "j").levels_crossed == case.want_crossed


def test_each_level_crossed_slows_a_gang_down() -> None:
    plan = cluster({"n1": 8, "n3": 8}, RACKS).pending("j", "a", replicas=2, gpu=8).plan()

    assert start_of(plan, "j").slowdown_ppm == 392_400, "1.18 × 1.18"


def test_pods_get_the_lowest_free_healthy_cards() -> None:
    world = World().node("n", gpus=4, bad=[1]).tenant("a", nominal=4)

    plan = world.pending("j", "a", replicas=2, gpu=1).plan()

    assert [pod.cards for pod in start_of(plan, "j").pods] == [(0,), (2,)]


def test_a_card_out_of_service_is_no_capacity() -> None:
    world = World().node("n", gpus=4, bad=[1]).tenant("a", nominal=8)

    assert codes(world.pending("j", "a", gpu=4).plan()) == {"j": "impossible"}


def test_case_59_a_gang_of_five_on_a_node_for_three_pods_starts_none() -> None:
    world = World().node("n", gpus=8, max_pods=3).node("m", gpus=8, max_pods=1).tenant("a", nominal=16)

    plan = world.pending("gang", "a", replicas=5, gpu=1).pending("three", "a", replicas=3, gpu=1).plan()

    assert started(plan) == {"three": ("n", "n", "n")}
    assert codes(plan) == {"gang": "impossible"}


@pytest.mark.parametrize("state", [NodeState.CORDONED, NodeState.NOT_READY, NodeState.LOST])
def test_case_56_nothing_new_on_a_node_that_is_not_ready_and_what_runs_there_stays(state: NodeState) -> None:
    world = World().node("n", gpus=8, state=state).tenant("a", nominal=8)

    plan = world.running("r", "a", gpu=1, nodes=["n"]).pending("j", "a", gpu=1).plan()

    assert not plan.evicts
    assert codes(plan) == {"j": "cards-busy"}


def test_roles_of_a_job_may_differ_and_start_together() -> None:
    world = World(nodes=2, cpu=64, memory=256).tenant("a", nominal=16)
    roles = [Role("ps", 2, cpu=4), Role("worker", 2, gpu=8, cpu=8)]

    plan = world.pending("j", "a", roles=roles).plan()

    assert [pod.role for pod in start_of(plan, "j").pods] == ["ps", "ps", "worker", "worker"]


def test_a_job_whose_second_role_does_not_fit_starts_nothing() -> None:
    world = World(nodes=1, cpu=8).tenant("a", nominal=16)

    plan = world.pending("j", "a", roles=[Role("worker", 1, gpu=1, cpu=4), Role("ps", 1, cpu=5)]).plan()

    assert not plan.starts
    assert codes(plan) == {"j": "impossible"}


def test_cpu_only_jobs_leave_every_free_cards_part_of_cpu() -> None:
    """SCH-02: 8 cards, 64 cores: a free card keeps 8."""
    world = World(nodes=1, cpu=64).tenant("a", nominal=8).running("r", "a", gpu=6, cpu=6, nodes=["n000"])

    assert set(started(world.pending("j", "a", cpu=42).plan())) == {"j"}
    wait = wait_of(world.pending("j", "a", cpu=43).plan(), "j")
    assert (wait.code, wait.need["cpu"], wait.have["cpu"]) == ("cpu-busy", 43_000, 42_000)


def test_cpu_only_jobs_take_nodes_without_idle_cards_first() -> None:
    world = World(nodes=1, cpu=64).node("plain", gpus=0, cpu=128).tenant("a", nominal=8)

    assert started(world.pending("j", "a", cpu=4).plan()) == {"j": ("plain",)}


def test_a_pool_may_keep_cpu_headroom_from_card_jobs() -> None:
    world = World(nodes=1, cpu=64).pool("main", cpu_headroom_m=8000).tenant("a", nominal=8)

    assert codes(world.pending("j", "a", gpu=1, cpu=60).plan()) == {"j": "impossible"}
    assert set(started(world.pending("j", "a", gpu=1, cpu=56).plan())) == {"j"}


def test_a_job_takes_the_first_flavor_it_names_that_fits_and_inside_nominal_before_borrowing() -> None:
    world = World(nodes=1).flavor("h800").node("m", gpus=8, flavor="h800")
    world.tenant("a", nominal={"a100": 0, "h800": 4}).tenant("b", nominal={"a100": 8, "h800": 8})

    plan = world.pending("j", "a", gpu=4, flavors=["a100", "h800"]).plan()

    assert started(plan) == {"j": ("m",)}
    assert start_of(plan, "j").borrowed == {"gpu": 0}


def test_a_queue_uses_only_its_own_pool() -> None:
    """SCH-14."""
    world = (
        World(nodes=1)
        .pool("other")
        .flavor("a100@other", pool="other")
        .node("m", gpus=8, flavor="a100@other", pool="other")
    )
    world.tenant("a", nominal=8).queue("a/side", pool="other", nominal={"a100@other": 8})

    plan = (
        world.pending("j1", "a", gpu=8)
        .pending("j2", "a/side", gpu=8)
        .pending("j3", "a/side", gpu=1, flavors=["a100"])
        .plan()
    )

    assert started(plan) == {"j1": ("n000",), "j2": ("m",)}
    assert codes(plan) == {"j3": "impossible"}


def test_a_role_outside_the_gang_starts_when_it_fits() -> None:
    """SCH-09: the evaluator does not hold the gang up, and joins later."""
    roles = [Role("worker", 1, gpu=8), Role("evaluator", 1, gpu=2, in_gang=False)]
    world = World(nodes=1).tenant("a", nominal=16).pending("j", "a", roles=roles)

    assert started(world.plan()) == {"j": ("n000",)}
    assert started(world.node("n001").plan()) == {"j": ("n000", "n001")}

    running = World(nodes=2).tenant("a", nominal=16)
    running.running(
        "j", "a", roles=[Role("worker", 1, gpu=8, nodes=["n000"]), Role("evaluator", 1, gpu=2, in_gang=False)]
    )
    (joined,) = running.plan().resizes
    assert (joined.role, joined.old, joined.new, joined.added[0].node) == ("evaluator", 0, 1, "n001")


def test_a_role_outside_the_gang_borrows_only_where_its_job_does_already() -> None:
    """SCH-09, SCH-17: reclaim takes a whole run, so an evaluator must not make a gang inside its nominal worth reclaiming."""
    roles = [Role("worker", 1, gpu=8), Role("evaluator", 1, gpu=2, in_gang=False)]
    lender = World(nodes=4).tenant("a", nominal=8).tenant("b", nominal=16)

    assert started(lender.pending("j", "a", roles=roles).plan()) == {"j": ("n000",)}
    running = [Role("worker", 1, gpu=8, nodes=["n000"]), Role("evaluator", 1, gpu=2, in_gang=False)]
    assert (
        World(nodes=4).tenant("a", nominal=8).tenant("b", nominal=16).running("j", "a", roles=running).plan().resizes
        == ()
    )

    poor = World(nodes=4).tenant("a", nominal=4).tenant("b", nominal=16)
    assert started(poor.pending("j", "a", roles=roles).plan()) == {"j": ("n000", "n001")}
    poor = World(nodes=4).tenant("a", nominal=4).tenant("b", nominal=16)
    assert [each.role for each in poor.running("j", "a", roles=running, borrowed=4).plan().resizes] == ["evaluator"]


def test_a_role_outside_the_gang_that_has_ended_does_not_join_again() -> None:
    """SCH-09: it had its pods in this run, and has done its work."""
    world = World(nodes=2).tenant("a", nominal=16)
    roles = [Role("worker", 1, gpu=8, nodes=["n000"]), Role("evaluator", 1, gpu=2, in_gang=False)]

    assert world.running("j", "a", roles=roles, had={1}).plan().resizes == ()


def test_a_gang_says_what_it_is_short_of_and_who_holds_it() -> None:
    """SCH-21, must show 4: 4 × 8 cards, 3 whole nodes free, half of the fourth in use."""
    world = World(nodes=4).tenant("a", nominal=64).running("half", "a", gpu=4, nodes=["n002"])

    wait = wait_of(world.pending("gang", "a", replicas=4, gpu=8).plan(), "gang")

    assert wait.code == "cards-busy"
    assert (wait.need["gpu"], wait.have["gpu"], wait.short["gpu"]) == (32_000, 28_000, 4_000)
    assert (wait.need["nodes"], wait.have["nodes"], wait.short["nodes"]) == (4, 3, 1)
    assert [(holder.job, holder.tenant, holder.amounts) for holder in wait.holders] == [("half", "a", {"gpu": 4000})]


def test_cpu_headroom_is_for_cpu_only_jobs_also_where_all_cards_are_idle() -> None:
    """SCH-02: 64 cores, 8 kept for CPU jobs; the 56 others are the idle cards' parts."""
    world = World(nodes=1, cpu=64).pool("main", cpu_headroom_m=8000).tenant("a", nominal=8)
    world.pending("fits", "a", gpu=0, cpu=8, submitted=9).pending("more", "a", gpu=0, cpu=1, submitted=1)

    plan = world.plan()

    assert (started(plan), codes(plan)) == ({"fits": ("n000",)}, {"more": "cpu-busy"})
