"""Access for a tenant's people to its own namespaces: a kubeconfig with a token that ends by itself.

A cluster is only asked for what the tenant's rows say; nothing of a request reaches it (W43). Outside any transaction.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from berth.common.errors import ConflictError, UnavailableError
from scheduling.cluster.port import ClusterUnreachableError
from scheduling.cluster.space_port import MemberAccess
from scheduling.control.clusters import port_of
from tenants.models import Cluster, Queue, Tenant, User
from tenants.services.audit import record_event

GOOD_FOR_S: Final = 3600
"""As long as somebody who leaves the tenant can still read with it; it is asked for again in one call."""
CALL_TIMEOUT_S: Final = 5.0


class NoNamespaceError(ConflictError):
    code = "no-namespace"
    message = _("This tenant has no namespace in a Kubernetes cluster.")


def kubeconfig_of(*, by: User, tenant: Tenant) -> dict[str, Any]:
    """A kubeconfig with a context a namespace, `algo-a-prod@cluster`; whoever asked for it is kept in the trail.

    Raises NoNamespaceError, and UnavailableError where a cluster does not answer or has not made the namespace yet.
    """
    places = list(_places(tenant))
    if not places:
        raise NoNamespaceError
    given = [(cluster, namespace, _access(cluster, namespace)) for cluster, namespace in places]
    names = [_context_name(cluster, namespace) for cluster, namespace in places]
    until = min(access.expires_at for *_place, access in given)
    with transaction.atomic():
        detail = {"contexts": names, "until": until.isoformat()}
        record_event(by=by, action="tenant.kubeconfig", on=tenant, tenant=tenant, detail=detail)
    return _document(given)


def _places(tenant: Tenant) -> Iterator[tuple[Cluster, str]]:
    """By cluster and environment; `prod` last in the alphabet and first here, since it is what people mean."""
    queues = Queue.objects.filter(tenant=tenant, pool__cluster__kind=Cluster.Kind.KUBERNETES)
    pairs = set(queues.values_list("pool__cluster_id", "environment"))
    clusters = Cluster.objects.in_bulk({pk for pk, _environment in pairs})
    for pk, environment in sorted(pairs, key=lambda pair: (clusters[pair[0]].name, pair[1] != "prod", pair[1])):
        yield clusters[pk], f"{tenant.slug}-{environment}"


def _access(cluster: Cluster, namespace: str) -> MemberAccess:
    spaces = port_of(cluster).spaces
    if spaces is None:
        raise NoNamespaceError
    try:
        return spaces.member_access(namespace, seconds=GOOD_FOR_S, timeout_s=CALL_TIMEOUT_S)
    except ClusterUnreachableError as error:
        raise UnavailableError(_("The cluster gives no access now: %(words)s"), words=error.message) from error


def _context_name(cluster: Cluster, namespace: str) -> str:
    return f"{namespace}@{cluster.name}"


def _document(given: Sequence[tuple[Cluster, str, MemberAccess]]) -> dict[str, Any]:
    servers = {cluster.name: _cluster(access) for cluster, _namespace, access in given}
    contexts, users = [], []
    for cluster, namespace, access in given:
        name = _context_name(cluster, namespace)
        ends = [{"name": "berth.dev", "extension": {"expires": access.expires_at.strftime("%Y-%m-%dT%H:%M:%SZ")}}]
        contexts.append({"name": name, "context": {"cluster": cluster.name, "namespace": namespace, "user": name}})
        users.append({"name": name, "user": {"token": access.token, "extensions": ends}})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server} for name, server in servers.items()],
        "users": users,
        "contexts": contexts,
        "current-context": contexts[0]["name"],
    }


def _cluster(access: MemberAccess) -> dict[str, str]:
    if not access.authority:
        return {"server": access.server}
    authority = base64.b64encode(access.authority.encode()).decode()
    return {"server": access.server, "certificate-authority-data": authority}
