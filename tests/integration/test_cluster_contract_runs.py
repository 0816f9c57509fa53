"""What every cluster adapter promises about creating, reading and removing runs. F03, F05, F07, F20."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from scheduling.cluster.faults import FaultKind, FaultRule
from scheduling.cluster.port import ClusterUnreachableError, PodKey, PodPhase, RefusalCode, ResultKind
from tests.integration.cluster_rigs import RIGS, WITH_KUBELETS
from tests.unit.cluster.builders import a_run

PATIENCE_S = 2.0
OWNER = ("algo-a-prod", "j7-r1")


@pytest.fixture(params=sorted(RIGS))
def rig(request: Any, test_database: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), RIGS[request.param]() as made:
        yield made


def fault(operation: str, kind: FaultKind, **more: Any) -> FaultRule:
    return FaultRule(0, operation, kind, **more)


def test_a_run_is_made_whole_and_a_repeat_finds_the_same_objects(rig: Any) -> None:
    run = a_run(nodes=("n0", "n1"))

    first = rig.port.create_run(run, timeout_s=PATIENCE_S)
    again = rig.port.create_run(run, timeout_s=PATIENCE_S)

    assert first.whole
    assert [pod.kind for pod in first.pods] == [ResultKind.CREATED] * 2
    assert [pod.kind for pod in again.pods] == [ResultKind.EXISTS] * 2
    assert [pod.uid for pod in again.pods] == [pod.uid for pod in first.pods]
    assert again.service.uid == first.service.uid


def test_pods_start_run_and_end_in_the_clusters_own_times(rig: Any) -> None:
    rig.port.create_run(a_run(labels={"berth.dev/sim-duration": "3"}), timeout_s=PATIENCE_S)

    rig.pass_time(1)
    running = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]
    rig.pass_time(5)
    ended = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]

    assert running.phase is PodPhase.RUNNING
    assert running.finished_at is None
    assert (ended.phase, ended.exit_code) == (PodPhase.SUCCEEDED, 0)
    assert (ended.finished_at - ended.start_at).total_seconds() == 3
    assert ended.last_sign == ended.finished_at


def test_a_created_run_whose_answer_was_lost_is_found_by_reading(rig: Any) -> None:
    """F03."""
    rig.plan_fault(fault("create_run", FaultKind.LOST_ANSWER))

    answer = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    found = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)
    repeat = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)

    assert answer.pods[0].kind is ResultKind.UNKNOWN
    assert [pod.key.name for pod in found] == ["j7-r1-worker-0"]
    assert (repeat.pods[0].kind, repeat.pods[0].uid) == (ResultKind.EXISTS, found[0].uid)


def test_a_request_that_never_arrived_looks_the_same_and_made_nothing(rig: Any) -> None:
    rig.plan_fault(fault("create_run", FaultKind.NEVER_ARRIVED))

    answer = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)

    assert answer.pods[0].kind is ResultKind.UNKNOWN
    assert rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == ()


WORDS = {
    RefusalCode.QUOTA: 'pods "j7-r1-worker-0" is forbidden: exceeded quota: berth, requested: pods=1, used: pods=4, limited: pods=4',
    RefusalCode.NAMESPACE_TERMINATING: (
        'pods "j7-r1-worker-0" is forbidden: unable to create new content in namespace algo-a-prod because it is being terminated'
    ),
    RefusalCode.ADMISSION: 'pods "j7-r1-worker-0" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
}


@pytest.mark.parametrize("code", sorted(WORDS))
def test_a_refusal_carries_its_code_and_the_clusters_own_words(rig: Any, code: RefusalCode) -> None:
    """F05, F06."""
    rig.plan_fault(fault("create_run", FaultKind.REFUSE, code=code, message=WORDS[code]))

    answer = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)

    assert not answer.whole
    assert (answer.refusal.code, answer.refusal.message) == (code, WORDS[code])


def test_a_refusal_in_the_middle_tells_which_pods_were_made(rig: Any) -> None:
    rig.plan_fault(fault("create_run", FaultKind.REFUSE, after=1, code=RefusalCode.QUOTA, message="exceeded quota"))

    answer = rig.port.create_run(a_run(nodes=("n0", "n1")), timeout_s=PATIENCE_S)

    assert [pod.kind for pod in answer.pods] == [ResultKind.CREATED, ResultKind.REFUSED]
    assert len(rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)) == 1


def test_throttling_names_its_delay(rig: Any) -> None:
    """F07."""
    rig.plan_fault(fault("create_run", FaultKind.REFUSE, code=RefusalCode.THROTTLED, retry_after_s=7))

    assert rig.port.create_run(a_run(), timeout_s=PATIENCE_S).refusal.retry_after_s == 7


def test_an_unreachable_cluster_answers_writes_and_raises_on_reads(rig: Any) -> None:
    """F07."""
    rig.plan_fault(fault("create_run", FaultKind.UNREACHABLE))
    rig.plan_fault(fault("list_pods", FaultKind.UNREACHABLE))
    rig.plan_fault(fault("read_run", FaultKind.UNREACHABLE))
    rig.plan_fault(fault("health", FaultKind.UNREACHABLE, message="connection refused"))

    assert rig.port.create_run(a_run(), timeout_s=PATIENCE_S).service.kind is ResultKind.UNREACHABLE
    with pytest.raises(ClusterUnreachableError):
        rig.port.list_pods(timeout_s=PATIENCE_S)
    with pytest.raises(ClusterUnreachableError):
        rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)
    assert rig.port.health(timeout_s=PATIENCE_S).message == "connection refused"
    assert rig.port.health(timeout_s=PATIENCE_S).reachable


def test_a_stalled_call_gives_up_in_time_and_does_not_claim_to_know(rig: Any) -> None:
    """F07."""
    rig.plan_fault(fault("create_run", FaultKind.STALL, seconds=30))

    answer = rig.port.create_run(a_run(), timeout_s=0.05)

    assert answer.service.kind is ResultKind.UNKNOWN


def test_deleting_the_owner_removes_all_of_it_once(rig: Any) -> None:
    rig.port.create_run(a_run(nodes=("n0", "n1")), timeout_s=PATIENCE_S)
    rig.pass_time(1)

    first = rig.port.delete_run(*OWNER, timeout_s=PATIENCE_S)
    rig.wait_until(lambda: rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == (), within=30)

    assert first.kind is ResultKind.ACCEPTED
    assert rig.port.delete_run(*OWNER, timeout_s=PATIENCE_S).kind is ResultKind.GONE
    assert rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == ()


def test_a_pod_is_deleted_by_uid_with_its_grace_and_never_its_successor(rig: Any) -> None:
    """F25."""
    rig.port.create_run(a_run(labels={"berth.dev/sim-stop-delay": "1000"}), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    pod = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]

    stranger = rig.port.delete_pod(pod.key, uid="another", grace_s=0, timeout_s=PATIENCE_S)
    asked = rig.port.delete_pod(pod.key, uid=pod.uid, grace_s=4, timeout_s=PATIENCE_S)
    leaving = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]
    rig.wait_until(lambda: rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == (), within=21)

    assert (stranger.kind, asked.kind) == (ResultKind.GONE, ResultKind.ACCEPTED)
    assert leaving.deletion_at is not None
    assert rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == ()


def test_pods_join_a_run_and_leave_it_while_the_others_go_on(rig: Any) -> None:
    """SCH-10: under the same owner, each by its own name, and a name that has left may be had again."""
    whole = a_run(nodes=("n0", "n1"))
    first = rig.port.create_run(replace(whole, pods=whole.pods[:1]), timeout_s=PATIENCE_S)
    rig.pass_time(2)
    joined = rig.port.create_run(replace(whole, pods=whole.pods[1:]), timeout_s=PATIENCE_S)
    rig.pass_time(2)
    assert (joined.whole, joined.service.uid) == (True, first.service.uid)
    key = PodKey(OWNER[0], f"{OWNER[1]}-worker-1")

    rig.port.delete_pod(key, uid=joined.pods[0].uid, grace_s=5, timeout_s=PATIENCE_S)
    rig.wait_until(lambda: len(rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)) == 1, within=20)
    left = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)
    again = rig.port.create_run(replace(whole, pods=whole.pods[1:]), timeout_s=PATIENCE_S)

    assert [(pod.uid, pod.deletion_at) for pod in left] == [(first.pods[0].uid, None)]
    assert again.pods[0].kind is ResultKind.CREATED
    assert again.pods[0].uid != joined.pods[0].uid


def test_a_name_that_is_leaving_cannot_be_had_yet(rig: Any) -> None:
    """SCH-10: what is there still is no new pod."""
    run = a_run(labels={"berth.dev/sim-stop-delay": "never"})
    made = rig.port.create_run(run, timeout_s=PATIENCE_S)
    rig.wait_until(lambda: _phase(rig) is PodPhase.RUNNING, within=5)
    rig.port.delete_pod(PodKey(OWNER[0], made.pods[0].name), uid=made.pods[0].uid, grace_s=60, timeout_s=PATIENCE_S)

    again = rig.port.create_run(run, timeout_s=PATIENCE_S)

    assert [(pod.kind, pod.code) for pod in again.pods] == [(ResultKind.REFUSED, RefusalCode.CONFLICT)]


def _phase(rig: Any) -> PodPhase:
    found: PodPhase = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0].phase
    return found


def test_a_stuck_pod_leaves_only_by_force(rig: Any) -> None:
    """F28."""
    rig.port.create_run(a_run(labels={"berth.dev/sim-stop-delay": "never"}), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    pod = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]

    rig.port.delete_pod(pod.key, uid=pod.uid, grace_s=1, timeout_s=PATIENCE_S)
    rig.pass_time(4)
    still = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)
    rig.port.force_delete_pod(pod.key, uid=pod.uid, timeout_s=PATIENCE_S)

    assert [each.uid for each in still] == [pod.uid]
    assert rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == ()


@pytest.mark.parametrize("rig", WITH_KUBELETS, indirect=True)
def test_a_pod_that_does_not_fit_its_node_fails_there_and_holds_nothing(rig: Any) -> None:
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    rig.port.create_run(a_run(job=8), timeout_s=PATIENCE_S)
    rig.pass_time(1)

    refused = rig.port.read_run("algo-a-prod", "j8-r1", timeout_s=PATIENCE_S)[0]

    assert refused.phase is PodPhase.FAILED
    assert refused.reason.startswith(("OutOf", "UnexpectedAdmissionError"))


def test_a_notice_is_written_on_the_pod_and_nowhere_else(rig: Any) -> None:
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    pod = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0]
    notice = {"berth.dev/evict-reason": "reclaim-nominal"}

    told = rig.port.annotate_pod(
        pod.key, uid=pod.uid, annotations=notice, condition="DisruptionTarget", timeout_s=PATIENCE_S
    )
    missing = rig.port.annotate_pod(
        PodKey("algo-a-prod", "nobody"), uid="x", annotations=notice, condition=None, timeout_s=PATIENCE_S
    )

    assert (told.kind, missing.kind) == (ResultKind.ACCEPTED, ResultKind.GONE)


def test_logs_are_a_bounded_tail_and_say_when_there_are_none(rig: Any) -> None:
    """Nodes without a kubelet keep no log: that is told, and is no error."""
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    mine, bounds = PodKey("algo-a-prod", "j7-r1-worker-0"), {"tail_lines": 1, "most_bytes": 200}

    tail = rig.port.read_logs(mine, **bounds, timeout_s=PATIENCE_S)
    nothing = rig.port.read_logs(PodKey("algo-a-prod", "nobody"), tail_lines=5, most_bytes=200, timeout_s=PATIENCE_S)

    assert len(tail.text.splitlines()) <= 1
    assert len(tail.text.encode()) <= 200
    assert tail.available or tail.message
    assert (nothing.available, nothing.text) == (False, "")
    assert "not found" in nothing.message


def test_a_followed_log_ends_with_the_pod_or_in_time(rig: Any) -> None:
    rig.port.create_run(a_run(), timeout_s=PATIENCE_S)
    rig.pass_time(1)
    opened: list[bool] = []

    tail = rig.port.follow_logs(
        PodKey("algo-a-prod", "j7-r1-worker-0"),
        tail_lines=100,
        most_bytes=10_000,
        timeout_s=1,
        opened=lambda: opened.append(True),
    )

    assert tail.available == bool(opened)
    assert tail.available or tail.message


def test_applied_objects_are_listed_as_managed_and_repeating_changes_nothing(rig: Any) -> None:
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "more", "namespace": "algo-a-prod", "labels": {"a": "1"}},
        "spec": {"limits": []},
    }

    rig.port.apply_objects([limits], timeout_s=PATIENCE_S)
    results = rig.port.apply_objects([limits], timeout_s=PATIENCE_S)
    managed = {item.name: item for item in rig.port.list_managed(kinds=["LimitRange"], timeout_s=PATIENCE_S).items}

    assert [result.kind for result in results] == [ResultKind.ACCEPTED]
    assert managed["more"].manifest["metadata"]["labels"]["a"] == "1"
