"""SCH-24 on scenes drawn wide: what is proposed breaks nothing, moves only who may be moved, and frees every node it names."""

from collections import Counter
from random import Random

from scheduling.engine.defragment import propose_moves
from scheduling.engine.invariants import check
from scheduling.engine.plan import Plan
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.vocabulary import NodeState, ReservationKind, Tier
from tests.properties.drawn_scenes import draw_scene
from tests.unit.engine.builders import NOW_MS, World

SCENES = 1000


def test_every_node_that_is_proposed_is_wholly_free_once_its_moves_are_made() -> None:
    cleared = [_checked(draw_scene(seed).snapshot()) for seed in range(SCENES)]
    assert any(cleared), "no scene has a node to clear"


def test_so_it_is_where_many_nodes_are_used_in_part() -> None:
    cleared = [_checked(_in_parts(seed).snapshot()) for seed in range(SCENES // 2)]
    assert sum(count > 1 for count in cleared) > SCENES // 10, "several nodes at once are what is looked for"


def test_the_order_of_input_rows_does_not_matter() -> None:
    """SCH-22."""
    for seed in range(0, SCENES, 10):
        scene = draw_scene(seed)

        assert propose_moves(scene.snapshot(Random(seed).shuffle), NOW_MS) == propose_moves(scene.snapshot(), NOW_MS)


def _in_parts(seed: int) -> World:
    """Eight nodes of eight cards in two racks, CPU not in plenty, with small jobs on most of them and now and then something that stays."""
    random, world = Random(seed), World(nodes=8, cpu=32, memory=64, per_rack=4).tenant("a").tenant("b")
    for node in range(8):
        free, cpu = 8, 32
        for place in range(random.choice((0, 1, 1, 2, 3))):
            gpu = random.choice((0.5, 1, 1, 2, 3))
            ask = random.choice((0, 2, 8))
            if gpu > free or ask > cpu:
                continue
            cards = [8 - free + each for each in range(max(1, int(gpu)))]
            free, cpu = free - len(cards), cpu - ask
            fields = {"checkpoint": 60} if random.random() < 0.9 else {}
            world.running(
                f"r{node}{place}", random.choice("ab"), gpu=gpu, cpu=ask, nodes=[f"n00{node}"], cards=[tuple(cards)],
                tier=random.choice(("development", "batch", "batch", "development", "production")) if random.random() < 0.3 else "batch",
                topology=random.choice((("none", ""), ("required", "rack"))), **fields,
            )  # fmt: skip
    if random.random() < 0.3:
        world.kept("k", "j", [f"n00{random.randrange(8)}"]).pending("j", "a", gpu=8)
    return world


def _checked(snapshot: Snapshot) -> int:
    """How many nodes are proposed; everything that has to hold of them holds."""
    found = propose_moves(snapshot, NOW_MS)
    moves = [move for clearing in found for move in clearing.moves]
    of_moves = Plan(moves=tuple(moves))
    assert [each for each in check(snapshot, of_moves, NOW_MS) if each.rule != "decided-once"] == []
    stays = Counter(snapshot.nodes.ids[node] for node in snapshot.pods.node.tolist())
    stays.subtract(move.source for move in moves)
    stays.update(move.target for move in moves)
    assert all(stays[clearing.node] == 0 and clearing.cards_m > 0 for clearing in found)
    assert len({move.job for move in moves}) == len(moves), "nobody moves twice"
    _only_small_ones(snapshot, [str(move.job) for move in moves])
    _inside_what_is_open(snapshot, of_moves)
    return len(found)


def _only_small_ones(snapshot: Snapshot, jobs: list[str]) -> None:
    running = snapshot.running
    for job in jobs:
        run = running.ids.index(job)
        assert running.tier[run] != Tier.PRODUCTION
        assert running.checkpoints[run]
        assert (snapshot.pods.run == run).sum() == 1


def _inside_what_is_open(snapshot: Snapshot, plan: Plan) -> None:
    """Pool and flavor stay; nodes are ready; kept places and nodes that reservations name take nobody."""
    nodes, at = snapshot.nodes, {node: index for index, node in enumerate(snapshot.nodes.ids)}
    named = {node for row in snapshot.reservations for node in row.nodes}
    kept = {node for row in snapshot.reservations if row.kind == ReservationKind.KEPT_FOR_JOB for node in row.nodes}
    for move in plan.moves:
        source, target = at[move.source], at[move.target]
        assert nodes.pool[source] == nodes.pool[target]
        assert not move.cards or nodes.flavor[source] == nodes.flavor[target]
        assert nodes.state[source] == nodes.state[target] == NodeState.READY
        assert target not in named
        assert source not in kept
