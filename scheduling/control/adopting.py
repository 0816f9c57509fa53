"""Nodes that a real cluster has and the platform did not know: taken in by their labels, with their cards and places.

A node is Berth's when it bears `berth.dev/flavor`; `berth.dev/pool` says which pool where several have a flavor of that name. A flavor
that nobody defined leaves the node out: what its cards cost is not for a label to decide.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scheduling.cluster import names
from scheduling.control.observed import SeenNode
from scheduling.models import Card, Node, NodeDomain
from tenants.models import Cluster, Flavor

LEVELS = (("zone", names.ZONE), ("rack", names.RACK))


def adopt_nodes(cluster: Cluster, seen: Sequence[SeenNode], *, now: datetime) -> set[int]:
    """Rows for those that have none yet; returns their ids. The caller's transaction records them in the books of supply."""
    known = set(
        Node.objects.filter(cluster=cluster, name__in=[each.name for each in seen]).values_list("name", flat=True)
    )
    new = [each for each in seen if each.shape is not None and each.name not in known]
    flavors = Flavors(cluster) if new else None
    made = set()
    for each in sorted(new, key=lambda node: node.name):
        shape = each.shape or {}
        flavor = flavors.find(shape["labels"], shape["resource"], shape["gpus"]) if flavors is not None else None
        if flavor is not None:
            made.add(_adopt(cluster, each, shape, flavor, now))
    return made


def _adopt(cluster: Cluster, seen: SeenNode, shape: Mapping[str, Any], flavor: Flavor, now: datetime) -> int:
    """All cards are in service until the next look says which are not."""
    node = Node.objects.create(
        cluster=cluster, pool=flavor.pool, flavor=flavor, name=seen.name, uid=seen.uid, gpus=shape["gpus"], cpu_m=shape["cpu_m"],
        memory_mib=shape["memory_mib"], max_pods=shape["max_pods"], cordoned=seen.cordoned, barred_by=seen.barred_by, labels=shape["labels"], ready_since=now,
        last_sign_at=now,
    )  # fmt: skip
    Card.objects.bulk_create(
        Card(node=node, index=index, flavor=flavor, mode=flavor.mode) for index in range(shape["gpus"])
    )
    NodeDomain.objects.bulk_create(
        NodeDomain(node=node, rank=rank, level=level, domain=shape["labels"][label])
        for rank, (level, label) in enumerate(LEVELS)
        if label in shape["labels"]
    )
    return node.pk


class Flavors:
    """The flavors that nodes of one cluster may be of, read once."""

    def __init__(self, cluster: Cluster) -> None:
        self._found = list(Flavor.objects.filter(pool__cluster=cluster).select_related("pool").order_by("pk"))

    def find(self, labels: Mapping[str, str], resource: str, cards: int) -> Flavor | None:
        """The flavor of a node with these labels whose `cards` are asked for as `resource`; None where nobody defined it.

        Without the label of a pool it is one that all tenants share. A node of a card's flavor is left out until its device plugin has
        told of the cards: a kubelet is ready before that.
        """
        wanted, pool = labels.get(names.FLAVOR), labels.get(names.POOL)
        for flavor in self._found:
            is_in_pool = flavor.pool.tenant_id is None if pool is None else flavor.pool.name == pool
            has_cards = flavor.resource == resource and cards > 0
            fits = has_cards or (flavor.mode == Flavor.Mode.NONE and not cards)
            if is_in_pool and flavor.short_name == wanted and fits:
                return flavor
        return None
