"""What tenant A's job account and member may do on the API server: a member reads its own pods and their logs, and that is all.

Each refusal has to be RBAC's own; what a role that RBAC lets through would meet then is in the tests of admission.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduling.cluster.port import ResultKind
from tests.kubernetes.callers import KINDS_OF_PATCH, Caller, is_refused_by_policy, is_refused_by_rights, words_of
from tests.kubernetes.two_tenants import TwoTenants, run_of, two_tenants

ABOUT_ONESELF = {"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}
"""Anybody may ask what he himself is and may."""
COLLECTION = {"list": "GET", "watch": "GET", "create": "POST", "deletecollection": "DELETE"}
OBJECT = {"get": "GET", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}
RUN = run_of("sec-a-prod", job=11)


@pytest.fixture(scope="module")
def tenants() -> Iterator[TwoTenants]:
    made = two_tenants()
    assert made.cluster.create_run(RUN, timeout_s=30).whole
    yield made
    made.cluster.delete_run(made.a, RUN.name, timeout_s=30)


@pytest.fixture(params=["job", "member"])
def tenant(request: Any, tenants: TwoTenants) -> Caller:
    caller: Caller = getattr(tenants, request.param)
    return caller


def resources(tenants: TwoTenants, *, namespaced: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """(address of the group's version, resource) as the API server tells them."""
    groups = tenants.admin.send("GET", "/apis")["groups"]
    roots = ["/api/v1", *(f"/apis/{version['groupVersion']}" for group in groups for version in group["versions"])]
    for root in roots:
        for resource in tenants.admin.send("GET", root)["resources"]:
            if resource["namespaced"] is namespaced and resource["name"].partition("/")[0] not in ABOUT_ONESELF:
                yield root, resource


def attempts(place: str, resource: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(method, address) of every verb of a resource, in a namespace or cluster."""
    plural, _slash, part = resource["name"].partition("/")
    for verb in resource["verbs"]:
        if part:
            yield {**OBJECT, "create": "POST"}.get(verb, "GET"), f"{place}/{plural}/x/{part}"
        elif verb in COLLECTION:
            yield COLLECTION[verb], f"{place}/{plural}{'?watch=true&timeoutSeconds=1' if verb == 'watch' else ''}"
        else:
            yield OBJECT[verb], f"{place}/{plural}/x"


def not_refused(caller: Caller, tried: Iterator[tuple[str, str]]) -> tuple[int, list[str]]:
    count, breaches = 0, []
    for method, path in tried:
        kind = "merge-patch+json" if method == "PATCH" else "json"
        answer = caller.ask(method, path, {} if method in ("POST", "PUT", "PATCH") else None, kind=kind)
        count += 1
        if not is_refused_by_rights(answer):
            breaches.append(f"{method} {path}: {answer.status} {words_of(answer)[:100]}")
    return count, breaches


def test_every_verb_on_everything_of_the_cluster_is_refused(tenants: TwoTenants, tenant: Caller) -> None:
    """K01, K09."""
    tried = (each for root, resource in resources(tenants, namespaced=False) for each in attempts(root, resource))

    count, breaches = not_refused(tenant, tried)

    assert breaches == []
    assert count > 100


def test_every_verb_on_everything_of_another_tenant_is_refused(tenants: TwoTenants, tenant: Caller) -> None:
    """K02."""
    tried = (
        each
        for root, resource in resources(tenants, namespaced=True)
        for each in attempts(f"{root}/namespaces/{tenants.b}", resource)
    )

    count, breaches = not_refused(tenant, tried)

    assert breaches == []
    assert count > 200


@pytest.mark.parametrize("namespace", ["kube-system", "default", "berth-system", "kube-node-lease", "sec-b-prod"])
def test_elsewhere_there_is_no_right_at_all_but_to_ask_about_oneself(
    tenants: TwoTenants, tenant: Caller, namespace: str
) -> None:
    """K02: by the API server's own list of rights."""
    assert list(_rights(tenant, namespace)) == []


def test_at_home_a_member_reads_pods_and_logs_and_a_job_has_no_right(tenants: TwoTenants) -> None:
    """K04, K20."""
    assert list(_rights(tenants.job, tenants.a)) == []
    assert sorted(_rights(tenants.member, tenants.a)) == ["get pods", "get pods/log", "list pods", "watch pods"]
    assert tenants.member.ask("GET", tenants.pods()).status == 200
    assert tenants.job.ask("GET", tenants.pods()).status == 403


def _rights(caller: Caller, namespace: str) -> Iterator[str]:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer = caller.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
    for rule in answer.body["status"]["resourceRules"]:
        for resource in set(rule["resources"]) - ABOUT_ONESELF:
            yield from (f"{verb} {resource}" for verb in rule["verbs"])


@pytest.mark.parametrize("plural", ["pods", "secrets", "events", "configmaps", "jobs"])
def test_nothing_is_listed_across_namespaces(tenant: Caller, plural: str) -> None:
    """K03."""
    root = "/apis/batch/v1" if plural == "jobs" else "/api/v1"

    assert is_refused_by_rights(tenant.ask("GET", f"{root}/{plural}"))
    assert is_refused_by_rights(tenant.ask("GET", f"{root}/{plural}?watch=true&timeoutSeconds=1"))


def test_secrets_of_the_own_namespace_are_not_read(tenants: TwoTenants, tenant: Caller) -> None:
    """K04: not even the run's own, by name."""
    secrets = f"/api/v1/namespaces/{tenants.a}/secrets"

    for path in (secrets, f"{secrets}?watch=true&timeoutSeconds=1", f"{secrets}/j11-r1-token"):
        assert is_refused_by_rights(tenant.ask("GET", path))


@pytest.mark.parametrize(
    "account", ["sec-a-prod/default", "sec-a-prod/berth-members", "sec-b-prod/default", "berth-system/berth"]
)
def test_no_account_gives_out_a_token(tenant: Caller, account: str) -> None:
    """K05."""
    namespace, _slash, name = account.partition("/")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}

    answer = tenant.ask("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", request)

    assert is_refused_by_rights(answer)


@pytest.mark.parametrize(
    "headers",
    [
        {"Impersonate-User": "somebody"},
        {"Impersonate-User": "somebody", "Impersonate-Group": "system:masters"},
        {"Impersonate-User": "system:serviceaccount:sec-b-prod:default"},
        {"Impersonate-User": "system:serviceaccount:berth-system:berth"},
        {"Impersonate-User": "somebody", "Impersonate-Uid": "1"},
        {"Impersonate-User": "somebody", "Impersonate-Extra-x": "1"},
    ],
    ids=["user", "masters", "other-tenant", "berth", "uid", "extra"],
)
def test_nobody_else_is_played(tenants: TwoTenants, tenant: Caller, headers: dict[str, str]) -> None:
    """K06."""
    assert is_refused_by_rights(tenant.ask("GET", tenants.pods(), headers=headers))


@pytest.mark.parametrize(
    "rules",
    [
        [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate", "bind"]}],
        [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    ],
    ids=["more", "escalate", "everything"],
)
def test_no_role_is_made(tenants: TwoTenants, tenant: Caller, rules: list[Any]) -> None:
    """K08."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "more"}, "rules": rules}
    place = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{tenants.a}"

    assert is_refused_by_rights(tenant.ask("POST", f"{place}/roles", role))
    assert is_refused_by_rights(tenant.ask("POST", f"{place}/rolebindings", {"metadata": {"name": "more"}}))


MANAGED = {
    "resourcequotas": ("/api/v1", "berth"),
    "limitranges": ("/api/v1", "berth"),
    "serviceaccounts": ("/api/v1", "berth-members"),
    "networkpolicies": ("/apis/networking.k8s.io/v1", "berth-deny"),
    "rolebindings": ("/apis/rbac.authorization.k8s.io/v1", "berth-members"),
}


@pytest.mark.parametrize("plural", list(MANAGED))
def test_what_berth_keeps_in_a_namespace_is_changed_by_nobody_else(
    tenants: TwoTenants, tenant: Caller, plural: str
) -> None:
    """K10: the tenant has no right, and a role that has is denied by the policy."""
    root, name = MANAGED[plural]
    place = f"{root}/namespaces/{tenants.a}/{plural}"
    whole = tenants.admin.send("GET", f"{place}/{name}")
    changed = {**whole, "metadata": {**whole["metadata"], "labels": {}}}

    def tried(caller: Caller) -> list[Any]:
        return [
            caller.ask("PUT", f"{place}/{name}?dryRun=All", changed),
            caller.ask(
                "PATCH", f"{place}/{name}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, kind="merge-patch+json"
            ),
            caller.ask("DELETE", f"{place}/{name}?dryRun=All"),
            caller.ask("DELETE", f"{place}?dryRun=All"),
        ]

    assert all(map(is_refused_by_rights, tried(tenant)))
    assert all(map(is_refused_by_policy, tried(tenants.permitted)))


@pytest.mark.parametrize("kind", KINDS_OF_PATCH)
def test_a_tenants_namespace_itself_is_not_changed(tenants: TwoTenants, tenant: Caller, kind: str) -> None:
    """K11: Pod Security and the tenant's name stand in its labels."""
    place = f"/api/v1/namespaces/{tenants.a}"
    force = "&force=true&fieldManager=x" if kind.startswith("apply") else ""

    def patched(caller: Caller, labels: dict[str, str]) -> Any:
        metadata: dict[str, Any] = {"name": tenants.a, "labels": labels}
        document: Any = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        if kind == "json-patch+json":
            document = [
                {"op": "add", "path": f"/metadata/labels/{key.replace('/', '~1')}", "value": value}
                for key, value in labels.items()
            ]
        return caller.ask("PATCH", f"{place}?dryRun=All{force}", document, kind=kind)

    weaker, other = {"pod-security.kubernetes.io/enforce": "privileged"}, {"berth.dev/tenant": "sec-b"}
    for labels in (weaker, other):
        assert is_refused_by_rights(patched(tenant, labels))
        assert is_refused_by_policy(patched(tenants.permitted, labels))
    for method, path in (("PUT", f"{place}/finalize"), ("PUT", f"{place}/status"), ("DELETE", place)):
        assert is_refused_by_rights(tenant.ask(method, path, {}))


@pytest.mark.parametrize(
    "part", ["exec", "attach", "portforward", "proxy", "ephemeralcontainers", "eviction", "binding"]
)
def test_no_way_into_a_running_pod(tenants: TwoTenants, tenant: Caller, part: str) -> None:
    """K12."""
    (name,) = (pod["metadata"]["name"] for pod in RUN.pods)
    for namespace in (tenants.a, tenants.b):
        for method in ("GET", "POST", "PUT", "PATCH"):
            kind = "merge-patch+json" if method == "PATCH" else "json"
            body: Any = None if method == "GET" else {}
            answer = tenant.ask(method, f"{tenants.pods(namespace)}/{name}/{part}", body, kind=kind)
            assert is_refused_by_rights(answer) or answer.status == 405


def test_no_way_through_services_and_nodes(tenants: TwoTenants, tenant: Caller) -> None:
    """K12."""
    for path in (f"/api/v1/namespaces/{tenants.a}/services/{RUN.name}/proxy/", "/api/v1/nodes/n0/proxy/pods"):
        assert is_refused_by_rights(tenant.ask("GET", path))


STOLEN: dict[str, dict[str, Any]] = {
    "label": {"labels": {"berth.dev/job": "12"}},
    "managed-by": {"labels": {"app.kubernetes.io/managed-by": None}},
    "annotation": {"annotations": {"berth.dev/run-proof": "x"}},
    "finalizer": {"finalizers": ["example.org/hold"]},
    "owner": {"ownerReferences": None},
}


@pytest.mark.parametrize("change", STOLEN.values(), ids=list(STOLEN))
def test_a_pod_is_not_stolen_or_hidden(tenants: TwoTenants, tenant: Caller, change: dict[str, Any]) -> None:
    """K14, F03: the tenant has no right, and a role that has is denied by the policy."""
    (name,) = (pod["metadata"]["name"] for pod in RUN.pods)
    path = f"{tenants.pods()}/{name}?dryRun=All"

    assert is_refused_by_rights(tenant.ask("PATCH", path, {"metadata": change}, kind="merge-patch+json"))
    assert is_refused_by_policy(tenants.permitted.ask("PATCH", path, {"metadata": change}, kind="merge-patch+json"))


def test_a_pod_is_not_deleted_by_its_tenant(tenants: TwoTenants, tenant: Caller) -> None:
    """K15."""
    (name,) = (pod["metadata"]["name"] for pod in RUN.pods)

    assert is_refused_by_rights(tenant.ask("DELETE", f"{tenants.pods()}/{name}"))
    assert is_refused_by_rights(tenant.ask("DELETE", tenants.pods()))


def test_a_jobs_pod_bears_no_token(tenants: TwoTenants) -> None:
    """K20."""
    (name,) = (pod["metadata"]["name"] for pod in RUN.pods)
    spec = tenants.admin.send("GET", f"{tenants.pods()}/{name}")["spec"]

    assert spec["serviceAccountName"] == "default"
    assert spec["automountServiceAccountToken"] is False
    assert [volume for volume in spec.get("volumes", []) if "projected" in volume] == []
    assert tenants.cluster.read_run(tenants.a, RUN.name, timeout_s=10)[0].phase is not None
    assert tenants.cluster.create_run(RUN, timeout_s=30).service.kind is ResultKind.EXISTS
