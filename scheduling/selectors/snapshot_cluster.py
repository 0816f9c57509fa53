"""Pools, flavors, nodes and cards for the snapshot: six queries, whatever the size of the cluster."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from berth.common import clock
from scheduling.engine.data_near import datasets_of
from scheduling.engine.snapshot import Cards, Flavor, Nodes, Pool
from scheduling.engine.vocabulary import CardMode, NodeState
from scheduling.selectors.snapshot_rows import columns_of, fetch, frozen, ms_of, positions

_STATES = {"ready": NodeState.READY, "not-ready": NodeState.NOT_READY, "lost": NodeState.LOST}
MS_PER_S = 1000
STALE_WALL = timedelta(minutes=1)
"""Samples of a pool's use that are older say nothing about now (SCH-15)."""


@dataclass(frozen=True, slots=True)
class ClusterTables:
    """The engine's tables of hardware, each sorted by id, with the look-ups that work on them needs."""

    pools: tuple[Pool, ...]
    flavors: tuple[Flavor, ...]
    nodes: Nodes
    cards: Cards
    pool_index: Mapping[int, int]
    flavor_index: Mapping[int, int]


def read_cluster(now: datetime) -> ClusterTables:
    """Hardware as last observed."""
    pools = _read_pools(now)
    pool_index = {int(pool.id): i for i, pool in enumerate(pools)}
    flavors = _read_flavors(pool_index)
    flavor_index = {int(flavor.id): i for i, flavor in enumerate(flavors)}
    nodes = _read_nodes(now, pool_index, flavor_index)
    cards = _read_cards(nodes, flavors)
    return ClusterTables(pools, flavors, nodes, cards, pool_index, flavor_index)


def _read_pools(now: datetime) -> tuple[Pool, ...]:
    windows: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for pool, start, end in fetch(
        f"SELECT pool_id, {ms_of('lower(during)')}, {ms_of('upper(during)')} FROM tenants_maintenancewindow"  # noqa: S608
        " WHERE upper(during) > %s ORDER BY pool_id, during",
        [now],
    ):
        windows[pool].append((start, end))
    rows = fetch(
        "SELECT p.id, p.name, p.factor_ppm, p.high_ppm, p.low_ppm, p.draining, p.cpu_per_card_m, p.memory_per_card_mib,"
        " p.cpu_headroom_m, p.priority_share_ppm, p.time_sharing, p.quantum_s, c.reachable,"
        " CASE WHEN u.sampled_at > %s THEN u.samples_above ELSE 0 END,"
        " coalesce((extract(epoch FROM u.relieved_at) * 1000)::bigint, -1)"
        " FROM tenants_pool p JOIN tenants_cluster c ON c.id = p.cluster_id"
        " LEFT JOIN scheduling_pooluse u ON u.pool_id = p.id ORDER BY p.id",
        [now - STALE_WALL * clock.scale()],
    )
    return tuple(
        Pool(
            id=row[0],
            name=row[1],
            factor_ppm=row[2],
            high_ppm=row[3],
            low_ppm=row[4],
            draining=row[5],
            cpu_per_card_m=row[6],
            memory_per_card_mib=row[7],
            cpu_headroom_m=row[8],
            priority_share_ppm=row[9],
            time_sharing=row[10],
            quantum_ms=row[11] * MS_PER_S,
            reachable=row[12],
            samples_above=row[13],
            relieved_ms=row[14],
            maintenance=tuple(windows[row[0]]),
        )
        for row in rows
    )


def _read_flavors(pool_index: Mapping[int, int]) -> tuple[Flavor, ...]:
    """With the price that most tenants pay for an own card-hour: by it choices are ranked (SCH-20), nobody is billed by it."""
    rows = fetch(
        "WITH asked AS (SELECT flavor_id, mode() WITHIN GROUP (ORDER BY price) AS price, min(currency) AS currency"
        "  FROM scheduling_effectiveprice WHERE meter = 'card_hour' GROUP BY flavor_id)"
        " SELECT f.id, f.name, f.pool_id, f.mode, f.mig_profile, f.vram_mib, f.speed_ppm, f.weight_ppm,"
        " coalesce(own.price, any_card.price), coalesce(own.currency, any_card.currency, '') FROM tenants_flavor f"
        " LEFT JOIN asked own ON own.flavor_id = f.id LEFT JOIN asked any_card ON any_card.flavor_id IS NULL ORDER BY f.id"
    )
    return tuple(
        Flavor(
            id=row[0],
            name=row[1],
            pool=pool_index[row[2]],
            mode=CardMode(row[3]),
            mig_profile=row[4],
            vram_mib=row[5],
            speed_ppm=row[6],
            weight_ppm=row[7],
            price=row[8],
            currency=row[9],
        )
        for row in rows
    )


