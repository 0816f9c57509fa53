"""Keeps every tenant's namespaces in every real cluster as they should be: applied on a timer and on demand, drift repaired and told.

Outside any transaction, one pass a cluster at a time. A cluster that does not answer is left for the next pass and stops nobody else.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from berth.common import clock
from scheduling.cluster.admission import admission_objects
from scheduling.cluster.kube_drift import differences
from scheduling.cluster.port import ClusterPort, ClusterUnreachableError, Manifest
from scheduling.cluster.space_port import SpacePort
from scheduling.cluster.tenant_objects import KINDS, TenantSpace, is_ours, is_space_of, shared_objects, tenant_objects
from scheduling.control.clusters import port_of
from scheduling.control.one_pass import one_pass
from scheduling.control.space_repair import Key, Repair, key_of, told_name, writers_of
from scheduling.models import Node
from scheduling.selectors.asked_cards import per_card
from tenants.models import Cluster, Flavor, Queue, Quota, Tenant
from tenants.models.quota import Resource

logger = logging.getLogger(__name__)
CALL_TIMEOUT_S = 5.0
BUDGET_S = 20.0
"""Of one cluster in one pass: a slow one must not keep the others waiting, nor the worker."""
MOST_SHARES = 100
"""Shares a card is counted on to give at most: a share of a hundredth is the least that MPS knows."""
POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


@dataclass(slots=True)
class Reconciled:
    """`changed` are lines `cluster kind namespace/name: what differed`; `failed` the cluster's own words for what it did not take,
    and namespaces of our names that are somebody else's; `unguarded` policies that are missing or differ, which only an administrator
    may mend; `busy` clusters that another process was looking after."""

    objects: int = 0
    changed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    unguarded: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)


def reconcile_tenants(*, dry_run: bool = False) -> Reconciled:
    """One pass over all real clusters. With `dry_run` nothing is written and `changed` is what would be."""
    done = Reconciled()
    for cluster in Cluster.objects.filter(kind=Cluster.Kind.KUBERNETES).order_by("pk"):
        try:
            with one_pass(cluster.pk) as alone:
                if alone:
                    _reconcile(cluster, port_of(cluster), done, dry_run=dry_run)
                else:
                    done.busy.append(cluster.name)
        except ClusterUnreachableError as error:
            done.unreachable.append(f"{cluster.name}: {error.message}")
            logger.info("tenants not reconciled cluster=%s error=%s", cluster.name, error.message)
    _log(done)
    return done


def _log(done: Reconciled) -> None:
    for line in done.changed:
        logger.info("tenant object %s", line)
    for line in done.failed:
        logger.error("tenant object refused %s", line)
    for line in done.unguarded:
        logger.error("admission policy %s: apply deploy/kubernetes/cluster", line)


def _reconcile(cluster: Cluster, port: ClusterPort, done: Reconciled, *, dry_run: bool) -> None:
    spaces = port.spaces
    if spaces is None:
        return
    deadline = clock.monotonic() + BUDGET_S
    there = {
        (item.kind, item.namespace, item.name): item.manifest
        for item in spaces.list_objects(kinds=KINDS, timeout_s=CALL_TIMEOUT_S).items
    }
    known = {key[2] for key, found in there.items() if key[0] == "Namespace" and is_ours(found)}
    done.unguarded += _unguarded(cluster, spaces)
    repair = Repair(cluster, port, spaces, dry_run=dry_run, timeout_s=CALL_TIMEOUT_S)
    for documents in ([*shared_objects()], *(list(tenant_objects(space)) for space in spaces_of(cluster))):
        done.objects += len(documents)
        if documents[0]["kind"] == "Namespace" and not _take(repair, documents[0], there, done):
            continue
        for document in documents:
            if clock.monotonic() > deadline:
                logger.warning("tenants of cluster=%s not all reconciled in %s s", cluster.name, BUDGET_S)
                return
            expected = document["metadata"].get("namespace", document["metadata"]["name"]) in known
            _settle(repair, document, there, done, expected=expected)


def _take(repair: Repair, namespace: Manifest, there: dict[Key, Manifest], done: Reconciled) -> bool:
    """Whether the namespace of that name is ours or, by now, made: a stranger's is left alone with everything in it, and told."""
    key = key_of(namespace)
    found = there.get(key)
    if found is None:
        why_not = repair.create(namespace)
        if not why_not:
            done.changed.append(f"{repair.cluster.name} {told_name(key)}: missing")
            there[key] = namespace
            return True
    elif is_space_of(namespace, found):
        return True
    else:
        why_not = f"a namespace of this name is there and not Berth's{writers_of(found)}; it is left as it is"
    done.failed.append(f"{repair.cluster.name} {told_name(key)}: {why_not}")
    return False


