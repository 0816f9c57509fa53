"""Tenants A and B as Berth makes them, and those who try: A's job account and member, a role that RBAC lets through, Berth, the admin."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from testplane import installed
from testplane.api import Client

from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.kube_spaces import KubeSpaces
from scheduling.cluster.port import ResultKind, RunManifests
from scheduling.cluster.tenant_objects import TenantSpace, shared_objects, tenant_objects
from tests.kubernetes.callers import Caller, is_refused_by_policy
from tests.kubernetes.plane import plane
from tests.unit.cluster.builders import a_role, a_run

SETTLED_S = 60.0
CARDS = {"nvidia.com/gpu": 16}
DRY = "?dryRun=All"
SMALL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}


@dataclass
class TwoTenants:
    """`job` and `member` are A's; `permitted` may do everything by RBAC and is not of `system:masters`; `berth` is the platform."""

    admin: Client
    cluster: KubernetesCluster
    job: Caller
    member: Caller
    permitted: Caller
    berth: Caller
    a: str = "sec-a-prod"
    b: str = "sec-b-prod"

    @property
    def spaces(self) -> KubeSpaces:
        return self.cluster.spaces

    def pods(self, namespace: str = "") -> str:
        return f"/api/v1/namespaces/{namespace or self.a}/pods"


@cache
def two_tenants() -> TwoTenants:
    """Made once a process; tests that change a namespace make their own by `a_space`."""
    admin = plane().client()
    cluster = KubernetesCluster("security", str(plane().kubeconfig()), now=lambda: datetime.now(UTC))
    cluster.apply_objects(shared_objects(), timeout_s=10)
    for tenant in ("sec-a", "sec-b"):
        a_space(cluster, TenantSpace(tenant, "prod", CARDS, largest_memory_mib=1024 * 1024, storage_gib=100))
    made = TwoTenants(
        admin,
        cluster,
        job=Caller("job", account_token("sec-a-prod", "default")),
        member=Caller("member", cluster.spaces.member_access("sec-a-prod", seconds=3600, timeout_s=10).token),
        permitted=_permitted(admin),
        berth=Caller("berth", plane().tokens["berth"]),
    )
    until(lambda: _policies_are_in_force(made), "the policies to be in force")
    return made


def a_space(cluster: KubernetesCluster, space: TenantSpace) -> str:
    """A tenant's namespace as Berth makes it, ready for runs; its name."""
    make_space(cluster, space)
    until(lambda: is_ready(cluster, space.namespace), f"{space.namespace} to be ready")
    return space.namespace


def make_space(cluster: KubernetesCluster, space: TenantSpace) -> None:
    namespace, *inside = tenant_objects(space)
    cluster.spaces.create_object(namespace, timeout_s=10)
    for result in cluster.apply_objects([namespace, *inside], timeout_s=10):
        assert result.kind in (ResultKind.CREATED, ResultKind.ACCEPTED), result.message


def is_ready(cluster: KubernetesCluster, namespace: str) -> bool:
    return cluster.spaces.check_space(namespace, timeout_s=10).kind is ResultKind.ACCEPTED


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SETTLED_S
    while not happened():
        assert time.monotonic() < deadline, f"waited {SETTLED_S:.0f} s for {what}"
        time.sleep(0.1)


def account_token(namespace: str, name: str) -> str:
    return installed.token_of(plane().client(), f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}")


def run_of(namespace: str, *, job: int, cards: int = 1) -> RunManifests:
    """A run as dispatch sends it, of one pod."""
    tenant = namespace.removesuffix("-prod")
    role = a_role(cards=cards, resource_name="nvidia.com/gpu")
    return a_run(
        job=job, role=role, namespace=namespace, tenant=tenant, tier="batch", priority_class="berth-batch", token="x"
    )


def a_pod(**spec: Any) -> dict[str, Any]:
    """A pod that nothing is wrong with, but for what is said: the container's fields go to `container`, an init container's to `init`."""
    container = {
        "name": "main",
        "image": "registry.example/team/train:1",
        "resources": copy.deepcopy(SMALL),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    changes = spec.pop("container", {})
    init = spec.pop("init", None)
    metadata = {"generateName": "try-", **spec.pop("metadata", {})}
    whole = {
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_merged(container, changes)],
        **({} if init is None else {"initContainers": [_merged({**container, "name": "init"}, init)]}),
        **spec,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def _merged(container: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(container)
    for key, value in changes.items():
        old = made.get(key)
        made[key] = (
            {**old, **value} if isinstance(old, dict) and isinstance(value, dict) and key != "resources" else value
        )
    return {key: value for key, value in made.items() if value is not None}


def _permitted(admin: Client) -> Caller:
    """RBAC lets it do everything: whatever it is refused, admission refused."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "permitted", "namespace": "default"}}
    subject = {"kind": "ServiceAccount", "name": "permitted", "namespace": "default"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "permitted"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject],
    }
    for document in (account, binding):
        installed.apply(admin, document)
    return Caller("permitted", account_token("default", "permitted"))


def _policies_are_in_force(tenants: TwoTenants) -> bool:
    """A new policy takes a moment; the last one of the file stands for all, and one for pods."""
    named = tenants.permitted.ask("POST", tenants.pods() + DRY, a_pod(nodeName="n0"))
    away = tenants.berth.ask("POST", f"/api/v1/namespaces/default/serviceaccounts{DRY}", {"metadata": {"name": "x"}})
    tolerated = tenants.permitted.ask("POST", tenants.pods() + DRY, a_pod(tolerations=[{"operator": "Exists"}]))
    return all(map(is_refused_by_policy, (named, away, tolerated)))
