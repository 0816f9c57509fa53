"""What an API server's documents mean: times, ends and their reasons, nodes and quantities. F31, F37."""

from datetime import UTC, datetime
from typing import Any

import pytest

from scheduling.cluster.kube_answers import judge_write
from scheduling.cluster.kube_nodes import read_node
from scheduling.cluster.kube_reading import quantity_milli, read_pod
from scheduling.cluster.port import PodPhase, RefusalCode, ResultKind

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def a_pod(
    phase: str, *containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **status: Any
) -> dict[str, Any]:
    """A pod that was created at 09:00:00 and admitted by its kubelet at 09:00:01."""
    statuses = {"containerStatuses": [{"name": "main", "state": each} for each in containers]}
    if init:
        statuses["initContainerStatuses"] = [{"name": "init", "state": each} for each in init]
    return {
        "metadata": {
            "name": "j7-r1-worker-0",
            "namespace": "a",
            "uid": "u",
            "creationTimestamp": "2026-11-30T09:00:00Z",
        },
        "spec": {"nodeName": "n0"},
        "status": {"phase": phase, "startTime": "2026-11-30T09:00:01Z", **statuses, **status},
    }


def ended(code: int, at: str, reason: str = "Error", message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "finishedAt": f"2026-11-30T{at}Z", "reason": reason, "message": message}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


def after(minutes: int, seconds: int = 0) -> datetime:
    return datetime(2026, 11, 30, 9, minutes, seconds, tzinfo=UTC)


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (a_pod("Succeeded", ended(0, "09:10:00", "Completed"), ended(0, "09:12:00", "Completed")), (after(12), 0, "Completed", "")),
        (a_pod("Failed", ended(0, "09:12:00", "Completed"), ended(3, "09:10:00")), (after(12), 3, "Error", "")),
        (a_pod("Failed", ended(137, "09:10:00", "OOMKilled")), (after(10), 137, "OOMKilled", "")),
        (a_pod("Failed", ended(1, "09:10:00", message="CUDA out of memory.")), (after(10), 1, "Error", "CUDA out of memory.")),
        (a_pod("Failed", reason="Evicted", message="low on memory"), (None, None, "Evicted", "low on memory")),
        (a_pod("Failed", reason="OutOfnvidia.com/gpu", message="requested: 8"), (None, None, "OutOfnvidia.com/gpu", "requested: 8")),
        (a_pod("Pending", waiting("ImagePullBackOff", "not found")), (None, None, "ImagePullBackOff", "not found")),
        (a_pod("Pending", waiting("ContainerCreating")), (None, None, "", "")),
        (a_pod("Running", ended(0, "09:10:00", "Completed"), {"running": {}}), (None, 0, "Completed", "")),
        (a_pod("Failed", waiting("PodInitializing"), init=(ended(2, "09:01:00"),)), (after(1), 2, "Error", "")),
    ],
    ids=["latest-end", "first-failure", "oom", "gpu-oom", "evicted", "refused", "image", "creating", "half", "init"],
)  # fmt: skip
def test_a_pods_end_is_its_last_containers_and_its_reason_the_failed_ones(document: Any, want: Any) -> None:
    pod = read_pod(document, now=NOW)

    assert (pod.finished_at, pod.exit_code, pod.reason, pod.message) == want
    assert pod.start_at == (None if pod.reason.startswith("OutOf") else after(0, 1)), "who is turned away never began"


def test_a_pod_on_a_silent_node_was_last_seen_with_its_node_but_never_before_it_was_made() -> None:
    document = a_pod("Running", {"running": {}})

    assert read_pod(document, now=NOW).last_sign == NOW
    assert read_pod(document, now=NOW, silent_since=after(5)).last_sign == after(5)
    assert read_pod(document, now=NOW, silent_since=datetime(2026, 11, 30, 8, tzinfo=UTC)).last_sign == after(0)


def test_a_phase_that_nobody_knows_is_unknown() -> None:
    assert read_pod(a_pod("Dreaming"), now=NOW).phase is PodPhase.UNKNOWN


@pytest.mark.parametrize(
    ("text", "milli"),
    [("64", 64_000), ("64000m", 64_000), ("0.5", 500), ("5k", 5_000_000), ("5000", 5_000_000), ("1e3", 1_000_000), ("1Ki", 1_024_000),
     ("1.5Gi", 1_610_612_736_000), ("0", 0), ("1E3", 1_000_000), ("5000000n", 5), ("2500u", 2)],
)  # fmt: skip
def test_quantities_are_compared_as_quantities(text: str, milli: int) -> None:
    assert quantity_milli(text) == milli


