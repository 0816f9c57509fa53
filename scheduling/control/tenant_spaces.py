"""Keeps every tenant's namespaces in every real cluster as they should be: applied on a timer and on demand, drift repaired.

Outside any transaction. A cluster that does not answer is left for the next pass and stops nobody else.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from berth.common import clock
from scheduling.cluster import names
from scheduling.cluster.kube_drift import differences
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, Manifest, ResultKind
from scheduling.cluster.tenant_objects import KINDS, TenantSpace, shared_objects, tenant_objects
from scheduling.control.clusters import port_of
from scheduling.models import Node
from tenants.models import Cluster, Queue, Tenant

logger = logging.getLogger(__name__)
CALL_TIMEOUT_S = 5.0
BUDGET_S = 20.0
"""Of one cluster in one pass: a slow one must not keep the others waiting, nor the worker."""


@dataclass(slots=True)
class Reconciled:
    """`changed` are lines `cluster kind namespace/name: what differed`; `failed` the cluster's own words for what it did not take."""

    objects: int = 0
    changed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)


def reconcile_tenants(*, dry_run: bool = False) -> Reconciled:
    """One pass over all real clusters. With `dry_run` nothing is written and `changed` is what would be."""
    done = Reconciled()
    for cluster in Cluster.objects.filter(kind=Cluster.Kind.KUBERNETES).order_by("pk"):
        try:
            _reconcile(cluster, port_of(cluster), done, dry_run=dry_run)
        except ClusterUnreachableError as error:
            done.unreachable.append(f"{cluster.name}: {error.message}")
            logger.info("tenants not reconciled cluster=%s error=%s", cluster.name, error.message)
    for line in done.changed:
        logger.info("tenant object %s", line)
    for line in done.failed:
        logger.error("tenant object refused %s", line)
    return done


def _reconcile(cluster: Cluster, port: ClusterPort, done: Reconciled, *, dry_run: bool) -> None:
    deadline = clock.monotonic() + BUDGET_S
    there = {
        (item.kind, item.namespace, item.name): item.manifest
        for item in port.list_managed(kinds=KINDS, timeout_s=CALL_TIMEOUT_S).items
    }
    wanted = [*shared_objects(), *(document for space in spaces_of(cluster) for document in tenant_objects(space))]
    done.objects += len(wanted)
    for document in wanted:
        if clock.monotonic() > deadline:
            logger.warning(
                "tenants of cluster=%s not all reconciled in %s s: the next pass goes on", cluster.name, BUDGET_S
            )
            return
        key = _key(document)
        why = differences(document, there.get(key))
        if not why:
            continue
        why += _by_whom(there.get(key))
        if not dry_run and not _apply(port, document, cluster, done):
            continue
        done.changed.append(f"{cluster.name} {key[0]} {'/'.join(part for part in key[1:] if part)}: {why}")


def _apply(port: ClusterPort, document: Manifest, cluster: Cluster, done: Reconciled) -> bool:
    (result,) = port.apply_objects([document], timeout_s=CALL_TIMEOUT_S)
    if result.kind in (ResultKind.UNREACHABLE, ResultKind.UNKNOWN):
        raise ClusterUnreachableError(result.message)
    if result.kind in (ResultKind.CREATED, ResultKind.ACCEPTED):
        return True
    done.failed.append(f"{cluster.name} {document['kind']} {result.name}: {result.message}")
    return False


def spaces_of(cluster: Cluster) -> Iterator[TenantSpace]:
    """Every environment of every tenant that is not closed and has a queue in a pool of the cluster."""
    pairs: set[tuple[str, str]] = set()
    queues = Queue.objects.filter(pool__cluster=cluster).exclude(tenant__state=Tenant.State.CLOSED)
    pairs.update(queues.values_list("tenant__slug", "environment"))
    cards = _cards_of(cluster)
    for tenant, environment in sorted(pairs):
        yield TenantSpace(tenant, environment, cards)


def _cards_of(cluster: Cluster) -> Mapping[str, int]:
    """All cards of the cluster by the name they are asked for."""
    total: dict[str, int] = {}
    rows = Node.objects.filter(cluster=cluster, gpus__gt=0).values_list("flavor__resource_name", "gpus")
    for resource, cards in rows:
        if resource:
            total[resource] = total.get(resource, 0) + cards
    return total


def _by_whom(there: Manifest | None) -> str:
    """Who else wrote to the object, as the cluster keeps it; nobody is named where only we did."""
    entries = [] if there is None else there["metadata"].get("managedFields") or []
    writers = {str(entry.get("manager", "")) for entry in entries if not entry.get("subresource")}
    others = sorted(writers - {names.FIELD_MANAGER, ""})
    return f" (also written by {', '.join(others)})" if others else ""


def _key(document: Manifest) -> tuple[str, str, str]:
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]
