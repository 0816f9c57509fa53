"""The files that an administrator applies are those that the code means, and quotas are compared as amounts."""

from typing import Any

import pytest
import yaml
from testplane.installed import FILES

from scheduling.cluster.admission import admission_objects
from scheduling.cluster.kube_spaces import deleting, uncounted


def test_the_policies_file_is_what_the_code_compares_with() -> None:
    """Cure: deploy/kubernetes/cluster/write_policies.py."""
    assert list(yaml.safe_load_all((FILES / "policies.yaml").read_text())) == list(admission_objects())


def test_roles_have_no_wildcard_and_no_verb_that_leads_further() -> None:
    rules = [
        rule for document in yaml.safe_load_all((FILES / "rbac.yaml").read_text()) for rule in document.get("rules", [])
    ]

    said = {word for rule in rules for part in ("apiGroups", "resources", "verbs") for word in rule[part]}
    bound = [rule["resourceNames"] for rule in rules if "bind" in rule["verbs"]]
    assert not said & {"*", "escalate", "impersonate", "nodes/proxy", "pods/exec", "deletecollection"}
    assert bound == [["berth-runs", "berth-members"]]


@pytest.mark.parametrize(
    ("counted", "want"),
    [
        ({"pods": "5k", "requests.nvidia.com/gpu": "16"}, ""),
        ({"pods": "5k", "requests.nvidia.com/gpu": "8"}, "its quota does not count requests.nvidia.com/gpu yet"),
        ({"pods": "5k"}, "its quota does not count requests.nvidia.com/gpu yet"),
        (None, "its quota does not count pods, requests.nvidia.com/gpu yet"),
    ],
    ids=["written-otherwise", "of-before", "part", "not-at-all"],
)
def test_a_quota_counts_when_its_amounts_are_those_asked_for(counted: Any, want: str) -> None:
    asked = {"pods": "5000", "requests.nvidia.com/gpu": "16"}
    status = {} if counted is None else {"hard": counted}

    assert uncounted({"spec": {"hard": asked}, "status": status}) == want


def test_a_namespace_says_what_its_deletion_waits_for() -> None:
    waits = {"status": "True", "message": "example.org/hold in 1 resource instances"}
    fine = {"status": "False", "message": "All content successfully deleted"}

    told = deleting({"metadata": {"name": "a-prod"}, "status": {"conditions": [fine, waits]}})

    assert told == "namespace a-prod is being deleted, blocked by: example.org/hold in 1 resource instances"
