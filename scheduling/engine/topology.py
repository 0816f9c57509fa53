"""SCH-11: which domain a gang goes to, and what leaving one costs. Fewest domains, then tightest, then name.

A gang goes to the narrowest domain that holds all of it (one node, else one rack, else one zone), because every level crossed
slows it down; inside a domain the same rule picks the smaller domains and at last the nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.engine.nodes import NodeTable
from scheduling.engine.units import ONE_PPM

HOST = "host"
"""The level of a single node; always there, below all labels."""

Counts = dict[int, int]
"""Pods per node."""


@dataclass(frozen=True, slots=True)
class Host:
    """A node with room for `room` pods; `spare` is what stays free of the scarce resource, for tightness."""

    node: int
    room: int
    spare: int


@dataclass(frozen=True, slots=True)
class Group:
    """Hosts of one domain; the hosts without a label at that level form no domain."""

    name: bytes
    room: int
    hosts: tuple[Host, ...]


def pack_narrowest(table: NodeTable, hosts: Sequence[Host], count: int) -> Counts | None:
    """Into the narrowest domain that holds all pods, else over as few domains as possible; None where the room is too small."""
    if sum(host.room for host in hosts) < count:
        return None
    if any(host.room >= count for host in hosts):
        return _pack_hosts(hosts, count)
    for level in range(len(table.levels) - 1, -1, -1):
        best = _tightest(_groups(table, hosts, level), count)
        if best is not None:
            return _pack(table, best.hosts, count, level + 1)
    return _pack(table, hosts, count, 0)


def pack_required(table: NodeTable, hosts: Sequence[Host], count: int, level: str) -> Counts | None:
    """Into one domain of the level, or not at all."""
    if level == HOST:
        return _pack_hosts(hosts, count) if any(host.room >= count for host in hosts) else None
    if level not in table.levels:
        return None
    at = table.levels.index(level)
    best = _tightest(_groups(table, hosts, at), count)
    return None if best is None else pack_narrowest(table, best.hosts, count)


def domains_for(table: NodeTable, hosts: Sequence[Host], count: int, level: str) -> list[frozenset[int]]:
    """Node sets of the level's domains with room for `count` pods, tightest first: where a gang of several roles may go."""
    if level == HOST:
        fitting = sorted((host.room, host.spare, place) for place, host in enumerate(hosts) if host.room >= count)
        return [frozenset({hosts[place].node}) for _, _, place in fitting]
    if level not in table.levels:
        return []
    at = table.levels.index(level)
    groups = [group for group in _groups(table, hosts, at) if group.room >= count]
    tightest = sorted(groups, key=lambda group: (group.room, group.name))
    domains = [table.domain[at][group.hosts[0].node] for group in tightest]
    return [frozenset(node for node, own in enumerate(table.domain[at]) if own == domain) for domain in domains]


def _groups(table: NodeTable, hosts: Sequence[Host], level: int) -> list[Group]:
    """Domains of the level in name order."""
    members: dict[int, list[Host]] = {}
    for host in hosts:
        domain = table.domain[level][host.node]
        if domain >= 0:
            members.setdefault(domain, []).append(host)
    groups = [
        Group(table.domain_names[level][domain].encode(), sum(host.room for host in inside), tuple(inside))
        for domain, inside in members.items()
    ]
    return sorted(groups, key=lambda group: group.name)


def _tightest(groups: Sequence[Group], count: int) -> Group | None:
    fitting = [group for group in groups if group.room >= count]
    return min(fitting, key=lambda group: (group.room, group.name)) if fitting else None


def _pack(table: NodeTable, hosts: Sequence[Host], count: int, level: int) -> Counts:
    """Fewest domains of this level, then of each narrower one, then nodes. The hosts have room for `count`."""
    if level == len(table.levels):
        return _pack_hosts(hosts, count)
    groups = _groups(table, hosts, level)
    if sum(group.room for group in groups) < count:
        return _pack(table, hosts, count, level + 1)
    chosen: Counts = {}
    left = sorted(groups, key=lambda group: (-group.room, group.name))
    while count:
        best = _tightest(left, count) or left[0]
        left.remove(best)
        taken = min(count, best.room)
        chosen.update(_pack(table, best.hosts, taken, level + 1))
        count -= taken
    return chosen


def _pack_hosts(hosts: Sequence[Host], count: int) -> Counts:
    """Fewest nodes: the roomiest first, and for what is left at the end the tightest node that takes it all."""
    rank = {host.node: place for place, host in enumerate(hosts)}
    chosen: Counts = {}
    left = sorted(hosts, key=lambda host: (-host.room, host.spare, rank[host.node]))
    for position, host in enumerate(left):
        if host.room >= count:
            last = min(left[position:], key=lambda each: _tightness(each, count, rank[each.node]))
            chosen[last.node] = count
            return chosen
        chosen[host.node] = host.room
        count -= host.room
    return chosen


def _tightness(host: Host, count: int, rank: int) -> tuple[bool, int, int, int]:
    return host.room < count, host.room, host.spare, rank


def levels_crossed(table: NodeTable, nodes: Sequence[int]) -> tuple[str, ...]:
    """Levels that a gang on these nodes leaves, narrowest first; nodes without a label count as elsewhere."""
    if len(set(nodes)) < 2:
        return ()
    crossed = [HOST]
    for level in range(len(table.levels) - 1, -1, -1):
        domains = {table.domain[level][node] for node in nodes}
        if len(domains) > 1:
            crossed.append(table.levels[level])
    return tuple(crossed)


def slowdown_ppm(crossed: Sequence[str], level_ppm: int) -> int:
    """What the levels crossed add to the run time: each multiplies it by 1 + `level_ppm`."""
    factor = ONE_PPM
    for _ in crossed:
        factor = factor * (ONE_PPM + level_ppm) // ONE_PPM
    return factor - ONE_PPM
