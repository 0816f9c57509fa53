"""Nodes that fall silent or say so, cards that fail, and the return of both. F21, F24, F25, F27 on the simulated cluster."""

from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from berth.common import clock
from scheduling.api.nodes import NodeOrderSchema
from scheduling.cluster.faults import FaultKind
from scheduling.cluster.virtual import FailNode, NodeFailure, RecoverNode, SetCardHealth
from scheduling.models import Card, Job, Node
from tests.factories import a_platform_admin, a_token
from tests.integration.loop_scene import Scene


def fall_silent(scene: Scene, node: Node) -> None:
    scene.port.act(FailNode(node.name, NodeFailure.SILENT))


def wait_for_loss(scene: Scene, seconds: float = 26) -> None:
    """Heartbeats are wall time: the scene moves the observer's monotonic clock along."""
    for _ in range(int(seconds / 2)):
        scene.pass_wall(2)
        scene.look()


def test_a_silent_nodes_run_ends_at_its_last_sign_and_its_job_starts_elsewhere(scene: Scene) -> None:
    """F24, B14."""
    first, second = scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), seconds=None)
    scene.turn()
    scene.go_on(10)
    run = scene.run_of(job)
    home = run.pods.get().node
    fall_silent(scene, home)

    wait_for_loss(scene)
    scene.turn()

    run.refresh_from_db()
    assert (run.state, run.end_reason, run.fenced) == ("ended", "node-lost", True)
    assert scene.segments(run) == [("after-last-sign", 10, 36, 8), ("billable", 0, 10, 8)]
    again = scene.run_of(job)
    assert again.number == 2
    assert again.pods.get().node in {first, second} - {home}
    assert Job.objects.get(pk=job.pk).order_at == job.order_at


@pytest.mark.parametrize("order", ["fail", "recover", "cordon", "cards/0/fail"])
def test_an_order_by_rest_is_acknowledged_before_it_shows(scene: Scene, order: str) -> None:
    node = scene.add_nodes()[0]
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(a_platform_admin())}")

    answer = client.post(f"/api/v1/nodes/{node.cluster.name}/{node.name}/{order}")

    found = answer.json()
    assert (answer.status_code, found["requested"], found["state"]) == (202, order.rsplit("/", maxsplit=1)[-1], "ready")
    assert set(found) == set(NodeOrderSchema().fields)


def test_one_missed_beat_kills_nothing(scene: Scene) -> None:
    node = scene.add_nodes()[0]
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.turn()
    scene.go_on(10)
    fall_silent(scene, node)

    wait_for_loss(scene, 16)
    scene.port.act(RecoverNode(node.name))
    wait_for_loss(scene, 16)
    scene.turn()

    assert scene.states(job) == ["running"]
    assert scene.run_of(job).number == 1


def test_a_returning_node_finds_its_old_pods_fenced_and_takes_work_only_when_clean(scene: Scene) -> None:
    """F25."""
    node = scene.add_nodes()[0]
    job = scene.submit(scene.a_queue(8), seconds=None, labels={"berth.dev/sim-stop-delay": "3"})
    scene.turn()
    scene.go_on(10)
    fall_silent(scene, node)
    wait_for_loss(scene)
    scene.turn()
    assert Node.objects.get(pk=node.pk).state == "lost"

    scene.port.act(RecoverNode(node.name))
    scene.pass_wall(2)
    scene.look()
    scene.turn()
    assert Node.objects.get(pk=node.pk).state == "lost"
    for _ in range(3):
        scene.pass_wall(6)
        scene.look()
        scene.turn()

    assert Node.objects.get(pk=node.pk).state == "ready"
    assert [pod.labels["berth.dev/run"] for pod in scene.pods_there().values()] == ["2"]
    assert scene.run_of(job).number == 2


def test_all_nodes_silent_at_once_is_our_network_and_kills_almost_nothing(scene: Scene) -> None:
    """F27: max(1, 30 %) a minute."""
    nodes = scene.add_nodes(4)
    queue = scene.a_queue(32)
    jobs = [scene.submit(queue, seconds=None) for _ in nodes]
    scene.turn()
    scene.go_on(10)
    for node in nodes:
        fall_silent(scene, node)

    wait_for_loss(scene)
    scene.turn()
    scene.turn()

    assert Node.objects.filter(state="lost").count() == 1
    assert sorted(scene.states(*jobs)) == ["queued", "running", "running", "running"]


def test_an_unreachable_cluster_ends_nothing_and_says_so(scene: Scene) -> None:
    """F27: cannot reach is never dead."""
    node = scene.add_nodes()[0]
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.turn()
    scene.go_on(10)
    fall_silent(scene, node)
    scene.plan_fault("list_pods", FaultKind.UNREACHABLE, times=None, message="connection refused")

    wait_for_loss(scene, 60)
    scene.turn()

    scene.cluster.refresh_from_db()
    assert (scene.cluster.reachable, scene.cluster.last_error) == (False, "connection refused")
    assert scene.states(job) == ["running"]


