"""Berth's own rights: what its adapter uses and nothing else, and what it may not do with them."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from testplane.installed import documents

from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.kube_spaces import KubeSpaces
from scheduling.cluster.port import PodKey
from scheduling.cluster.tenant_objects import KINDS, TenantSpace, shared_objects, tenant_objects
from scheduling.control.tenant_spaces import POLICIES
from tests.kubernetes.callers import is_denied, is_refused_by_policy, is_refused_by_rights, words_of
from tests.kubernetes.plane import plane
from tests.kubernetes.recorded_calls import RecordedCalls, Right
from tests.kubernetes.two_tenants import CARDS, DRY, TwoTenants, a_space, run_of, two_tenants

PATIENCE_S = 30.0
OWN = ("berth", "berth-runs", "berth-heartbeats")
ASKED_OF_ANYBODY = Right("authorization.k8s.io", "selfsubjectaccessreviews", "create")
"""The stock role of everybody who is signed in."""
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def tenants() -> TwoTenants:
    return two_tenants()


class Watched:
    """Passes everything on and remembers what was called."""

    def __init__(self, of: Any, called: set[str]) -> None:
        self._of, self._called = of, called

    def __getattr__(self, name: str) -> Any:
        self._called.add(name)
        return getattr(self._of, name)


def given() -> set[Right]:
    """Every right of the roles in deploy/kubernetes/cluster/, but for `bind`, which no request names."""
    rules = [
        rule
        for document in documents()
        if document["kind"] in ("ClusterRole", "Role") and document["metadata"]["name"] in OWN
        for rule in document["rules"]
    ]
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb != "bind"
    }


def test_the_roles_give_exactly_what_is_used(tenants: TwoTenants) -> None:
    """Every call that the adapter can make is made under the role, on a real API server."""
    calls, called = RecordedCalls(str(plane().kubeconfig())), set[str]()
    cluster = KubernetesCluster("rights", now=lambda: datetime.now(UTC), calls=calls)
    space = TenantSpace("sec-used", "prod", CARDS)
    for name in ("production", "development", "batch"):
        tenants.admin.ask("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/berth-{name}")

    _look_after(Watched(cluster, called), Watched(cluster.spaces, called), space)
    a_space(cluster, space)
    _run(Watched(cluster, called), space.namespace)
    _look(Watched(cluster, called), Watched(cluster.spaces, called))

    assert calls.refused == []
    assert calls.used - {ASKED_OF_ANYBODY} == given()
    assert calls.bound == {"berth-runs", "berth-members"}
    assert {*_public(KubernetesCluster), *_public(KubeSpaces)} - called == {"name", "spaces"}


def _public(of: type) -> Iterable[str]:
    return (name for name in vars(of) if not name.startswith("_"))


def _look_after(cluster: Any, spaces: Any, space: TenantSpace) -> None:
    """As `reconcile_tenants` does: made, mended, replaced."""
    namespace, *inside = tenant_objects(space)
    spaces.read_object("Namespace", "", space.namespace, timeout_s=PATIENCE_S)
    spaces.create_object(namespace, timeout_s=PATIENCE_S)
    cluster.apply_objects([*shared_objects(), namespace, *inside], timeout_s=PATIENCE_S)
    cluster.apply_objects([*shared_objects(), namespace, *inside], timeout_s=PATIENCE_S)
    for document in inside:
        if document["kind"] in ("NetworkPolicy", "RoleBinding"):
            spaces.replace_object(document, timeout_s=PATIENCE_S)
    binding = next(each for each in inside if each["metadata"]["name"] == "berth-members" and "roleRef" in each)
    spaces.delete_object("RoleBinding", space.namespace, "berth-members", timeout_s=PATIENCE_S)
    cluster.apply_objects([binding], timeout_s=PATIENCE_S)
    spaces.check_space(space.namespace, timeout_s=PATIENCE_S)
    spaces.member_access(space.namespace, seconds=3600, timeout_s=PATIENCE_S)


def _run(cluster: Any, namespace: str) -> None:
    """A run's whole life; sent twice, as after a crash."""
    run = run_of(namespace, job=31)
    assert run.secret is not None
    assert cluster.create_run(run, timeout_s=PATIENCE_S).whole
    assert cluster.create_run(run, timeout_s=PATIENCE_S).whole
    (pod,) = cluster.read_run(namespace, run.name, timeout_s=PATIENCE_S)
    key = PodKey(namespace, pod.key.name)
    cluster.annotate_pod(
        key,
        uid=pod.uid,
        annotations={"berth.dev/evict-reason": "x"},
        condition="DisruptionTarget",
        timeout_s=PATIENCE_S,
    )
    cluster.read_logs(key, tail_lines=1, most_bytes=100, timeout_s=PATIENCE_S)
    cluster.follow_logs(key, tail_lines=1, most_bytes=100, timeout_s=1, opened=lambda: None)
    cluster.delete_pod(key, uid=pod.uid, grace_s=1, timeout_s=PATIENCE_S)
    cluster.force_delete_pod(key, uid=pod.uid, timeout_s=PATIENCE_S)
    cluster.delete_run(namespace, run.name, timeout_s=PATIENCE_S)


