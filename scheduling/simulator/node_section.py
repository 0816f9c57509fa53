"""`nodes` of a cluster file and `nodes_csv`: patterns expanded, states and cards out of service, topology levels found."""

from dataclasses import dataclass, field, replace

import numpy as np

from berth.common.shown import shown
from scheduling.engine.data_near import datasets_of
from scheduling.engine.snapshot import Cards, Nodes
from scheduling.engine.vocabulary import CardMode, NodeState
from scheduling.simulator import quantities
from scheduling.simulator.documents import Fields
from scheduling.simulator.flavor_section import FlavorEntry
from scheduling.simulator.frozen import column, frozen
from scheduling.simulator.naming import expand
from scheduling.simulator.problems import Problems, WrongValueError
from scheduling.simulator.rows import Row, read_rows

NO_POD_LIMIT = 2**31 - 1
LARGEST_COUNT = 200_000
LARGEST_GPUS = 1024
KNOWN_LEVELS = ("region", "zone", "room", "block", "row", "rack", "switch")
"""Widest to narrowest; other levels follow, the one with fewer domains first."""
STATES = {"ready": NodeState.READY, "cordoned": NodeState.CORDONED, "lost": NodeState.LOST}
CSV_COLUMNS = ("name", "flavor", "gpus", "cpu", "memory_gib", "zone", "rack")


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One node as written; `flavor` and `pool` are None where not given."""

    name: str
    flavor: str | None
    gpus: int = 0
    cpu_m: int = 0
    memory_mib: int = 0
    topology: dict[str, str] = field(default_factory=dict)
    pool: str | None = None
    state: NodeState = NodeState.READY
    cards_out: frozenset[int] = frozenset()
    max_pods: int = NO_POD_LIMIT
    measured_ppm: int = -1
    near: frozenset[str] = frozenset()
    """Datasets that it caches, by its labels (SCH-19)."""


def read_nodes(document: Fields, flavors: dict[str, FlavorEntry]) -> dict[str, NodeEntry]:
    """Every node of the `nodes` list by name, patterns expanded."""
    found: dict[str, NodeEntry] = {}
    for fields in document.each("nodes"):
        count = fields.take("count", quantities.between(1, LARGEST_COUNT), 1)
        name = fields.need("name", quantities.word, "")
        template = _template(fields, flavors)
        topology = _pairs(fields.below("topology"))
        template = replace(template, near=datasets_of(_pairs(fields.below("labels"))))
        fields.close()
        for i in range(count):
            try:
                entry = _numbered(template, name, topology, i)
            except WrongValueError as wrong:
                fields.problem("name", str(wrong))
                break
            if entry.name in found:
                fields.problem(
                    "name", f"node {shown(entry.name)} is there twice (with count above 1 a name needs a place: n{{i}})"
                )
                break
            found[entry.name] = entry
    return found


def _template(fields: Fields, flavors: dict[str, FlavorEntry]) -> NodeEntry:
    gpus = fields.take("gpus", quantities.between(0, LARGEST_GPUS), 0)
    flavor = fields.take("flavor", quantities.word, None)
    cards_out = frozenset(fields.words("cards_out", quantities.whole))
    if flavor is not None and flavor not in flavors:
        fields.problem("flavor", f"unknown flavor {shown(flavor)}; known: {', '.join(flavors) or 'none'}")
    elif flavor is None and gpus:
        fields.problem("gpus", "a node with cards needs a flavor")
    elif flavor is not None and gpus and flavors[flavor].mode is CardMode.NONE:
        fields.problem("gpus", f"flavor {flavor} has no cards")
    if any(index >= gpus for index in cards_out):
        fields.problem("cards_out", f"card indexes go from 0 to {gpus - 1}" if gpus else "the node has no cards")
    return NodeEntry(
        name="",
        flavor=flavor if flavor in flavors else None,
        gpus=gpus,
        cpu_m=fields.take("cpu", quantities.millicores, 0),
        memory_mib=fields.take("memory_gib", quantities.mebibytes, 0),
        pool=fields.take("pool", quantities.word, None),
        state=STATES[fields.take("state", quantities.one_of(*STATES), "ready")],
        cards_out=cards_out,
        max_pods=fields.take("max_pods", quantities.whole, NO_POD_LIMIT),
        measured_ppm=fields.take("measured_use", quantities.fraction_ppm, -1),
    )


def _pairs(fields: Fields) -> dict[str, str]:
    return {key: fields.take(key, quantities.word, "") for key, _ in fields.named()}


def _numbered(template: NodeEntry, name: str, topology: dict[str, str], i: int) -> NodeEntry:
    labels = {level: expand(value, i) for level, value in topology.items() if value}
    return NodeEntry(
        expand(name, i),
        template.flavor,
        template.gpus,
        template.cpu_m,
        template.memory_mib,
        labels,
        template.pool,
        template.state,
        template.cards_out,
        template.max_pods,
        template.measured_ppm,
        template.near,
    )


def read_nodes_csv(text: str, file: str, flavors: dict[str, FlavorEntry], problems: Problems) -> dict[str, NodeEntry]:
    """Nodes of a CSV with the header of docs/simulator.md; `zone` and `rack` may be left out or empty."""
    found: dict[str, NodeEntry] = {}
    for row in read_rows(text, file, problems, required=CSV_COLUMNS[:5], known=CSV_COLUMNS):
        entry = _csv_node(row, flavors)
        if entry.name in found:
            row.problem("name", f"node {shown(entry.name)} is there twice")
        found[entry.name] = entry
    return found


def _csv_node(row: Row, flavors: dict[str, FlavorEntry]) -> NodeEntry:
    gpus = row.take("gpus", quantities.between(0, LARGEST_GPUS), 0)
    flavor = row.take("flavor", quantities.word, None)
    if flavor is not None and flavor not in flavors:
        row.problem("flavor", f"unknown flavor {shown(flavor)}; known: {', '.join(flavors) or 'none'}")
    elif flavor is None and gpus:
        row.problem("flavor", "a node with cards needs a flavor")
    name = row.need("name", quantities.word, "")
    labels = {level: row.take(level, quantities.word, "") for level in ("zone", "rack")}
    return NodeEntry(
        name=name,
        flavor=flavor if flavor in flavors else None,
        gpus=gpus,
        cpu_m=row.take("cpu", quantities.millicores, 0),
        memory_mib=row.take("memory_gib", quantities.mebibytes, 0),
        topology={level: value for level, value in labels.items() if value},
    )


def topology_levels(entries: list[NodeEntry]) -> tuple[str, ...]:
    """Level names from the widest to the narrowest."""
    names = sorted({level for entry in entries for level in entry.topology})
    known = [level for level in KNOWN_LEVELS if level in names]
    others = {level: len({e.topology.get(level) for e in entries}) for level in names if level not in KNOWN_LEVELS}
    return (*known, *sorted(others, key=lambda level: (others[level], level)))


def build_nodes(entries: list[NodeEntry], flavors: dict[str, int], pools: dict[str, int]) -> tuple[Nodes, Cards]:
    """Engine tables of the nodes (sorted by name) and their cards; each entry's flavor and pool are settled by now."""
    levels = topology_levels(entries)
    paths = [[_path(entry, levels, depth) for entry in entries] for depth in range(len(levels))]
    domains = tuple(tuple(sorted({path for path in row if path})) for row in paths)
    positions = [{name: i for i, name in enumerate(names)} for names in domains]
    domain = np.array([[positions[d].get(path, -1) for path in paths[d]] for d in range(len(levels))], dtype=np.int32)
    names = tuple(entry.name for entry in entries)
    nodes = Nodes(
        ids=names,
        names=names,
        pool=column((pools[entry.pool or ""] for entry in entries), np.int32),
        flavor=column((flavors[entry.flavor] if entry.flavor else -1 for entry in entries), np.int32),
        cpu_m=column((entry.cpu_m for entry in entries), np.int64),
        memory_mib=column((entry.memory_mib for entry in entries), np.int64),
        max_pods=column((entry.max_pods for entry in entries), np.int32),
        state=column((entry.state for entry in entries), np.int8),
        levels=levels,
        domains=domains,
        domain=frozen(domain.reshape(len(levels), len(entries))),
        measured_ppm=column((entry.measured_ppm for entry in entries), np.int64),
        cached=tuple(entry.near for entry in entries) if any(entry.near for entry in entries) else (),
    )
    return nodes, _cards(entries, nodes)


def _path(entry: NodeEntry, levels: tuple[str, ...], depth: int) -> str:
    """A domain is named with the wider domains around it, so that rack r0 of two zones is two racks."""
    if levels[depth] not in entry.topology:
        return ""
    return "/".join(entry.topology[level] for level in levels[: depth + 1] if level in entry.topology)


def _cards(entries: list[NodeEntry], nodes: Nodes) -> Cards:
    rows = [(n, index, index not in entry.cards_out) for n, entry in enumerate(entries) for index in range(entry.gpus)]
    return Cards(
        node=column((row[0] for row in rows), np.int32),
        index=column((row[1] for row in rows), np.int32),
        flavor=column((nodes.flavor[row[0]] for row in rows), np.int32),
        healthy=column((row[2] for row in rows), np.bool_),
    )