def _read_nodes(now: datetime, pool_index: Mapping[int, int], flavor_index: Mapping[int, int]) -> Nodes:
    """A cordoned node, one that is drained, and one in quarantine for flapping starts nothing and keeps what it runs."""
    rows = fetch(
        "SELECT id, name, pool_id, flavor_id, cpu_m, memory_mib, max_pods, state, coalesce(measured_ppm, -1),"
        " cordoned OR draining OR coalesce(quarantined_until > %s, false),"
        # Parsing the labels of a thousand nodes takes longer than all the rest: only of those that say anything of data (SCH-19).
        " CASE WHEN labels::text ~ 'data\\.berth\\.dev/|berth\\.dev/storage-link' THEN labels END FROM scheduling_node ORDER BY id",
        [now],
    )
    ids, names, pools, flavors, cpu, memory, max_pods, states, measured, barred, labels = columns_of(rows, 11)
    levels, domains, domain = _read_domains(ids)
    return Nodes(
        ids=ids,
        names=names,
        pool=frozen([pool_index[pool] for pool in pools], np.int32),
        flavor=frozen([flavor_index.get(flavor, -1) for flavor in flavors], np.int32),
        cpu_m=frozen(cpu, np.int64),
        memory_mib=frozen(memory, np.int64),
        max_pods=frozen(max_pods, np.int32),
        state=frozen([_node_state(state, cordoned=bar) for state, bar in zip(states, barred, strict=True)], np.int8),
        levels=levels,
        domains=domains,
        domain=domain,
        measured_ppm=frozen(measured, np.int64),
        cached=_read_cached(labels),
    )


def _read_cached(labels: Sequence[Any]) -> tuple[frozenset[str], ...]:
    """By node, the datasets near it; nothing at all where no node is near any."""
    near = tuple(datasets_of(_labels(told)) for told in labels)
    return near if any(near) else ()


def _labels(told: Any) -> Mapping[str, str]:
    found = json.loads(told) if isinstance(told, str) else told or {}
    return {str(key): str(value) for key, value in found.items()}


def _node_state(state: str, *, cordoned: bool) -> NodeState:
    found = _STATES[state]
    return NodeState.CORDONED if cordoned and found is NodeState.READY else found


def _read_domains(
    node_ids: tuple[int, ...],
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    """Levels from the widest to the narrowest, their domains by name, and `domain[level, node]`."""
    rows = fetch("SELECT node_id, level, rank, domain FROM scheduling_nodedomain")
    rank: dict[str, int] = {}
    for _node, level, place, _domain in rows:
        rank[level] = min(place, rank.get(level, place))
    levels = tuple(sorted(rank, key=lambda level: (rank[level], level)))
    names = tuple(tuple(sorted({row[3] for row in rows if row[1] == level})) for level in levels)
    domain = np.full((len(levels), len(node_ids)), -1, dtype=np.int32)
    for depth, level in enumerate(levels):
        here = [row for row in rows if row[1] == level]
        index = {name: i for i, name in enumerate(names[depth])}
        at = positions([row[0] for row in here], node_ids)
        domain[depth, at] = [index[row[3]] for row in here]
    domain.setflags(write=False)
    return levels, names, domain


def _read_cards(nodes: Nodes, flavors: tuple[Flavor, ...]) -> Cards:
    rows = fetch("SELECT node_id, index, flavor_id, health = 'ok' FROM scheduling_card ORDER BY node_id, index")
    node_ids, index, flavor_ids, healthy = columns_of(rows, 4)
    return Cards(
        node=positions(node_ids, [int(each) for each in nodes.ids]),
        index=frozen(index, np.int32),
        flavor=positions(flavor_ids, [int(flavor.id) for flavor in flavors]),
        healthy=frozen(healthy, np.bool_),
    )