def _settle(
    repair: Repair, document: Manifest, there: Mapping[Key, Manifest], done: Reconciled, *, expected: bool
) -> None:
    key = key_of(document)
    found = there.get(key)
    why = differences(document, found)
    if not why:
        return
    refused = repair.mend(document, found, why, expected=expected)
    if refused:
        done.failed.append(f"{repair.cluster.name} {told_name(key)}: {refused}")
        return
    done.changed.append(f"{repair.cluster.name} {told_name(key)}: {why}{writers_of(found)}")


def _unguarded(cluster: Cluster, spaces: SpacePort) -> Iterator[str]:
    """Policies are the administrator's: whoever they also bind must not be able to change them."""
    items: Iterable[Manifest] = admission_objects()
    listed = spaces.list_objects(kinds=POLICIES, timeout_s=CALL_TIMEOUT_S).items
    there = {(item.kind, item.namespace, item.name): item.manifest for item in listed}
    for document in items:
        key = key_of(document)
        why = differences(document, there.get(key))
        if why:
            yield f"{cluster.name} {told_name(key)}: {why}{writers_of(there.get(key))}"


def spaces_of(cluster: Cluster) -> Iterator[TenantSpace]:
    """Every environment of every tenant that is not closed and has a queue in a pool of the cluster."""
    pairs: set[tuple[str, str]] = set()
    queues = Queue.objects.filter(pool__cluster=cluster).exclude(tenant__state=Tenant.State.CLOSED)
    pairs.update(queues.values_list("tenant__slug", "environment"))
    cards, memory, storage = _cards_of(cluster), _largest_memory(cluster), _storage()
    for tenant, environment in sorted(pairs):
        yield TenantSpace(tenant, environment, cards, memory, storage.get(tenant))


def _cards_of(cluster: Cluster) -> Mapping[str, int]:
    """All cards of the cluster by the name they are asked for; where cards are given in shares each share is asked for as one."""
    total: dict[str, int] = {}
    rows = Node.objects.filter(cluster=cluster, gpus__gt=0, flavor__isnull=False).values_list("flavor_id", "gpus")
    flavors = Flavor.objects.in_bulk()
    for flavor_id, cards in rows:
        flavor = flavors[flavor_id]
        if flavor.resource:
            most = MOST_SHARES if flavor.mode in {Flavor.Mode.SHARED, Flavor.Mode.ANY} else per_card(flavor.mig_profile)
            total[flavor.resource] = total.get(flavor.resource, 0) + cards * most
    return total


def _largest_memory(cluster: Cluster) -> int | None:
    amounts = Node.objects.filter(cluster=cluster).order_by("-memory_mib", "pk").values_list("memory_mib", flat=True)
    return amounts.first() or None


def _storage() -> Mapping[str, int]:
    """GiB by tenant, where a quota line of its own says so."""
    now = clock.now()
    lines = Quota.objects.filter(tenant__isnull=False, resource=Resource.STORAGE, valid_from__lte=now)
    lines = lines.exclude(valid_to__lte=now).order_by("pk")
    return dict(lines.values_list("tenant__slug", "nominal"))
