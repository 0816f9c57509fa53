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
STORAGE_CLASSES = ("berth-standard", "berth-fast")
_ADMISSION = ("enforce", "audit", "warn")
KINDS = ("Namespace", "RoleBinding", "ServiceAccount", "ResourceQuota", "LimitRange", "NetworkPolicy", "PriorityClass")
"""Every kind that is applied, in the order in which one needs the other."""
QUOTA, MEMBERS = "berth", "berth-members"
_SYSTEM_NAMESPACE, _WEB_PORT = "berth-system", 8000
_RBAC = "rbac.authorization.k8s.io"
_NONE_OF = (
    "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch",
    "podtemplates", "leases.coordination.k8s.io", "ingresses.networking.k8s.io",
)  # fmt: skip
"""Kinds that have no business in a tenant's namespace: Berth makes its pods itself."""


@dataclass(frozen=True, slots=True)
class TenantSpace:
    """A tenant's environment in one cluster. `cards` is the most that may be asked for at once, by resource name.

    `largest_memory_mib` is what the largest node has, None where none is known; `storage_gib` the most in all claims, None for no limit.
    """

    tenant: str
    environment: str
    cards: Mapping[str, int] = field(default_factory=dict)
    largest_memory_mib: int | None = None
    storage_gib: int | None = None

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
        _binding(space, "berth-runs", "berth-runs", [_berth()]),
        _in(space, "v1", "ServiceAccount", "default", automountServiceAccountToken=False),
        _in(space, "v1", "ServiceAccount", MEMBERS, automountServiceAccountToken=False),
        _binding(space, MEMBERS, MEMBERS, _members(space)),
        _in(space, "v1", "ResourceQuota", QUOTA, spec={"hard": _hard(space)}),
        _in(space, "v1", "ResourceQuota", "berth-other-namespaces", spec=_NO_FOREIGN_AFFINITY),
        _in(space, "v1", "LimitRange", "berth", spec={"limits": _limits(space)}),
        *_fences(space),
    )


def is_ours(there: Mapping[str, Any]) -> bool:
    """Whether an object bears Berth's name."""
    return bool((there["metadata"].get("labels") or {}).get(names.MANAGED_BY) == names.FIELD_MANAGER)


def is_space_of(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether a namespace that is there was made for this tenant's environment, by the labels that nobody but Berth may set."""
    tenant = (there["metadata"].get("labels") or {}).get(names.TENANT)
    return is_ours(there) and tenant == wanted["metadata"]["labels"][names.TENANT]


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
    """Counts that no honest use comes near, as many cards as the cluster could give the tenant, and its storage in every class."""
    counts = {name: str(MOST_OBJECTS) for name in ("pods", "services", "persistentvolumeclaims", "configmaps")}
    counts |= {"secrets": str(2 * MOST_OBJECTS), "replicationcontrollers": "0"}
    counts |= {"services.nodeports": "0", "services.loadbalancers": "0"}
    counts |= {f"count/{kind}": "0" for kind in _NONE_OF}
    cards = {f"requests.{name}": str(cards) for name, cards in sorted(space.cards.items())}
    if space.storage_gib is None:
        return {**counts, **cards}
    most = f"{space.storage_gib}Gi"
    classes = {f"{each}.storageclass.storage.k8s.io/requests.storage": most for each in STORAGE_CLASSES}
    return {**counts, **cards, "requests.storage": most, **classes}


_NO_FOREIGN_AFFINITY: Document = {
    "hard": {"pods": "0"},
    "scopeSelector": {"matchExpressions": [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]},
}
"""A pod that asks to be far from other tenants' pods would keep them off its node."""


def _limits(space: TenantSpace) -> list[Document]:
    """It refuses and adds nothing: every pod of Berth's says what it needs. Limits may be twice what is asked for (over-commit)."""
    most = {} if space.largest_memory_mib is None else {"max": {"memory": f"{2 * space.largest_memory_mib}Mi"}}
    return [{"type": "Pod", "min": {"memory": "1"}, **most}]


def _binding(space: TenantSpace, name: str, role: str, subjects: list[Document]) -> Document:
    of = {"kind": "ClusterRole", "name": role, "apiGroup": _RBAC}
    return _in(space, f"{_RBAC}/v1", "RoleBinding", name, roleRef=of, subjects=subjects)


def _berth() -> Document:
    return {"kind": "ServiceAccount", "name": "berth", "namespace": _SYSTEM_NAMESPACE}


def _members(space: TenantSpace) -> list[Document]:
    """People of the tenant, by the group that a cluster's own sign-in tells, or by the account that a kubeconfig of Berth's is for."""
    return [
        {"kind": "Group", "name": f"berth:{space.tenant}:members", "apiGroup": _RBAC},
        {"kind": "ServiceAccount", "name": MEMBERS, "namespace": space.namespace},
    ]


def _fences(space: TenantSpace) -> tuple[Document, ...]:
    """Nothing in, nothing out, but for the namespace itself, the cluster's DNS, and Berth's own door for run reports."""
    everybody: Document = {"podSelector": {}}
    both = ["Ingress", "Egress"]
    dns = [{"protocol": protocol, "port": DNS_PORT} for protocol in ("UDP", "TCP")]
    web = {"app.kubernetes.io/name": "berth", "app.kubernetes.io/component": "web"}
    same = {"ingress": [{"from": [everybody]}], "egress": [{"to": [everybody]}]}
    out = {"policyTypes": ["Egress"]}
    to_dns = {"to": [_pods_of("kube-system", {"k8s-app": "kube-dns"})], "ports": dns}
    to_berth = {"to": [_pods_of(_SYSTEM_NAMESPACE, web)], "ports": [{"protocol": "TCP", "port": _WEB_PORT}]}
    return (
        _fence(space, "berth-deny", {**everybody, "policyTypes": both}),
        _fence(space, "berth-same-namespace", {**everybody, "policyTypes": both, **same}),
        _fence(space, "berth-dns", {**everybody, **out, "egress": [to_dns]}),
        _fence(space, "berth-reports", {**everybody, **out, "egress": [to_berth]}),
    )


def _fence(space: TenantSpace, name: str, spec: Document) -> Document:
    return _in(space, "networking.k8s.io/v1", "NetworkPolicy", name, spec=spec)


def _pods_of(namespace: str, labels: Mapping[str, str]) -> Document:
    """By the label that the API server itself keeps on every namespace."""
    named = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return {"namespaceSelector": named, "podSelector": {"matchLabels": dict(labels)}}
