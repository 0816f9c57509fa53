"""Nodes that come and go, nodes over the limit of losses, and cards that are missing without a name. F26, F27 on the simulated cluster."""

from datetime import timedelta
from typing import Any

import pytest

from berth.common import clock
from scheduling.cluster.virtual import FailNode, NodeFailure, RecoverNode
from scheduling.control.absorb_nodes import absorb_nodes
from scheduling.control.node_operations import order_node
from scheduling.control.observed import SeenNode
from scheduling.models import Card, Node, NodeInterval, Preemption
from scheduling.selectors.cluster_state import cluster_state
from tests.factories import a_platform_admin
from tests.integration.loop_scene import Scene

LOOK_EVERY_S = 5


def pass_looking(scene: Scene, seconds: float) -> None:
    for _ in range(int(seconds / LOOK_EVERY_S)):
        scene.pass_wall(LOOK_EVERY_S)
        scene.look()
        scene.turn()


def flap(scene: Scene, node: Node, failure: NodeFailure) -> None:
    """Away for twenty seconds, there for twenty."""
    scene.port.act(FailNode(node.name, failure))
    pass_looking(scene, 20)
    scene.port.act(RecoverNode(node.name))
    pass_looking(scene, 20)


@pytest.mark.parametrize("failure", list(NodeFailure))
def test_a_node_that_flaps_every_twenty_seconds_is_quarantined_and_starts_no_storm(
    scene: Scene, failure: NodeFailure
) -> None:
    """F26."""
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), seconds=None)
    scene.turn()
    scene.go_on(10)
    home = scene.run_of(job).pods.get().node

    for _ in range(3):
        flap(scene, home, failure)

    home.refresh_from_db()
    assert (home.state, home.flaps >= 3) == ("ready", True)
    assert home.quarantined_until is not None
    assert home.quarantined_until > clock.now()
    assert scene.run_of(job).number <= 3
    beside = scene.submit(scene.a_queue(8), seconds=None)
    pass_looking(scene, 5)
    assert not beside.runs.filter(pods__node=home).exists()

    scene.pass_wall(600)
    pass_looking(scene, 10)
    home.refresh_from_db()
    assert home.quarantined_until <= clock.now()
    assert scene.states(job, beside) == ["running", "running"]


def test_more_silent_nodes_than_may_be_lost_are_held_told_of_and_forgotten_when_they_return(scene: Scene) -> None:
    """F27."""
    nodes = scene.add_nodes(4)
    queue = scene.a_queue(32)
    jobs = [scene.submit(queue, seconds=None) for _ in nodes]
    scene.turn()
    scene.go_on(10)
    for node in nodes:
        scene.port.act(FailNode(node.name, NodeFailure.SILENT))

    pass_looking(scene, 30)
    degraded = cluster_state(a_platform_admin()).degraded
    for node in nodes:
        scene.port.act(RecoverNode(node.name))
    pass_looking(scene, 90)

    assert "losses-held" in degraded
    assert sorted(job.runs.count() for job in jobs) == [1, 1, 1, 2]
    assert set(Node.objects.values_list("state", flat=True)) == {"ready"}
    assert "losses-held" not in cluster_state(a_platform_admin()).degraded


def test_a_node_that_returned_still_counts_among_the_losses_of_the_minute(scene: Scene) -> None:
    """F27."""
    first, second = scene.add_nodes(2)
    Node.objects.filter(pk=first.pk).update(lost_at=clock.now())

    outcome = _see(scene, second, lost="silent")

    assert (outcome.lost, outcome.held) == ([], [second.name])


def test_supply_of_a_node_that_is_not_ready_ends_with_its_last_sign(scene: Scene) -> None:
    """BIL-05, B11."""
    node = scene.add_nodes()[0]
    scene.go_on(10)
    scene.port.act(FailNode(node.name, NodeFailure.NOT_READY))
    began = clock.now()
    pass_looking(scene, 30)

    last = NodeInterval.objects.get(node=node, during__upper_inf=True)
    assert (last.state, last.during.lower) == ("lost", began)


def test_free_cards_stand_for_those_that_are_missing_without_a_name(scene: Scene) -> None:
    node = scene.add_nodes()[0]
    job = scene.submit(scene.a_queue(8), cards=4, seconds=None)
    scene.turn()
    scene.go_on(10)

    first = _see(scene, node, cards_short=2)
    out = _out(node)
    again = _see(scene, node, cards_short=1)
    fewer = _out(node)
    _see(scene, node, cards_short=0)

    assert (first.stopped, again.stopped, scene.states(job)) == ([], [], ["running"])
    assert (out, fewer) == ({6: "counted", 7: "counted"}, {7: "counted"})
    assert _out(node) == {}
    held = Card.objects.filter(leases__run=scene.run_of(job), leases__closed_at__isnull=True)
    assert not {6, 7} & set(held.values_list("index", flat=True))


