"""What a tenant has in a cluster: one namespace an environment, fenced and without rights; priority classes for everybody (section 7).

PURE: records in, plain documents out, applied under one field manager. Quotas here are a safety net over Berth's own, never the rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduling.cluster import names

Document = dict[str, Any]

PRIORITIES: Mapping[str, int] = {"production": 100_000, "development": 10_000, "batch": 1_000}
"""Of kubelets' node-pressure eviction and nothing else: Berth decides who runs, and pods are pinned."""
MOST_OBJECTS = 5_000
DNS_PORT = 53
_ADMISSION = ("enforce", "audit", "warn")
KINDS = (
    "Namespace", "ServiceAccount", "ResourceQuota", "LimitRange", "Role", "RoleBinding", "NetworkPolicy", "PriorityClass",
)  # fmt: skip
"""Every kind that is applied, in the order in which one needs the other."""


@dataclass(frozen=True, slots=True)
class TenantSpace:
    """A tenant's environment in one cluster. `cards` is the most that may be asked for at once, by resource name."""

    tenant: str
    environment: str
    cards: Mapping[str, int] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return f"{self.tenant}-{self.environment}"


def shared_objects() -> tuple[Document, ...]:
    """What all tenants of a cluster use: a priority class a tier."""
    return tuple(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": _named(f"berth-{tier}"),
            "value": value,
            "globalDefault": False,
            "preemptionPolicy": "Never",
            "description": f"Runs of the tier {tier}.",
        }
        for tier, value in PRIORITIES.items()
    )


def tenant_objects(space: TenantSpace) -> tuple[Document, ...]:
    """Everything of one namespace, the namespace first."""
    return (
        _namespace(space),
        _in(space, "v1", "ServiceAccount", "default", automountServiceAccountToken=False),
        _in(space, "v1", "ResourceQuota", "berth", spec={"hard": _hard(space)}),
        _in(space, "v1", "LimitRange", "berth", spec={"limits": [_LIMITS]}),
        *_members(space),
        *_fences(space),
    )


def _named(name: str, **more: Any) -> Document:
    return {"name": name, "labels": {names.MANAGED_BY: names.FIELD_MANAGER}, **more}


def _in(space: TenantSpace, version: str, kind: str, name: str, **body: Any) -> Document:
    metadata = _named(name, namespace=space.namespace)
    metadata["labels"] = {**metadata["labels"], names.TENANT: space.tenant}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **body}


def _namespace(space: TenantSpace) -> Document:
    security = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in _ADMISSION}
    metadata = _named(space.namespace)
    metadata["labels"] = {
        **metadata["labels"],
        **security,
        names.TENANT: space.tenant,
        names.ENVIRONMENT: space.environment,
    }
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _hard(space: TenantSpace) -> Document:
    """Counts that no honest use comes near, and as many cards as the cluster could give the tenant."""
    counts = {"pods": str(MOST_OBJECTS), "services": str(MOST_OBJECTS), "secrets": str(2 * MOST_OBJECTS)}
    ports = {"services.nodeports": "0", "services.loadbalancers": "0"}
    return {**counts, **ports, **{f"requests.{name}": str(cards) for name, cards in sorted(space.cards.items())}}


_LIMITS: Document = {
    "type": "Container",
    "default": {"memory": "1Gi"},
    "defaultRequest": {"cpu": "100m", "memory": "1Gi"},
}


def _members(space: TenantSpace) -> tuple[Document, Document]:
    """People of the tenant may look at its own pods, their logs and events, and touch nothing."""
    rules = [
        {"apiGroups": [""], "resources": ["pods", "pods/log", "pods/status", "services", "events"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["resourcequotas", "limitranges"], "verbs": ["get", "list"]},
    ]  # fmt: skip
    group = {"kind": "Group", "name": f"berth:{space.tenant}:members", "apiGroup": "rbac.authorization.k8s.io"}
    role = {"kind": "Role", "name": "berth-members", "apiGroup": "rbac.authorization.k8s.io"}
    version = "rbac.authorization.k8s.io/v1"
    return (
        _in(space, version, "Role", "berth-members", rules=rules),
        _in(space, version, "RoleBinding", "berth-members", roleRef=role, subjects=[group]),
    )


def _fences(space: TenantSpace) -> tuple[Document, ...]:
    """Nothing in, nothing out, but for the namespace itself and DNS."""
    version = "networking.k8s.io/v1"
    everybody: Document = {"podSelector": {}}
    both = ["Ingress", "Egress"]
    dns = [{"protocol": protocol, "port": DNS_PORT} for protocol in ("UDP", "TCP")]
    same = {"ingress": [{"from": [everybody]}], "egress": [{"to": [everybody]}]}
    return (
        _in(space, version, "NetworkPolicy", "berth-deny", spec={**everybody, "policyTypes": both}),
        _in(space, version, "NetworkPolicy", "berth-same-namespace", spec={**everybody, "policyTypes": both, **same}),
        _in(space, version, "NetworkPolicy", "berth-dns", spec={**everybody, "policyTypes": ["Egress"], "egress": [{"ports": dns}]}),
    )  # fmt: skip