def _look(cluster: Any, spaces: Any) -> None:
    """As the observer does, and what an operator asks of a node."""
    cluster.health(timeout_s=PATIENCE_S)
    cluster.capabilities()
    version = cluster.list_pods(timeout_s=PATIENCE_S).resource_version
    list(cluster.watch_pods(version, timeout_s=0))
    cluster.list_nodes(timeout_s=PATIENCE_S)
    cluster.list_node_leases(timeout_s=PATIENCE_S)
    cluster.list_card_use(timeout_s=PATIENCE_S)
    cluster.list_managed(kinds=["Service"], timeout_s=PATIENCE_S)
    spaces.list_objects(kinds=[*KINDS, *POLICIES], timeout_s=PATIENCE_S)
    for wanted in (True, False):
        cluster.set_cordon("n1", cordoned=wanted, timeout_s=PATIENCE_S)
        cluster.set_card_health("n1", 0, healthy=not wanted, timeout_s=PATIENCE_S)


NOT_HELD = (
    ("list", "", "secrets", "kube-system"), ("get", "", "secrets", "kube-system"), ("get", "", "secrets", "berth-system"),
    ("list", "", "secrets", "sec-b-prod"), ("create", "", "pods", "kube-system"), ("create", "", "pods/exec", "sec-b-prod"),
    ("create", "", "pods/attach", "sec-b-prod"), ("create", "", "pods/portforward", "sec-b-prod"), ("get", "", "nodes/proxy", ""),
    ("delete", "", "nodes", ""), ("delete", "", "namespaces", ""), ("impersonate", "", "users", ""), ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", "kube-system"), ("create", "", "persistentvolumes", ""),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings", ""), ("create", "rbac.authorization.k8s.io", "clusterroles", ""),
    ("create", "rbac.authorization.k8s.io", "roles", "sec-b-prod"), ("escalate", "rbac.authorization.k8s.io", "clusterroles", ""),
    ("bind", "rbac.authorization.k8s.io", "clusterroles", ""), ("patch", "admissionregistration.k8s.io", "validatingadmissionpolicies", ""),
    ("delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings", ""),
    ("create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""),
    ("create", "certificates.k8s.io", "certificatesigningrequests", ""), ("update", "certificates.k8s.io", "certificatesigningrequests/approval", ""),
    ("create", "", "serviceaccounts/token", "berth-system"), ("create", "", "serviceaccounts/token", "kube-system"),
)  # fmt: skip


@pytest.mark.parametrize("right", NOT_HELD, ids=[" ".join(filter(None, each)) for each in NOT_HELD])
def test_rights_that_lead_further_are_not_held(tenants: TwoTenants, right: tuple[str, str, str, str]) -> None:
    """By the API server's own word on it."""
    verb, group, resource, namespace = right
    plural, _slash, part = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": plural, "subresource": part, "namespace": namespace}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }

    answer = tenants.berth.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)

    assert answer.body["status"]["allowed"] is False


def a_binding(role: str, namespace: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "more", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "berth", "namespace": "berth-system"}],
    }


def test_berth_gives_itself_no_more_rights(tenants: TwoTenants) -> None:
    """It binds its own two roles and no other, and those in tenants' namespaces only."""
    tried = [
        tenants.berth.ask("POST", f"{RBAC}/namespaces/{space}/rolebindings{DRY}", a_binding(role, space))
        for role, space in (("cluster-admin", tenants.a), ("berth-runs", "kube-system"), ("berth-runs", "berth-system"))
    ]

    assert is_denied(tried[0], "attempting to grant RBAC permissions not currently held"), words_of(tried[0])
    assert all(map(is_refused_by_policy, tried[1:])), [words_of(each) for each in tried]


def test_berth_takes_no_namespace_that_is_not_a_tenants(tenants: TwoTenants) -> None:
    labels = {"berth.dev/tenant": "kube", "app.kubernetes.io/managed-by": "berth"}
    labels["pod-security.kubernetes.io/enforce"] = "restricted"
    document = {"metadata": {"labels": labels}}

    for name in ("kube-system", "default", "berth-system"):
        answer = tenants.berth.ask("PATCH", f"/api/v1/namespaces/{name}{DRY}", document, kind="merge-patch+json")
        assert is_refused_by_policy(answer), words_of(answer)
    weak = {"metadata": {"name": "sec-weak-prod", "labels": {"berth.dev/tenant": "sec-weak"}}}
    assert is_refused_by_policy(tenants.berth.ask("POST", f"/api/v1/namespaces{DRY}", weak))


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"berth.dev/flavor": "another"}}},
        {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}},
        {"metadata": {"annotations": {"example.org/x": "y"}}},
    ],
    ids=["label", "taint", "annotation"],
)
def test_of_a_node_berth_changes_cordon_and_own_notes_only(tenants: TwoTenants, change: dict[str, Any]) -> None:
    answer = tenants.berth.ask("PATCH", f"/api/v1/nodes/n0{DRY}", change, kind="merge-patch+json")

    assert is_refused_by_policy(answer), words_of(answer)


def test_secrets_elsewhere_are_closed_to_berth(tenants: TwoTenants) -> None:
    for space in ("kube-system", "default", "berth-system"):
        assert is_refused_by_rights(tenants.berth.ask("GET", f"/api/v1/namespaces/{space}/secrets/x"))
