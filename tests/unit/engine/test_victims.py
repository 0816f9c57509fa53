"""SCH-17: who leaves for whom. Single cards on one node unless said; queues a, b, c with nominal 3 each as in the worked cases."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.unit.engine.builders import World, codes, evicted, started, wait_of


def three_queues(held: dict[str, int], gpus: int = 9) -> World:
    """Nominal 3 each, as many single-card development runs as `held` says: b0 is the newest of b."""
    world = World(nodes=1, gpus=gpus)
    for tenant in "abc":
        world.tenant(tenant, nominal=3)
        for place in range(held.get(tenant, 0)):
            world.running(f"{tenant}{place}", tenant, gpu=1, nodes=["n000"], started=600 + 100 * place)
    return world


def test_case_10_a_queue_reclaims_its_own_nominal() -> None:
    assert evicted(three_queues({"a": 3, "b": 5, "c": 1}).pending("j", "c", gpu=1).plan()) == {
        "b0": ("j", "reclaim-nominal", 300)
    }


def test_case_12_everyone_at_nominal_nobody_leaves() -> None:
    plan = three_queues({"a": 3, "b": 3, "c": 3}).pending("j", "c", gpu=1).plan()

    assert not plan.evicts
    assert codes(plan) == {"j": "quota-borrow-limit"}


def test_one_whole_gang_may_carry_its_queue_below_nominal() -> None:
    """Case 16."""
    world = three_queues({}).running("all", "b", replicas=9, gpu=1, nodes=["n000"] * 9)

    assert set(evicted(world.pending("j", "a", replicas=2, gpu=1).plan())) == {"all"}


def test_case_28_an_ask_of_zero_of_a_resource_at_nominal_does_not_block_reclaim_of_another() -> None:
    world = World(nodes=1, gpus=4, cpu=8).tenant("a", nominal=2, cpu=0).tenant("b", nominal=2, cpu=8)
    world.running("cpu", "a", cpu=4, tier="batch", nodes=["n000"])
    for place in range(4):
        world.running(f"b{place}", "b", gpu=1, nodes=["n000"])

    assert [row[1] for row in evicted(world.pending("j", "a", gpu=1).plan()).values()] == ["reclaim-nominal"]


def test_case_29_a_job_inside_its_nominal_is_never_chosen_over_a_borrowers() -> None:
    world = (
        three_queues({"b": 5})
        .running("low", "c", gpu=1, priority=0, nodes=["n000"])
        .running("r", "a", replicas=2, gpu=1, nodes=["n000"] * 2)
    )

    plan = world.pending("x", "a", gpu=1).pending("y", "a", gpu=1).plan()

    assert started(plan) == {"x": ("n000",)} or set(evicted(plan)) <= {"b0", "b1"}
    assert "low" not in evicted(plan)


def test_case_30_whoever_is_leaving_already_is_counted_first_and_gets_no_second_notice() -> None:
    """Case 72 too: one is enough, and it is the one that leaves anyway."""
    world = three_queues({"a": 3, "b": 4, "c": 1}).running("b9", "b", gpu=1, nodes=["n000"], leaving_in=100)

    plan = world.pending("j", "c", gpu=1).plan()

    assert not plan.evicts
    wait = wait_of(plan, "j")
    assert (wait.code, wait.kept, wait.reserved_start_ms) == ("kept-for-preempted", ("n000",), 1_000_000_000 + 100_000)


def test_the_largest_over_quota_share_gives_first() -> None:
    world = three_queues({"a": 4, "b": 5})

    assert set(evicted(world.pending("j", "c", replicas=1, gpu=1).plan())) == {"b0"}


def test_shares_are_weighed_again_after_every_choice() -> None:
    """b is 3 above and a 1 above: two of b's go, then the tie at 1 goes by key."""
    world = three_queues({"a": 3, "b": 6})

    assert set(evicted(world.pending("j", "c", replicas=3, gpu=1).plan())) == {"b0", "b1", "b2"}


@dataclass(frozen=True)
class Case:
    name: str
    left: dict[str, Any]
    right: dict[str, Any]
    want: str


