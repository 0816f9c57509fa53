"""The cluster file of `simulate` and the `cluster` mapping of `plan` (docs/simulator.md) -> `Cluster`."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from scheduling.engine.snapshot import CPU, MEMORY, VRAM, Pool
from scheduling.engine.vocabulary import CardMode
from scheduling.simulator import quantities
from scheduling.simulator.cluster import SHARED_POOL, Cluster
from scheduling.simulator.documents import Fields, parse_yaml
from scheduling.simulator.flavor_section import FlavorEntry, build_flavors, read_flavors, read_pools, settle_pools
from scheduling.simulator.node_section import NodeEntry, build_nodes, read_nodes, read_nodes_csv
from scheduling.simulator.problems import Problems, WrongValueError
from scheduling.simulator.tree_section import Tree, build_tree, read_tree

Read = Callable[[str], str]
"""Gives the text of a file named relative to the one being read; raises `WrongValueError` where it cannot."""


def parse_cluster(text: str, file: str, read: Read) -> Cluster:
    """The cluster described by a cluster file. Raises `InvalidFileError` with all problems."""
    problems = Problems(file)
    document = Fields(parse_yaml(text, problems), "", problems)
    cluster = read_cluster(document, read, document.below("pools"))
    document.close()
    problems.raise_if_any()
    return cluster


def read_cluster(document: Fields, read: Read, pools: Fields) -> Cluster:
    """The cluster in one mapping; problems are noted in the mapping's own list and the result is then of no use."""
    flavors = read_flavors(document.below("flavors"))
    nodes = {**_csv_nodes(document, flavors, read), **read_nodes(document, flavors)}
    flavors = settle_pools(flavors, [(node.flavor, node.pool) for node in nodes.values() if node.flavor])
    known_pools = read_pools(pools)
    pools.close()
    pool_names = {*known_pools, *(entry.pool or SHARED_POOL for entry in flavors.values())}
    pool_names |= {node.pool for node in nodes.values() if node.pool} or {SHARED_POOL}
    home = SHARED_POOL if SHARED_POOL in pool_names else min(pool_names)
    tree = read_tree(document, lambda name, pool: _resolve(name, pool, flavors), home)
    pool_names |= {queue.pool for queue in tree.queues.values() if queue.pool}
    tables = {name: known_pools.get(name, Pool(name, name)) for name in sorted(pool_names | {home})}
    return _assemble(flavors, nodes, tree, tables, home)


def _csv_nodes(document: Fields, flavors: dict[str, FlavorEntry], read: Read) -> dict[str, NodeEntry]:
    file = document.take("nodes_csv", quantities.word, "")
    if not file:
        return {}
    try:
        text = read(file)
    except WrongValueError as wrong:
        document.problem("nodes_csv", str(wrong))
        return {}
    return read_nodes_csv(text, file, flavors, document.problems)


def _resolve(name: str, pool: str | None, flavors: Iterable[str]) -> str:
    if pool is not None and "@" not in name and f"{name}@{pool}" in flavors:
        return f"{name}@{pool}"
    if name not in flavors:
        raise WrongValueError(f"unknown flavor; known: {', '.join(sorted(flavors)) or 'none'}")
    return name


def _assemble(
    flavors: dict[str, FlavorEntry], nodes: dict[str, NodeEntry], tree: Tree, pools: dict[str, Pool], home: str
) -> Cluster:
    pool_index = {name: i for i, name in enumerate(pools)}
    flavor_table = build_flavors(flavors, pool_index)
    flavor_index = {flavor.name: i for i, flavor in enumerate(flavor_table)}
    settled = [_settle_node(nodes[name], flavors, home) for name in sorted(nodes)]
    node_table, cards = build_nodes(settled, flavor_index, pool_index)
    for queue in tree.queues.values():
        tree.queues[queue.id] = replace(queue, pool=queue.pool or home)
    columns = (*(f"gpu:{flavor.name}" for flavor in flavor_table), CPU, MEMORY, VRAM)
    tree_table, queue_table = build_tree(tree, columns, pool_index)
    return Cluster(
        flavors=flavor_table,
        pools=tuple(pools.values()),
        nodes=node_table,
        cards=cards,
        tree=tree_table,
        queues=queue_table,
        default_tiers=tuple(tree.queues[str(queue.id)].tier for queue in queue_table),
        gpus=tuple(entry.gpus for entry in settled),
        queue_index={str(queue.id): i for i, queue in enumerate(queue_table)},
        flavor_index=flavor_index,
        node_index={name: i for i, name in enumerate(node_table.names)},
    )


def _settle_node(node: NodeEntry, flavors: dict[str, FlavorEntry], home: str) -> NodeEntry:
    """A node's pool is its own, else its flavor's; its flavor is that pool's."""
    entry = flavors.get(node.flavor or "")
    pool = node.pool or (entry.pool if entry else None) or home
    flavor = node.flavor
    if entry is not None and entry.pool != pool:
        flavor = f"{node.flavor}@{pool}" if f"{node.flavor}@{pool}" in flavors else node.flavor
    if entry is None or entry.mode is CardMode.NONE:
        return replace(node, pool=pool, flavor=flavor if entry else None)
    return replace(node, pool=pool, flavor=flavor)