@pytest.mark.parametrize("text", ["", "-1", "1 Gi", "Gi", "1g", "NaN", "1e"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity_milli(text)


def a_node(**changes: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T09:05:00Z"}
    capacity = {"cpu": "128", "memory": "1Ti", "pods": "110", "hugepages-2Mi": "0", "nvidia.com/gpu": "8"}
    document: dict[str, Any] = {
        "metadata": {"name": "n0", "uid": "u", "creationTimestamp": "2026-11-30T09:00:00Z", "labels": {"zone": "z1"}},
        "spec": {},
        "status": {"capacity": capacity, "conditions": [condition]},
    }
    for part, values in changes.items():
        document[part] = {**document[part], **values}
    return document


def test_a_node_tells_its_cards_by_whatever_name_its_vendor_gives_them() -> None:
    found = {
        name: read_node(a_node(status={"capacity": {"cpu": "1", "memory": "1Gi", "pods": "1", name: "16"}}))
        for name in ("nvidia.com/gpu", "nvidia.com/gpu.shared", "huawei.com/Ascend910", "amd.com/gpu")
    }  # fmt: skip

    assert {name: (node.resource_name, node.card_count) for name, node in found.items()} == {
        name: (name, 16) for name in found
    }


@pytest.mark.parametrize(
    ("capacity", "allocatable", "want"),
    [
        ({"nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "56"}, "56", ("nvidia.com/mig-1g.10gb", 8, 8)),
        ({"nvidia.com/mig-3g.40gb": "16"}, "15", ("nvidia.com/mig-3g.40gb", 8, 7)),
        ({"nvidia.com/mig-2g.20gb": "7"}, "6", ("nvidia.com/mig-2g.20gb", 2, 2)),
        ({"nvidia.com/mig-1g.20gb": "8"}, "8", ("nvidia.com/mig-1g.20gb", 2, 2)),
        ({"nvidia.com/mig-1g.10gb.me": "2"}, "2", ("nvidia.com/mig-1g.10gb.me", 2, 2)),
    ],
    ids=["all cut in seven", "an instance out", "a card not cut whole", "memory for four", "one with media engines"],
)
def test_a_node_of_mig_instances_tells_of_the_cards_that_they_are_cut_from(
    capacity: dict[str, str], allocatable: str, want: tuple[str, int, int]
) -> None:
    """SCH-13: a card of which an instance is missing counts as missing whole."""
    left = {**dict.fromkeys(capacity, "0"), want[0]: allocatable}
    node = read_node(a_node(status={"capacity": {"cpu": "1", **capacity}, "allocatable": left}))

    assert (node.resource_name, node.card_count, node.allocatable_cards) == want


@pytest.mark.parametrize(("status", "ready"), [("True", True), ("False", False), ("Unknown", None)])
def test_ready_unknown_is_neither_yes_nor_no(status: str, ready: bool | None) -> None:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-11-30T09:05:00Z"}
    node = read_node(a_node(status={"conditions": [condition]}))

    assert (node.ready, node.ready_since) == (ready, after(5))


def test_bad_cards_and_cordons_are_read() -> None:
    node = read_node(
        a_node(metadata={"annotations": {"berth.dev/unhealthy-cards": "3, 0,x"}}, spec={"unschedulable": True})
    )

    assert (node.unhealthy_cards, node.unschedulable, node.memory_mib, node.cpu_millicores) == (
        (0, 3),
        True,
        1024 * 1024,
        128_000,
    )


@pytest.mark.parametrize(
    ("status", "words", "want"),
    [
        (403, 'pods "p" is forbidden: exceeded quota: berth', (ResultKind.REFUSED, RefusalCode.QUOTA)),
        (403, "unable to create new content in namespace a because it is being terminated", (ResultKind.REFUSED, RefusalCode.NAMESPACE_TERMINATING)),
        (403, 'violates PodSecurity "restricted:latest"', (ResultKind.REFUSED, RefusalCode.ADMISSION)),
        (404, 'namespaces "a" not found', (ResultKind.REFUSED, RefusalCode.NAMESPACE_MISSING)),
        (422, "spec.containers: Required value", (ResultKind.REFUSED, RefusalCode.INVALID)),
        (429, "too many requests", (ResultKind.REFUSED, RefusalCode.THROTTLED)),
        (500, "etcdserver: request timed out", (ResultKind.UNKNOWN, None)),
        (503, "apiserver is shutting down", (ResultKind.UNREACHABLE, None)),
        (401, "Unauthorized", (ResultKind.UNREACHABLE, None)),
        (403, 'pods "p" is forbidden: not yet ready to handle request', (ResultKind.UNREACHABLE, None)),
    ],
)  # fmt: skip
def test_a_no_is_told_by_its_kind_and_in_the_clusters_words(status: int, words: str, want: Any) -> None:
    """F05, F06, F07."""
    result = judge_write(status, {"retry-after": "7"} if status == 429 else {}, {"message": words}, "p")

    assert (result.kind, result.code) == want
    assert words in result.message
    assert result.retry_after_s == (7 if status == 429 else None)


def test_a_create_that_another_write_overtook_is_tried_again() -> None:
    """F05: the quota that both were counted in had changed; it says nothing about the pod."""
    words = 'Operation cannot be fulfilled on resourcequotas "berth": the object has been modified; please apply your changes'

    result = judge_write(409, {}, {"reason": "Conflict", "message": words}, "p")

    assert (result.kind, result.code, result.retry_after_s) == (ResultKind.REFUSED, RefusalCode.THROTTLED, 1)


def test_what_a_node_keeps_for_itself_is_not_berths_to_give() -> None:
    allocatable = {"cpu": "120", "memory": "1000Gi", "pods": "100", "nvidia.com/gpu": "7"}

    node = read_node(a_node(status={"allocatable": allocatable}))

    assert (node.cpu_millicores, node.memory_mib, node.max_pods) == (120_000, 1000 * 1024, 100)
    assert node.card_count == 8
