"""Drift is what differs in meaning, not in writing; what others add is theirs."""

from typing import Any

import pytest

from scheduling.cluster.kube_drift import differences
from scheduling.cluster.tenant_objects import TenantSpace, shared_objects, tenant_objects

WANTED = {
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "labels": {"a": "1"}},
    "spec": {"hard": {"pods": "5000", "cpu": "2"}},
}


def held(**hard: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "q", "labels": {"a": "1", "other": "x"}, "uid": "u"},
        "spec": {"hard": hard},
        "status": {},
    }


@pytest.mark.parametrize(
    ("there", "want"),
    [
        (None, "missing"),
        (held(pods="5k", cpu="2000m"), ""),
        (held(pods="5k", cpu="2", memory="1Gi"), ""),
        (held(pods="4999", cpu="2"), "spec.hard.pods"),
        (held(cpu="3"), "spec.hard.pods, spec.hard.cpu"),
    ],
    ids=["missing", "written-otherwise", "more", "other", "gone"],
)
def test_amounts_are_compared_as_amounts_and_additions_left_alone(there: Any, want: str) -> None:
    assert differences(WANTED, there) == want


def test_lists_are_compared_whole() -> None:
    wanted = {"rules": [{"verbs": ["get", "list"]}]}

    assert differences(wanted, {"rules": [{"verbs": ["get", "list"], "extra": 1}]}) == ""
    assert differences(wanted, {"rules": [{"verbs": ["get", "*"]}]}) == "rules[0].verbs[1]"
    assert differences(wanted, {"rules": [{"verbs": ["get", "list"]}, {"verbs": ["delete"]}]}) == "rules"


def test_a_namespace_gives_no_rights_and_lets_nothing_in() -> None:
    objects = {
        (each["kind"], each["metadata"]["name"]): each
        for each in tenant_objects(TenantSpace("a", "prod", {"nvidia.com/gpu": 16}))
    }

    assert objects["Namespace", "a-prod"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert objects["ServiceAccount", "default"]["automountServiceAccountToken"] is False
    assert objects["ResourceQuota", "berth"]["spec"]["hard"]["requests.nvidia.com/gpu"] == "16"
    assert {(each["roleRef"]["kind"], each["roleRef"]["name"]) for (kind, _), each in objects.items() if kind == "RoleBinding"} == {
        ("ClusterRole", "berth-members"), ("ClusterRole", "berth-runs")
    }  # fmt: skip
    assert [each["name"] for each in objects["RoleBinding", "berth-members"]["subjects"]] == [
        "berth:a:members",
        "berth-members",
    ]
    deny = objects["NetworkPolicy", "berth-deny"]["spec"]
    assert (deny["podSelector"], "ingress" in deny, "egress" in deny) == ({}, False, False)


def test_production_comes_first_and_no_class_preempts() -> None:
    classes = {each["metadata"]["name"]: each for each in shared_objects()}

    values = [classes[f"berth-{tier}"]["value"] for tier in ("production", "development", "batch")]
    assert values == sorted(values, reverse=True)
    assert {each["preemptionPolicy"] for each in classes.values()} == {"Never"}


@pytest.mark.parametrize(
    "opened",
    [
        {"podSelector": {"matchLabels": {"a": "b"}}},
        {"ingress": [{}]},
        {"policyTypes": ["Ingress"]},
    ],
    ids=["applies-to-nobody", "lets-all-in", "one-way"],
)
def test_a_fence_that_was_opened_is_drift_however_it_was_opened(opened: dict[str, Any]) -> None:
    (deny,) = [each for each in tenant_objects(TenantSpace("a", "prod")) if each["metadata"]["name"] == "berth-deny"]
    there = {**deny, "spec": {**deny["spec"], **opened}}

    assert (differences(deny, deny), differences(deny, there)) == ("", "spec")
