"""SCH-24: which moves of small jobs would free whole nodes, and whom they never touch."""

import pickle
from typing import Any

import pytest

from scheduling.engine.defragment import Clearing, propose_moves
from scheduling.engine.vocabulary import NodeState
from tests.unit.engine.builders import NOW_MS, Role, World

SMALL: dict[str, Any] = {"gpu": 1, "checkpoint": 60, "started": 3600}


def proposed(world: World, **more: Any) -> list[tuple[str, list[tuple[str, str, tuple[int, ...]]]]]:
    """[(node that would be free, [(job, target, cards there)])]."""
    found: tuple[Clearing, ...] = propose_moves(world.snapshot(), NOW_MS, **more)
    assert all(move.source == clearing.node for clearing in found for move in clearing.moves)
    return [(str(each.node), [(str(move.job), str(move.target), move.cards) for move in each.moves]) for each in found]


def halves(gpus: int = 2, **second: Any) -> World:
    """Two nodes, a card of each held; `second` changes the run on the second."""
    world = World(nodes=2, gpus=gpus, cpu=32, memory=64, per_rack=1).tenant("a").tenant("b")
    world.running("r0", "a", nodes=["n000"], **SMALL)
    return world.running("r1", second.pop("queue", "a"), nodes=["n001"], **{**SMALL, **second})


def test_case_73_one_of_two_halves_goes_on_beside_the_other() -> None:
    (clearing,) = propose_moves(halves().pending("j", "a", gpu=2).snapshot(), NOW_MS)

    assert (clearing.node, clearing.cards_m, clearing.moved_m) == ("n000", 2000, 1000)
    assert clearing.lost_card_ms == 60_000, "since its last checkpoint"
    (move,) = clearing.moves
    assert (move.job, move.role, move.index, move.source, move.target, move.cards) == ("r0", "worker", 0, "n000", "n001", (1,))  # fmt: skip


ALONE = [("n000", [("r0", "n001", (1,))])]
NOT_R1: dict[str, tuple[dict[str, Any], Any]] = {
    "production is never moved, and moved beside": ({"tier": "production"}, ALONE),
    "who writes no checkpoints is not moved, and moved beside": ({"checkpoint": None}, ALONE),
    "batch moves as development does": ({"tier": "batch"}, ALONE),
    "another queue's job is as good a neighbour": ({"queue": "b"}, ALONE),
    "nobody goes beside one that is leaving": ({"leaving_in": 30}, []),
}  # fmt: skip


@pytest.mark.parametrize(("second", "want"), NOT_R1.values(), ids=NOT_R1)
def test_who_goes_on_beside_whom(second: dict[str, Any], want: Any) -> None:
    world = halves()
    fields = {key: value for key, value in {**SMALL, **second}.items() if value is not None}
    world.running("r1", fields.pop("queue", "a"), nodes=["n001"], **fields)

    assert proposed(world) == want


NEVER_MOVED: dict[str, dict[str, Any]] = {
    "production": {"tier": "production"},
    "without checkpoints": {"checkpoint": None},
    "leaving already": {"leaving_in": 30},
    "a job of two pods": {"nodes": ["n000", "n002"]},
    "of two roles": {"roles": [Role(gpu=1, nodes=["n000"]), Role("ps", cpu=1, nodes=["n002"])]},
    "elastic, with one pod now": {"roles": [Role(replicas=3, minimum=1, gpu=1, nodes=["n000"])]},
    "foreign occupation": {"queue": "nobody"},
}


def test_a_small_job_moves_beside_a_big_one() -> None:
    assert proposed(beside_big({})) == [("n000", [("r0", "n001", (5,))])]


@pytest.mark.parametrize("first", NEVER_MOVED.values(), ids=NEVER_MOVED)
def test_whom_no_proposal_moves(first: dict[str, Any]) -> None:
    assert all(job != "r0" for _, moves in proposed(beside_big(first)) for job, _, _ in moves)


def beside_big(first: dict[str, Any]) -> World:
    """`big` leaves three cards beside it and cannot move: it is larger than what is left elsewhere."""
    world = World(nodes=3, gpus=8, cpu=64, memory=64).tenant("a")
    world.running("big", "a", nodes=["n001"], **{**SMALL, "gpu": 5})
    fields = {key: value for key, value in {**SMALL, "nodes": ["n000"], **first}.items() if value is not None}
    if "roles" in fields:
        fields = {key: value for key, value in fields.items() if key not in {"gpu", "nodes"}}
    return world.running("r0", fields.pop("queue", "a"), **fields)


def test_a_job_that_fills_its_node_is_not_small() -> None:
    world = World(nodes=3, gpus=2).tenant("a")
    world.running("r0", "a", nodes=["n000"], **{**SMALL, "gpu": 2}).running("r1", "a", nodes=["n001"], **SMALL)

    assert proposed(world) == []


def test_the_node_with_the_least_to_move_is_cleared_and_the_tightest_other_takes_it() -> None:
    """n000 holds 3 cards, n001 2, n002 6, n003 7: two onto n002, which is full then; the three fit nowhere."""
    world = World(nodes=5).tenant("a")
    for node, gpu in enumerate((3, 2, 6, 7)):
        world.running(f"r{node}", "a", nodes=[f"n00{node}"], **{**SMALL, "gpu": gpu})

    assert proposed(world) == [("n001", [("r1", "n002", (6, 7))])]


