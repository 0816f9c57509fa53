"""Of long lists only a part of each document is built; what Berth reads of it must be in that part."""

import json
from typing import Any

import pytest

from scheduling.cluster.kube_documents import read_leases, read_nodes, read_pods
from scheduling.cluster.kube_nodes import read_lease, read_node
from scheduling.cluster.kube_reading import read_pod
from scheduling.cluster.names import RUN_PROOF
from tests.unit.cluster.test_kube_reading import NOW, a_node, a_pod, ended, waiting

UNREAD = {"managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}], "generation": 3}
PODS = [
    a_pod("Succeeded", ended(0, "09:10:00", "Completed"), ended(0, "09:12:00", "Completed")),
    a_pod("Failed", ended(0, "09:12:00", "Completed"), ended(3, "09:10:00", message="CUDA out of memory.")),
    a_pod("Failed", reason="OutOfnvidia.com/gpu", message="requested: 8"),
    a_pod("Pending", waiting("ImagePullBackOff", "not found"), nominatedNodeName="n1", qosClass="Burstable"),
    a_pod("Failed", waiting("PodInitializing"), init=(ended(2, "09:01:00"),)),
    a_pod("Running", {"running": {"startedAt": "2026-11-30T09:00:02Z"}}),
    a_pod("Running", startTime=None),
    {"metadata": {"name": "bare", "uid": "u2", "creationTimestamp": "2026-11-30T09:00:00Z"}},
]
MARKED = {
    "labels": {"berth.dev/job": "7", "label.berth.dev/team": "a"},
    "annotations": {RUN_PROOF: "p", "other": "x"},
    "deletionTimestamp": "2026-11-30T09:30:00Z",
}


def a_list(*items: Any) -> bytes:
    metadata = {"resourceVersion": "77", "continue": "more", "remainingItemCount": 5}
    return json.dumps({"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}).encode()


def test_a_pod_of_a_list_is_read_as_its_whole_document_is() -> None:
    """F31, F37."""
    whole = [{**pod, "metadata": {**pod["metadata"], **more, **UNREAD}} for pod in PODS for more in ({}, MARKED)]

    found = read_pods(a_list(*whole))

    assert [read_pod(each, now=NOW) for each in found["items"]] == [read_pod(each, now=NOW) for each in whole]
    assert found["metadata"] == {"resourceVersion": "77", "continue": "more"}
    assert not any("managedFields" in each["metadata"] for each in found["items"]), "it was built for nothing"


def test_a_node_and_a_lease_of_a_list_are_read_as_their_whole_documents_are() -> None:
    nodes = [
        a_node(),
        a_node(spec={"unschedulable": True, "taints": [{"key": "maintenance", "value": "yes", "effect": "NoSchedule"}]}),
        a_node(metadata={"annotations": {"berth.dev/unhealthy-cards": "3,0"}}, status={"images": [{"names": ["x"]}]}),
        a_node(status={"allocatable": {"cpu": "120", "nvidia.com/gpu": "7"}, "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": None}]}),
    ]  # fmt: skip
    leases = [
        {"metadata": {"name": "n0"}, "spec": {"renewTime": "2026-11-30T09:00:00.000000Z", "holderIdentity": "n0"}},
        {"metadata": {"name": "n1"}, "spec": {}},
    ]

    assert [*map(read_node, read_nodes(a_list(*nodes))["items"])] == [*map(read_node, nodes)]
    assert [*map(read_lease, read_leases(a_list(*leases))["items"])] == [*map(read_lease, leases)]


@pytest.mark.parametrize("strange", [{"labels": None}, {"annotations": {"n": 1}}, {"generateName": 5}])
def test_one_strange_document_hides_no_other(strange: dict[str, Any]) -> None:
    odd = {**PODS[0], "metadata": {**PODS[0]["metadata"], **strange}}

    found = read_pods(a_list(odd, PODS[1]))

    assert [read_pod(each, now=NOW) for each in found["items"]] == [read_pod(each, now=NOW) for each in (odd, PODS[1])]


def test_an_empty_list_may_have_null_for_its_items() -> None:
    assert read_pods(b'{"metadata":{"resourceVersion":"1"},"items":null}')["items"] is None