def test_a_node_that_says_it_is_not_ready_is_lost_after_fifteen_seconds(scene: Scene) -> None:
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.turn()
    scene.go_on(10)
    home = scene.run_of(job).pods.get().node
    scene.port.act(FailNode(home.name, NodeFailure.NOT_READY))

    wait_for_loss(scene, 18)
    scene.turn()

    assert Node.objects.get(pk=home.pk).state == "lost"
    assert scene.run_of(job).number == 2


def test_a_lost_rank_takes_its_gang_elsewhere_and_cards_are_free_only_when_pods_are_gone(scene: Scene) -> None:
    scene.add_nodes(3)
    job = scene.submit(scene.a_queue(24), replicas=2, seconds=None, labels={"berth.dev/sim-stop-delay": "4"})
    scene.turn()
    scene.go_on(10)
    first = scene.run_of(job)
    fall_silent(scene, first.pods.get(index=1).node)

    wait_for_loss(scene)
    scene.turn()
    assert scene.states(job) == ["queued"]
    assert scene.open_cards(run=first) == 8
    for _ in range(3):
        scene.go_on(6)

    assert scene.states(job) == ["running"]
    assert scene.open_cards(run=first) == 0
    nodes = {pod.node for pod in scene.pods_there().values() if pod.labels["berth.dev/run"] == "2"}
    assert len(nodes) == 2


def test_a_gang_that_needs_the_cards_of_its_own_other_pods_is_placed_within_thirty_seconds(scene: Scene) -> None:
    """F24."""
    scene.add_nodes(3)
    job = scene.submit(scene.a_queue(24), replicas=2, seconds=None, labels={"berth.dev/sim-stop-delay": "60"})
    scene.turn()
    scene.go_on(10)
    fall_silent(scene, scene.run_of(job).pods.get(index=1).node)
    began = clock.now()

    while scene.run_of(job).number == 1:
        scene.pass_wall(1)
        scene.look()
        scene.turn()
        assert clock.now() - began <= timedelta(seconds=30)


def test_a_bad_card_takes_itself_out_and_its_job_back_to_the_queue(scene: Scene) -> None:
    scene.add_nodes(2)
    queue = scene.a_queue(16)
    job = scene.submit(queue, cards=4, seconds=None)
    beside = scene.submit(queue, cards=4, seconds=None)
    scene.turn()
    scene.go_on(10)
    card = Card.objects.get(leases__run=scene.run_of(job), leases__slot=0)

    scene.port.act(SetCardHealth(card.node.name, card.index, healthy=False))
    scene.go_on(5)
    scene.go_on(6)
    scene.go_on(1)

    card.refresh_from_db()
    run = job.runs.get(number=1)
    assert (card.health, run.end_reason) == ("failed", "card-failed")
    assert {kind for kind, *_rest in scene.segments(run)} == {"billable", "fault"}
    assert scene.states(job, beside) == ["running", "running"]
    assert not card.leases.filter(closed_at__isnull=True).exists()


def test_a_pod_deleted_by_a_person_sends_the_job_back_and_the_bill_stops_there(scene: Scene) -> None:
    """F21."""
    scene.add_nodes()
    job = scene.submit(scene.a_queue(8), seconds=None)
    scene.turn()
    scene.go_on(10)
    pod = scene.pods_there()[f"j{job.pk}-r1-worker-0"]

    scene.port.force_delete_pod(pod.key, uid=pod.uid, timeout_s=2)
    scene.go_on(20)

    run = job.runs.get(number=1)
    assert (run.state, run.end_reason) == ("ended", "platform-fault")
    assert scene.segments(run)[0][:2] == ("billable", 0)
    assert scene.segments(run)[0][2] <= 31
    assert Job.objects.get(pk=job.pk).restarts_used == 0
    scene.go_on(15)
    scene.go_on(1)
    assert scene.states(job) == ["running"]


@pytest.mark.parametrize("delay", [timedelta(seconds=0), timedelta(seconds=300)])
def test_a_late_success_of_a_fenced_attempt_is_ignored(scene: Scene, delay: timedelta) -> None:
    """F25, F11: terminal states are latched."""
    scene.add_nodes(2)
    job = scene.submit(scene.a_queue(16), seconds=20)
    scene.turn()
    scene.go_on(10)
    home = scene.run_of(job).pods.get().node
    fall_silent(scene, home)
    wait_for_loss(scene)
    scene.turn()

    scene.pass_time(delay.total_seconds())
    scene.port.act(RecoverNode(home.name))
    for _ in range(4):
        scene.go_on(10)

    first = job.runs.get(number=1)
    assert (first.end_reason, first.fenced) == ("node-lost", True)
    assert scene.states(job) == ["succeeded"]
    assert job.runs.count() == 2