def test_several_nodes_are_cleared_one_after_another_and_nobody_moves_twice() -> None:
    world = World(nodes=6, gpus=4).tenant("a")
    for node, gpus in enumerate(((1,), (1, 1), (2,), (3,), (3,))):
        for place, gpu in enumerate(gpus):
            world.running(f"r{node}{place}", "a", nodes=[f"n00{node}"], **{**SMALL, "gpu": gpu})

    assert proposed(world) == [
        ("n000", [("r00", "n003", (3,))]),
        ("n002", [("r20", "n001", (2, 3))]),
    ]


CLOSED: dict[str, dict[str, Any]] = {
    "a cordoned node takes nobody and is not cleared": {"state": NodeState.CORDONED},
    "nor one that is lost": {"state": NodeState.LOST},
}


@pytest.mark.parametrize("fields", CLOSED.values(), ids=CLOSED)
def test_closed_nodes_are_left_alone(fields: dict[str, Any]) -> None:
    world = halves()
    world.node("n001", gpus=2, cpu=32, memory=64, **fields)

    assert proposed(world) == []


def test_a_draining_pool_is_left_alone() -> None:
    assert proposed(halves().pool("main", draining=True)) == []


def test_kept_places_take_nobody() -> None:
    """SCH-17: what is free on n001 is another's, and n001 free would still not be whole."""
    assert proposed(halves().kept("k", "j", ["n001"]).pending("j", "b", gpu=1)) == []


def test_nodes_that_reservations_name_take_nobody_but_may_be_cleared() -> None:
    """SCH-18: whoever reserved n001 gets it whole."""
    assert proposed(halves().reserved("s", queue="b/main", nodes=["n001"])) == [("n001", [("r1", "n000", (1,))])]


def test_a_required_level_holds_on_the_target() -> None:
    """SCH-11: only nodes that have the label; n001 has none here."""
    world = halves().node("n001", gpus=2, cpu=32, memory=64)
    world.running("r0", "a", nodes=["n000"], topology=("required", "rack"), **SMALL)

    assert proposed(world) == [("n001", [("r1", "n000", (1,))])]


def test_cpu_and_memory_have_to_fit_as_well() -> None:
    assert proposed(halves(cpu=20).running("r0", "a", nodes=["n000"], cpu=20, **SMALL)) == []


def test_cpu_only_jobs_on_nodes_with_cards_move_too() -> None:
    """No card moves, so it comes first; onto the node without cards, though nobody is there."""
    world = World(nodes=2, gpus=2, cpu=32, memory=64).node("c0", gpus=0, cpu=32, memory=64).tenant("a")
    world.running("cpu", "a", nodes=["n000"], cpu=4, memory=4, checkpoint=60)
    world.running("card", "a", nodes=["n001"], **SMALL)

    assert proposed(world) == [("n000", [("cpu", "c0", ())])]


def shares(second: str) -> World:
    """A share of a card on each of two nodes; the second is of tenant `second`, beside a whole card."""
    world = World(nodes=2, gpus=2).tenant("a").tenant("b")
    world.running("r0", "a", nodes=["n000"], cards=[0], **{**SMALL, "gpu": 0.5})
    world.running("r1", second, nodes=["n001"], cards=[0], **{**SMALL, "gpu": 0.5})
    return world.running("w", second, nodes=["n001"], cards=[1], tier="production", **SMALL)


@pytest.mark.parametrize(("second", "want"), [("a", [("n000", [("r0", "n001", (0,))])]), ("b", [])])
def test_a_share_goes_beside_shares_of_its_own_tenant_only(second: str, want: Any) -> None:
    """SCH-13."""
    assert proposed(shares(second)) == want


def test_a_mover_stays_in_its_pool_and_flavor() -> None:
    world = World(nodes=1, gpus=2).flavor("h800").flavor("a100@x", pool="x").pool("x").tenant("a")
    world.queue("a/x", pool="x").node("h0", gpus=2, flavor="h800").node("x0", gpus=2, flavor="a100@x", pool="x")
    world.running("r0", "a", nodes=["n000"], flavors=["a100", "h800"], **SMALL)
    world.running("r1", "a", nodes=["h0"], flavors=["h800"], **SMALL)
    world.running("r2", "a/x", nodes=["x0"], flavors=["a100@x"], **SMALL)

    assert proposed(world) == []


def test_one_pool_alone_may_be_asked_for() -> None:
    world = halves().flavor("h800", pool="x").pool("x").queue("a/x", pool="x")
    for node in ("x0", "x1"):
        world.node(node, gpus=2, flavor="h800", pool="x")
        world.running(f"of-{node}", "a/x", nodes=[node], flavors=["h800"], **SMALL)

    assert [node for node, _ in proposed(world)] == ["n000", "x0"]
    assert [node for node, _ in proposed(world, pool=1)] == ["x0"]


def test_the_snapshot_is_unchanged_and_the_same_snapshot_gives_the_same_moves() -> None:
    """SCH-22."""
    snapshot = shares("a").snapshot()
    before = pickle.dumps(snapshot)

    first = propose_moves(snapshot, NOW_MS)

    assert first == propose_moves(snapshot, NOW_MS)
    assert pickle.dumps(snapshot) == before
