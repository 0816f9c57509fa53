"""Names of Services for pods of real nodes: CoreDNS beside the control plane, with a user that may read what it needs."""

from pathlib import Path

from testplane.api import Client

USER = "testplane-dns"
_ROLE = "testplane:dns"
_READS = [
    {"apiGroups": [""], "resources": ["services", "namespaces"], "verbs": ["list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]},
]


def write_configuration(path: Path, *, address: str, kubeconfig: Path) -> None:
    """Of every address of the namespace it runs in. `ttl 0`: a gang's names exist for as long as its pods do, and nobody may remember that one was not there yet."""
    path.write_text(
        f""".:53 {{
  errors
  ready {address}:8181
  kubernetes cluster.local {{
    kubeconfig {kubeconfig} {USER}
    pods disabled
    ttl 0
  }}
}}
"""
    )


def grant(client: Client) -> None:
    """The reads of CoreDNS."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": _ROLE}}
    client.send("POST", f"{rbac}/clusterroles", {**head, "kind": "ClusterRole", "rules": _READS})
    binding = {
        **head,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": _ROLE},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    client.send("POST", f"{rbac}/clusterrolebindings", binding)