def test_where_no_card_is_free_everybody_on_the_node_is_placed_anew(scene: Scene) -> None:
    node = scene.add_nodes()[0]
    queue = scene.a_queue(8)
    jobs = [scene.submit(queue, cards=4, seconds=None) for _ in range(2)]
    scene.turn()
    scene.go_on(10)

    outcome = _see(scene, node, cards_short=1)

    assert outcome.stopped == sorted(scene.run_of(job).pk for job in jobs)
    assert {job.runs.get().stop_reason for job in jobs} == {"card-failed"}
    assert list(_out(node)) == [7]


def test_a_plugin_that_gives_out_nothing_bars_the_node_and_stops_nobody(scene: Scene) -> None:
    node = scene.add_nodes()[0]
    job = scene.submit(scene.a_queue(8), cards=4, seconds=None)
    scene.turn()
    scene.go_on(10)

    outcome = _see(scene, node, cards_short=8)

    assert (outcome.stopped, len(_out(node)), scene.states(job)) == ([], 8, ["running"])


def test_a_card_that_gets_a_name_stands_for_itself(scene: Scene) -> None:
    node = scene.add_nodes()[0]
    _see(scene, node, cards_short=1)

    _see(scene, node, bad_cards=(2,))

    assert _out(node) == {2: "named"}


@pytest.mark.parametrize("by_order", [False, True])
def test_a_node_that_was_lost_settles_unless_an_admin_says_that_it_is_well(scene: Scene, by_order: bool) -> None:
    """F25, F26."""
    node = scene.add_nodes(2)[0]
    scene.port.act(FailNode(node.name, NodeFailure.NOT_READY))
    pass_looking(scene, 25)
    was = Node.objects.get(pk=node.pk).state
    if by_order:
        order_node(a_platform_admin(), node, "recover")
    else:
        scene.port.act(RecoverNode(node.name))
    pass_looking(scene, 5)
    soon = Node.objects.get(pk=node.pk).state
    pass_looking(scene, 15)

    assert (was, soon, Node.objects.get(pk=node.pk).state) == ("lost", "ready" if by_order else "lost", "ready")


def test_a_drained_node_sends_away_what_may_be_preempted_and_lets_production_end(scene: Scene) -> None:
    """SCH-01, I7."""
    scene.add_nodes(1)
    admin, queue = a_platform_admin(), scene.a_queue(8)
    kept = scene.submit(queue, cards=4, seconds=None, tier="production")
    sent = scene.submit(queue, cards=4, seconds=None, tier="development")
    scene.turn()
    scene.go_on(10)
    node = scene.run_of(sent).pods.get().node

    order_node(admin, node, "drain")
    for _ in range(3):
        scene.go_on(6)

    node.refresh_from_db()
    notice = Preemption.objects.get()
    assert (node.cordoned, node.draining, scene.states(kept, sent)) == (True, True, ["running", "queued"])
    assert (notice.run_id, notice.reason, notice.outcome) == (sent.runs.get().pk, "drain", "left")
    assert (notice.grace_until - notice.notice_at).total_seconds() == 300

    order_node(admin, node, "uncordon")
    for _ in range(2):
        scene.go_on(6)
    node.refresh_from_db()
    assert (node.cordoned, node.draining, scene.states(kept, sent)) == (False, False, ["running", "running"])


def test_an_admin_ends_a_quarantine_and_what_was_counted_is_forgotten(scene: Scene) -> None:
    """F26."""
    node = scene.add_nodes()[0]
    until = clock.now() + timedelta(minutes=5)
    Node.objects.filter(pk=node.pk).update(quarantined_until=until, flaps=3, went_at=[clock.now()] * 3)
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.go_on(1)
    before = scene.states(job)

    order_node(a_platform_admin(), node, "recover")
    scene.go_on(1)
    scene.go_on(1)

    assert (before, scene.states(job)) == (["queued"], ["running"])
    _see(scene, node, ready=False)
    _see(scene, node)
    node.refresh_from_db()
    assert (node.quarantined_until, len(node.went_at)) == (None, 1)


def _see(scene: Scene, node: Node, **what: Any) -> Any:
    node.refresh_from_db()
    fields: dict[str, Any] = {"lost": "", "bad_cards": (), "ready": not what.get("lost"), **what}
    seen = SeenNode(name=node.name, uid=node.uid, cordoned=False, last_sign_at=clock.now(), **fields)
    return absorb_nodes(scene.cluster, [seen], now=clock.now(), epoch=scene.turn().epoch)


def _out(node: Node) -> dict[int, str]:
    return dict(Card.objects.filter(node=node, health="failed").values_list("index", "failed_by"))
