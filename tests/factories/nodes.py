"""Nodes with their cards and their places in the topology."""

from collections.abc import Collection, Mapping
from typing import Any

from berth.common.units import gib_to_mib, to_milli
from scheduling.models import Card, Node, NodeDomain
from tenants.models import Flavor
from tests.factories.names import unique
from tests.factories.people import LONG_AGO
from tests.factories.pools import a_flavor

LEVELS = ("zone", "block", "rack", "host")


def a_node(
    name: str | None = None,
    *,
    flavor: Flavor | None = None,
    gpus: int = 8,
    cpu: int = 128,
    memory_gib: int = 1024,
    topology: Mapping[str, str] | None = None,
    cards_out: Collection[int] = (),
    **fields: Any,
) -> Node:
    """A ready node of the flavor's pool; `cards_out` are the indexes of cards that are out of service."""
    flavor = flavor or a_flavor()
    node = Node.objects.create(
        cluster=flavor.pool.cluster,
        pool=flavor.pool,
        flavor=flavor,
        name=name or unique("node"),
        gpus=gpus,
        cpu_m=to_milli(cpu),
        memory_mib=gib_to_mib(memory_gib),
        ready_since=LONG_AGO,
        **fields,
    )
    Card.objects.bulk_create(
        Card(node=node, index=index, flavor=flavor, health="failed" if index in cards_out else "ok")
        for index in range(gpus)
    )
    NodeDomain.objects.bulk_create(
        NodeDomain(node=node, rank=LEVELS.index(level), level=level, domain=domain)
        for level, domain in (topology or {}).items()
    )
    return node