CASES = [
    Case("an expired loan before a lower tier", {"loan_expires_in": -1}, {"tier": "batch"}, "left"),
    Case("lower tier", {}, {"tier": "batch", "priority": 900}, "right"),
    Case("lower priority", {"priority": 400, "started": 9000}, {"priority": 500}, "left"),
    Case("least work lost, by the last checkpoint", {"started": 9000, "checkpoint": 10}, {"started": 600}, "left"),
    Case("newest start where as much is lost", {"started": 9000, "checkpoint": 600}, {"started": 600}, "right"),
    Case("id at last", {}, {}, "left"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_who_goes_first(case: Case) -> None:
    world = World(nodes=1, gpus=2).tenant("a", nominal=2).tenant("b", nominal=0)
    world.running("left", "b", gpu=1, nodes=["n000"], **case.left).running(
        "right", "b", gpu=1, nodes=["n000"], **case.right
    )

    assert set(evicted(world.pending("j", "a", gpu=1).plan())) == {case.want}


def test_the_reverse_pass_spares_whoever_proved_unneeded() -> None:
    """Case 27's shape: the small one comes first in order but does not help; case 65: only on the node that is used."""
    world = World(nodes=1, gpus=4).node("m", gpus=8).tenant("a", nominal=8).tenant("b", nominal=4)
    world.running("small", "b", gpu=4, tier="batch", nodes=["n000"]).running("big", "b", gpu=8, nodes=["m"])

    assert set(evicted(world.pending("j", "a", gpu=8).plan())) == {"big"}


def test_nobody_leaves_where_it_would_not_let_the_job_start() -> None:
    world = World(nodes=2, gpus=4).tenant("a", nominal=8).tenant("b", nominal=0)
    world.running("b0", "b", gpu=2, nodes=["n000"]).running("prod", "a", gpu=1, tier="production", nodes=["n001"])

    plan = world.pending("j", "a", replicas=2, gpu=4, tier="production").plan()

    assert not plan.evicts


def test_a_gang_reclaims_whole_nodes() -> None:
    world = World(nodes=3).tenant("a", nominal=16).tenant("b", nominal=8)
    for place, node in enumerate(["n000", "n000", "n001", "n001", "n002", "n002"]):
        world.running(f"b{place}", "b", gpu=4, nodes=[node], started=600 + place)

    plan = world.pending("gang", "a", replicas=2, gpu=8).plan()

    assert set(evicted(plan)) == {"b0", "b1", "b2", "b3"}
    assert wait_of(plan, "gang").kept == ("n000", "n001")


def test_a_claim_for_a_whole_node_clears_the_node_that_costs_least_where_taking_in_order_leads_nowhere() -> None:
    """b is 8 above its nominal of 4: taking its newest two in order would leave both nodes half full and b at nominal."""
    world = World(nodes=2).tenant("a", nominal=12).tenant("b", nominal=4)
    world.running("prod", "a", gpu=4, tier="production", nodes=["n001"]).running(
        "b3", "b", gpu=4, nodes=["n001"], started=60
    )
    world.running("b1", "b", gpu=4, nodes=["n000"], started=900).running("b2", "b", gpu=4, nodes=["n000"], started=600)

    plan = world.pending("j", "a", gpu=8).plan()

    assert set(evicted(plan)) == {"b1", "b2"}
    assert wait_of(plan, "j").kept == ("n000",)


def test_a_gang_clears_as_many_nodes_as_it_needs() -> None:
    world = World(nodes=3).tenant("a", nominal=20).tenant("b", nominal=4)
    for place, node in enumerate(["n000", "n000", "n001", "n001", "n002"]):
        world.running(f"b{place}", "b", gpu=4, nodes=[node], started=900 - place)
    world.running("prod", "a", gpu=4, tier="production", nodes=["n002"])

    plan = world.pending("gang", "a", replicas=2, gpu=8).plan()

    assert set(evicted(plan)) == {"b0", "b1", "b2", "b3"}


def test_what_a_tenants_batch_borrows_does_not_make_its_development_inside_nominal_a_victim() -> None:
    """SCH-01, SCH-17: nominal fills from the highest tier down. Else a and b would take the node from each other for ever."""
    world = World(nodes=3, gpus=8)
    for tenant in "abc":
        world.tenant(tenant, nominal=8)
    world.running("train", "a", gpu=8, nodes=["n000"])
    for node in ("n001", "n002"):
        world.running(f"batch-{node}", "a", gpu=1, tier="batch", nodes=[node])
        world.running(f"core-{node}", "c", gpu=1, tier="production", nodes=[node])

    plan = world.pending("j", "b", gpu=8).plan()

    assert (evicted(plan), codes(plan)) == ({}, {"j": "fragmented"})


def test_two_claims_in_one_cycle_share_what_one_victim_frees() -> None:
    """Case 76: the second claim sees the first."""
    world = World(nodes=1).tenant("a", nominal=8).tenant("b", nominal=0).running("big", "b", gpu=8, nodes=["n000"])

    plan = world.pending("j1", "a", gpu=4).pending("j2", "a", gpu=4).pending("j3", "a", gpu=4).plan()

    assert set(evicted(plan)) == {"big"}
    assert codes(plan) == {"j1": "kept-for-preempted", "j2": "kept-for-preempted", "j3": "quota-borrow-limit"}


def test_a_queue_reclaims_its_nominal_from_a_sibling_queue() -> None:
    world = World(nodes=1).tenant("a", cohort=None, queues=("x", "y"), nominal=4).queue("a/y", nominal=4)
    world.running("r1", "a/y", gpu=4, nodes=["n000"]).running("r2", "a/y", gpu=4, nodes=["n000"], started=60)

    assert evicted(world.pending("j", "a/x", gpu=4).plan()) == {"r2": ("j", "reclaim-nominal", 300)}


def test_a_claim_beyond_the_tenants_nominal_takes_nothing_from_others() -> None:
    """Case 70: inside the queue's nominal but over the tenant's."""
    world = (
        World(nodes=1).tenant("a", queues=("x", "y"), nominal=4, total=4).queue("a/y", nominal=4).tenant("b", nominal=0)
    )
    world.running("own", "a/y", gpu=4, tier="production", nodes=["n000"]).running("r", "b", gpu=4, nodes=["n000"])

    assert not world.pending("j", "a/x", gpu=4).plan().evicts


def test_a_borrowing_queue_in_a_cohort_that_does_not_borrow_is_protected_from_outsiders() -> None:
    """Case 24."""
    world = World(nodes=1).cohort("inner", parent="root").tenant("a", nominal=4)
    world.tenant("b", cohort="inner", nominal=2).tenant("c", cohort="inner", nominal=4).tenant("d", nominal=0)
    world.running("b0", "b", gpu=5, nodes=["n000"]).running("d0", "d", gpu=3, nodes=["n000"])

    assert set(evicted(world.pending("j", "a", gpu=3).plan())) == {"d0"}


def test_drain_asks_preemptible_runs_to_leave_and_leaves_production_alone() -> None:
    world = World(nodes=1).tenant("a").queue("a/main", nominal=8, fields={"draining": True})
    world.running("dev", "a", gpu=1, nodes=["n000"]).running("batch", "a", gpu=1, tier="batch", nodes=["n000"])
    world.running("prod", "a", gpu=1, tier="production", nodes=["n000"]).running(
        "gone", "a", gpu=1, nodes=["n000"], leaving_in=9
    )

    assert evicted(world.plan()) == {"batch": (None, "drain", 30), "dev": (None, "drain", 300)}


def test_case_60_runs_of_an_unknown_queue_are_left_alone_and_impossible_jobs_block_nobody() -> None:
    world = World(nodes=1).tenant("a", nominal=8).running("foreign", "nobody/main", gpu=4, nodes=["n000"])

    plan = (
        world.pending("lost", "nobody/main", gpu=1)
        .pending("huge", "a", gpu=16, submitted=900)
        .pending("j", "a", gpu=8)
        .plan()
    )

    assert not plan.evicts
    assert codes(plan) == {"lost": "impossible", "huge": "impossible", "j": "cards-busy"}
    assert set(started(world.pending("j", "a", gpu=4).plan())) == {"j"}


def test_case_67_only_leaf_queues_take_jobs_and_a_closed_queue_takes_none() -> None:
    world = World(nodes=1).tenant("a").queue("a/main", nominal=100, fields={"open": False}).tenant("b", nominal=100)

    plan = world.pending("closed", "a", gpu=1).pending("open", "b", gpu=1).plan()

    assert started(plan) == {"open": ("n000",)}
    assert codes(plan) == {"closed": "impossible"}
    assert wait_of(plan, "closed").detail == "queue-closed"


def test_presets_without_preemption_evict_nobody() -> None:
    world = three_queues({"a": 3, "b": 5, "c": 1}).pending("j", "c", gpu=1)

    assert not world.plan("fifo").evicts
    assert not world.plan("fifo-skip").evicts
