"""What every cluster adapter promises about lists, watches and nodes. F17, F18, F19, F20."""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduling.cluster.faults import FaultKind, FaultRule
from scheduling.cluster.port import ChangeKind, PodObservation, ResultKind, WatchExpiredError
from tests.integration.cluster_rigs import RIGS
from tests.unit.cluster.builders import a_run

PATIENCE_S = 2.0


@pytest.fixture(params=sorted(RIGS))
def rig(request: Any, test_database: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), RIGS[request.param]() as made:
        yield made


def fault(operation: str, kind: FaultKind, **more: Any) -> FaultRule:
    return FaultRule(0, operation, kind, **more)


def by_name(items: tuple[PodObservation, ...]) -> dict[str, PodObservation]:
    return {pod.key.name: pod for pod in items}


def watched(rig: Any, version: str) -> list[tuple[ChangeKind, str]]:
    changes = rig.port.watch_pods(version, timeout_s=0)
    return [(change.kind, change.pod.key.name) for change in changes if change.pod is not None]


def test_a_list_holds_every_pod_of_ours_with_its_labels(rig: Any) -> None:
    rig.port.create_run(a_run(nodes=("n0", "n1")), timeout_s=PATIENCE_S)

    listing = rig.port.list_pods(timeout_s=PATIENCE_S)

    assert [pod.key.name for pod in listing.items] == ["j7-r1-worker-0", "j7-r1-worker-1"]
    labels = listing.items[1].labels
    assert (labels["berth.dev/job"], labels["berth.dev/run"], labels["berth.dev/index"]) == ("7", "1", "1")
    assert abs(rig.now() - listing.as_of) <= rig.slack


def test_a_watch_from_a_list_tells_what_changed_after_it(rig: Any) -> None:
    rig.port.create_run(a_run(labels={"berth.dev/sim-duration": "4"}), timeout_s=PATIENCE_S)
    rig.wait_until(lambda: all(pod.start_at for pod in rig.port.list_pods(timeout_s=PATIENCE_S).items), within=1)
    version = rig.port.list_pods(timeout_s=PATIENCE_S).resource_version

    quiet = watched(rig, version)
    rig.pass_time(5)
    told = watched(rig, version)

    assert quiet == []
    assert told == [(ChangeKind.MODIFIED, "j7-r1-worker-0")]


def test_a_deletion_is_told_with_the_pods_last_state(rig: Any) -> None:
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    listing = rig.port.list_pods(timeout_s=PATIENCE_S)
    rig.port.delete_pod(listing.items[0].key, uid=listing.items[0].uid, grace_s=30, timeout_s=PATIENCE_S)
    rig.wait_until(lambda: not rig.port.list_pods(timeout_s=PATIENCE_S).items, within=30)

    last = [each for each in rig.port.watch_pods(listing.resource_version, timeout_s=0) if each.pod is not None][-1]

    assert last.kind is ChangeKind.DELETED
    assert last.pod.uid == listing.items[0].uid
    assert (last.pod.finished_at - last.pod.start_at).total_seconds() == pytest.approx(6, abs=1)


def test_an_expired_watch_says_so(rig: Any) -> None:
    """F18."""
    rig.plan_fault(fault("watch_pods", FaultKind.EXPIRED))

    with pytest.raises(WatchExpiredError):
        list(rig.port.watch_pods("1", timeout_s=0))


def test_a_silent_watch_ends_in_time(rig: Any) -> None:
    """F17."""
    rig.plan_fault(fault("watch_pods", FaultKind.STALL, seconds=60))

    assert list(rig.port.watch_pods("0", timeout_s=0.05)) == []


@pytest.mark.parametrize("kind", [FaultKind.DUPLICATE, FaultKind.REORDER])
def test_garbled_events_still_name_the_same_pods(rig: Any, kind: FaultKind) -> None:
    """F19."""
    version = rig.port.list_pods(timeout_s=PATIENCE_S).resource_version
    rig.port.create_run(a_run(nodes=("n0", "n1")), timeout_s=PATIENCE_S)
    want = {name for _, name in watched(rig, version)}
    rig.plan_fault(fault("watch_pods", kind))

    assert {name for _, name in watched(rig, version)} == want


