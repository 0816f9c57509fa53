"""What an administrator installs in a cluster before Berth may use it, on the test plane: the very files of deploy/kubernetes/cluster/."""

from collections.abc import Iterator
from typing import Any

import yaml
from testplane.api import Client
from testplane.build import ROOT

FILES = ROOT / "deploy" / "kubernetes" / "cluster"
SYSTEM = "berth-system"
ACCOUNT = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/berth"
AS_LONG_AS_A_PLANE_S = 30 * 86_400
_PLURALS = {
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "StorageClass": "storageclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def install(client: Client) -> str:
    """Account, rights, policies and storage classes; returns a token of Berth's own account."""
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM, "labels": restricted}}
    for document in (namespace, *documents()):
        apply(client, document)
    return token_of(client, ACCOUNT)


def documents() -> Iterator[dict[str, Any]]:
    """Everything that `kubectl apply -k deploy/kubernetes/cluster` applies."""
    for name in yaml.safe_load((FILES / "kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((FILES / name).read_text())


def apply(client: Client, document: dict[str, Any]) -> Any:
    """Server-side apply, as an administrator's `kubectl`."""
    path = f"{path_of(document)}?fieldManager=installer&force=true"
    return client.send("PATCH", path, document, kind="application/apply-patch+yaml")


def path_of(document: dict[str, Any]) -> str:
    """The address of a document."""
    version, metadata = document["apiVersion"], document["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{space}/{_PLURALS[document['kind']]}/{metadata['name']}"


def token_of(client: Client, account: str) -> str:
    """A token of a service account by its address."""
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": AS_LONG_AS_A_PLANE_S},
    }
    return str(client.send("POST", f"{account}/token", request)["status"]["token"])
