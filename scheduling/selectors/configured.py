"""What is configured: pools, flavors, node shapes and the quota tree, kept for a moment, for judging what could ever run.

Never for deciding what runs now: that is the snapshot's. Whoever refuses something because of a kept copy asks again with
`fresh=True` first, so that nobody is turned away by yesterday's limits.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from berth.common import clock
from berth.common.prepared import fetch_prepared
from scheduling.engine.quota import QuotaTree
from scheduling.engine.snapshot import Flavor, Pool
from scheduling.models import ImageRule, Node
from scheduling.selectors.snapshot_cluster import ClusterTables, read_cluster
from scheduling.selectors.snapshot_tree import Key, read_tree
from tenants.models import Cohort, Queue, Quota, QuotaTransfer, Tenant
from tenants.models import Flavor as FlavorRow
from tenants.models import Pool as PoolRow

KEPT_S: Final = 15.0
WATCHED: Final[tuple[Any, ...]] = (Cohort, FlavorRow, PoolRow, Queue, Quota, QuotaTransfer, Tenant)
"""Tables with an event table beside them: its highest id tells whether anything changed."""
HOST: Final = "host"
"""The level of a single node; every cluster has it."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """`count` equal nodes: `gpus` cards, a MIG card counted as its `per_card` instances, of `flavor` (an index into `Configured.flavors`, -1 = none) with `vram_mib` each, millicores, MiB, domain by level."""

    flavor: int
    gpus: int
    cpu_m: int
    memory_mib: int
    max_pods: int
    domains: tuple[str, ...]
    count: int
    vram_mib: int = 0
    per_card: int = 1


@dataclass(frozen=True, slots=True)
class Configured:
    """Pools by row id with all nodes that exist, whatever their state now: an outage does not make a job impossible.

    Quota columns are the flavors by id, then CPU, memory, VRAM. `NodeShape.domains` follow `levels`; "" = no label. `images` are
    the prefixes that jobs' images must have, none = all. `rows` are the flavors' rows, in the order of `flavors`; `queues` are by
    tenant slug and name, with tenant and pool: who may see one is not said here.
    """

    flavors: tuple[Flavor, ...]
    rows: tuple[FlavorRow, ...]
    pools: tuple[Pool, ...]
    pool_index: Mapping[int, int]
    levels: tuple[str, ...]
    shapes: Mapping[int, tuple[NodeShape, ...]]
    tree: QuotaTree
    tree_index: Mapping[Key, int]
    images: tuple[str, ...]
    queues: Mapping[tuple[str, str], Queue]

    @property
    def columns(self) -> tuple[str, ...]:
        """Resource keys (docs/api-jobs.md) of the quota columns."""
        return (*(f"gpu:{flavor.name}" for flavor in self.flavors), "cpu", "memory_gib", "vram_gib")

    def levels_of(self, pool: int) -> tuple[str, ...]:
        """Topology levels that a node of the pool is labelled with, widest first, and the single node at last."""
        shapes = self.shapes.get(pool, ())
        known = [level for at, level in enumerate(self.levels) if any(shape.domains[at] for shape in shapes)]
        return (*known, HOST)

    def cards(self, pool: int, flavor: int) -> int:
        return sum(shape.gpus * shape.count for shape in self.shapes.get(pool, ()) if shape.flavor == flavor)


_kept: tuple[float, tuple[Any, ...], Configured] | None = None


def configured(*, fresh: bool = False) -> Configured:
    """The configuration as of now: one query where the kept copy is still right, else about fifteen."""
    global _kept  # noqa: PLW0603 - one copy a process
    version = _version()
    if not fresh and _kept is not None and _kept[1] == version and clock.monotonic() - _kept[0] < KEPT_S:
        return _kept[2]
    found = _load()
    _kept = (clock.monotonic(), version, found)
    return found


def _version() -> tuple[Any, ...]:
    """Highest event ids of what is watched, highest ids of nodes and image rules: read by index, so it costs next to nothing."""
    return fetch_prepared(_version_statement())[0]


@cache
def _version_statement() -> str:
    tables = [(model.pgh_event_model._meta.db_table, "pgh_id") for model in WATCHED]
    tables += [(Node._meta.db_table, "id"), (ImageRule._meta.db_table, "id")]
    parts = [f'(SELECT max({key}) FROM "{table}")' for table, key in tables]  # noqa: S608 - own tables
    return "SELECT current_database(), " + ", ".join(parts)


def _load() -> Configured:
    now = clock.now()
    cluster = read_cluster(now)
    tree = read_tree(now, cluster)
    rows = FlavorRow.objects.in_bulk()
    return Configured(
        flavors=cluster.flavors,
        rows=tuple(rows[int(flavor.id)] for flavor in cluster.flavors),
        pools=cluster.pools,
        pool_index=cluster.pool_index,
        levels=cluster.nodes.levels,
        shapes=_shapes(cluster),
        tree=QuotaTree(tree.tree, len(cluster.flavors) + 3),
        tree_index=tree.node_index,
        images=tuple(ImageRule.objects.order_by("prefix").values_list("prefix", flat=True)),
        queues={
            (queue.tenant.slug, queue.name): queue
            for queue in Queue.objects.select_related("tenant", "pool").order_by("id")
        },
    )


def _shapes(cluster: ClusterTables) -> dict[int, tuple[NodeShape, ...]]:
    nodes = cluster.nodes
    gpus = (
        np.bincount(cluster.cards.node, minlength=len(nodes)).tolist() if len(cluster.cards.node) else [0] * len(nodes)
    )
    counts: dict[int, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    columns = (nodes.flavor.tolist(), gpus, nodes.cpu_m.tolist(), nodes.memory_mib.tolist(), nodes.max_pods.tolist())
    for node, pool in enumerate(nodes.pool.tolist()):
        domains = tuple(
            cluster.nodes.domains[level][at] if (at := int(nodes.domain[level, node])) >= 0 else ""
            for level in range(len(nodes.levels))
        )
        counts[pool][*(column[node] for column in columns), domains] += 1
    return {
        pool: tuple(_shape(shape, count, cluster) for shape, count in found.items()) for pool, found in counts.items()
    }


def _shape(shape: tuple[Any, ...], count: int, cluster: ClusterTables) -> NodeShape:
    flavor, gpus, cpu_m, memory_mib, max_pods, domains = shape
    vram_mib = cluster.flavors[flavor].vram_mib if flavor >= 0 else 0
    per_card = cluster.flavors[flavor].per_card if flavor >= 0 else 1
    return NodeShape(flavor, gpus * per_card, cpu_m, memory_mib, max_pods, domains, count, vram_mib, per_card)