def test_a_stale_list_is_older_than_our_own_write(rig: Any) -> None:
    """F20."""
    before = rig.port.list_pods(timeout_s=PATIENCE_S)
    rig.pass_time(1)
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.plan_fault(fault("list_pods", FaultKind.STALE))

    stale = rig.port.list_pods(timeout_s=PATIENCE_S)

    assert stale.items == ()
    assert before.as_of <= stale.as_of <= rig.now()
    assert len(rig.port.read_run("algo-a-prod", "j7-r1", timeout_s=PATIENCE_S)) == 1


def test_healthy_nodes_renew_their_leases_and_silent_ones_stop(rig: Any) -> None:
    """F24."""
    rig.silence("n0")
    first = {lease.node: lease.renewed_at for lease in rig.port.list_node_leases(timeout_s=PATIENCE_S).items}
    rig.pass_time(15)
    second = {lease.node: lease.renewed_at for lease in rig.port.list_node_leases(timeout_s=PATIENCE_S).items}

    assert second["n0"] == first["n0"]
    assert second["n1"] > first["n1"]


def test_a_pod_on_a_silent_node_shows_its_last_sign_of_life(rig: Any) -> None:
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    rig.port.list_node_leases(timeout_s=PATIENCE_S)
    rig.silence("n0")
    silent_at = rig.now()
    rig.pass_time(20)
    rig.port.list_node_leases(timeout_s=PATIENCE_S)

    pod = rig.port.list_pods(timeout_s=PATIENCE_S).items[0]

    assert abs(silent_at - pod.last_sign) <= rig.slack


def test_a_node_says_that_it_is_not_ready_and_since_when(rig: Any) -> None:
    rig.stop_being_ready("n1")
    since = rig.now()
    rig.pass_time(2)

    nodes = {node.name: node for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items}

    assert nodes["n1"].ready is False
    assert abs(since - nodes["n1"].ready_since) <= rig.slack
    assert nodes["n0"].ready
    rig.recover("n1")
    assert all(node.ready for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items)


def test_a_bad_card_is_named(rig: Any) -> None:
    rig.break_card("n0", 3)

    nodes = {node.name: node for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items}

    assert (nodes["n0"].unhealthy_cards, nodes["n0"].card_count) == ((3,), 8)


def test_a_cordon_is_set_and_lifted(rig: Any) -> None:
    set_to = [rig.port.set_cordon("n0", cordoned=True, timeout_s=PATIENCE_S).kind]
    cordoned = {node.name: node.unschedulable for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items}
    set_to += [rig.port.set_cordon(name, cordoned=False, timeout_s=PATIENCE_S).kind for name in ("n0", "n9")]

    assert set_to == [ResultKind.ACCEPTED, ResultKind.ACCEPTED, ResultKind.GONE]
    assert (cordoned["n0"], cordoned["n1"]) == (True, False)
    assert not any(node.unschedulable for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items)


def test_a_cards_health_is_set_beside_the_others(rig: Any) -> None:
    def said(index: int, healthy: bool) -> tuple[int, ...]:
        answer = rig.port.set_card_health("n0", index, healthy=healthy, timeout_s=PATIENCE_S)
        assert answer.kind is ResultKind.ACCEPTED
        nodes = {node.name: node for node in rig.port.list_nodes(timeout_s=PATIENCE_S).items}
        return tuple(nodes["n0"].unhealthy_cards)

    assert [said(3, False), said(0, False), said(3, True), said(0, True)] == [(3,), (0, 3), (0,), ()]
    gone = rig.port.set_card_health("n9", 0, healthy=False, timeout_s=PATIENCE_S)
    assert gone.kind is ResultKind.GONE
