"""What pools physically have and what nodes were follows the machines: added, lost, back, cordoned, cards out (SCH-15, BIL-01, B11)."""

from scheduling.cluster.virtual import CordonNode, FailNode, NodeFailure, RecoverNode, SetCardHealth
from scheduling.models import Node, NodeInterval
from tenants.models import PoolCapacity
from tests.integration.loop_scene import MORNING, Scene

VRAM_OF_A_NODE = 8 * 80 * 1024


def recorded(scene: Scene) -> dict[str, int]:
    """Amounts of the scene's pool by resource."""
    return dict(PoolCapacity.objects.filter(pool=scene.flavor.pool).values_list("resource", "amount"))


def was(node: Node) -> list[tuple[str, int, float, float | None]]:
    """State, cards out, from and to in seconds after the morning."""
    rows = NodeInterval.objects.filter(node=node).order_by("during")
    return [
        (
            row.state,
            row.cards_out,
            (row.during.lower - MORNING).total_seconds(),
            None if row.during.upper is None else (row.during.upper - MORNING).total_seconds(),
        )
        for row in rows
    ]


def look(scene: Scene, seconds: int) -> None:
    """Wall time in which somebody looks every two seconds, then a turn."""
    for _ in range(seconds // 2):
        scene.pass_wall(2)
        scene.look()
    scene.turn()


def test_new_nodes_are_in_the_books(scene: Scene) -> None:
    first, _second = scene.add_nodes(2)

    assert recorded(scene) == {
        "gpu": 16_000,
        "cpu": 256_000,
        "memory": 2 * 1024 * 1024,
        "vram": 2 * VRAM_OF_A_NODE,
    }
    assert was(first) == [("ready", 0, 0, None)]


def test_a_lost_node_leaves_the_books_at_its_last_sign_and_comes_back(scene: Scene) -> None:
    first, _second = scene.add_nodes(2)
    look(scene, 4)

    scene.port.act(FailNode(first.name, NodeFailure.SILENT))
    look(scene, 30)
    lost = recorded(scene)
    seen_at = Node.objects.get(pk=first.pk).last_sign_at
    assert seen_at is not None
    last_sign = (seen_at - MORNING).total_seconds()
    scene.port.act(RecoverNode(first.name))
    look(scene, 20)

    assert (lost["gpu"], lost["cpu"], recorded(scene)["gpu"]) == (8_000, 128_000, 16_000)
    assert [(state, start) for state, _out, start, _end in was(first)][:2] == [("ready", 0), ("lost", last_sign)]
    assert was(first)[-1][0] == "ready"
    assert all(mine[3] == following[2] for mine, following in zip(was(first), was(first)[1:], strict=False))


def test_a_bad_card_and_a_cordon(scene: Scene) -> None:
    """A card out of service is no supply; a cordoned node still is: it only takes nothing new."""
    (node,) = scene.add_nodes()
    look(scene, 2)

    scene.port.act(SetCardHealth(node.name, 3, healthy=False))
    scene.port.act(CordonNode(node.name, cordoned=True))
    look(scene, 2)
    bad = recorded(scene)
    scene.port.act(SetCardHealth(node.name, 3, healthy=True))
    look(scene, 2)

    assert (bad["gpu"], bad["vram"], bad["cpu"]) == (7_000, VRAM_OF_A_NODE * 7 // 8, 128_000)
    assert recorded(scene)["gpu"] == 8_000
    assert was(node) == [("ready", 0, 0, 4), ("ready", 1, 4, 6), ("ready", 0, 6, None)]
