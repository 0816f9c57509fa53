"""Where each kind of object lives in a Kubernetes API. PURE."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class _Kind:
    version: str
    plural: str
    namespaced: bool = True

    @property
    def root(self) -> str:
        return f"/api/{self.version}" if "/" not in self.version else f"/apis/{self.version}"


_RBAC, _NET, _ADMISSION = "rbac.authorization.k8s.io/v1", "networking.k8s.io/v1", "admissionregistration.k8s.io/v1"
_KINDS = {
    "Pod": _Kind("v1", "pods"),
    "Service": _Kind("v1", "services"),
    "Secret": _Kind("v1", "secrets"),
    "ConfigMap": _Kind("v1", "configmaps"),
    "ServiceAccount": _Kind("v1", "serviceaccounts"),
    "ResourceQuota": _Kind("v1", "resourcequotas"),
    "LimitRange": _Kind("v1", "limitranges"),
    "PersistentVolumeClaim": _Kind("v1", "persistentvolumeclaims"),
    "Node": _Kind("v1", "nodes", namespaced=False),
    "Namespace": _Kind("v1", "namespaces", namespaced=False),
    "Lease": _Kind("coordination.k8s.io/v1", "leases"),
    "Role": _Kind(_RBAC, "roles"),
    "RoleBinding": _Kind(_RBAC, "rolebindings"),
    "NetworkPolicy": _Kind(_NET, "networkpolicies"),
    "ValidatingAdmissionPolicy": _Kind(_ADMISSION, "validatingadmissionpolicies", namespaced=False),
    "ValidatingAdmissionPolicyBinding": _Kind(_ADMISSION, "validatingadmissionpolicybindings", namespaced=False),
    "PriorityClass": _Kind("scheduling.k8s.io/v1", "priorityclasses", namespaced=False),
    "StorageClass": _Kind("storage.k8s.io/v1", "storageclasses", namespaced=False),
}


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """The address of one object, or of all in a namespace. Raises KeyError for a kind that is none of ours."""
    found = _KINDS[kind]
    parts = [found.root]
    if found.namespaced:
        parts += ["namespaces", quote(namespace, safe="")]
    return "/".join([*parts, found.plural, *([quote(name, safe="")] if name else [])])


def path_of_all(kind: str) -> str:
    """The address of all objects of a kind, in all namespaces."""
    found = _KINDS[kind]
    return f"{found.root}/{found.plural}"


def version_of(kind: str) -> str:
    """The API version a kind is written in."""
    return _KINDS[kind].version
