"""What is free on each node, and the order in which nodes are tried (SCH-12: whole cards best fit, score then node name).

`NodeTable` is the fixed picture of a cycle, `NodeBook` the free amounts of one moment with its search order kept sorted: a node
is found by bisection, so a job that fits nowhere costs next to nothing however many nodes are full.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence, Set
from copy import copy
from itertools import count

import numpy as np

from scheduling.engine.asks import PodAsk, ShareHold
from scheduling.engine.free import FRESH_SLOT, NO_POD_LIMIT, Free, Limits, Slots, use_slot
from scheduling.engine.shared_cards import share_hosts, slots_on
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import NodeState

RANK_BITS = 22
RANK_MASK = (1 << RANK_BITS) - 1
"""A search key is `free amount << RANK_BITS | rank`; 4 million nodes."""
IDLE_CARDS = 1 << 100
"""Put in front of the CPU key of a node with idle cards: above any amount of CPU."""


class NodeTable:
    """Fixed facts of a cycle's nodes. `rank` is a node's place by name, then id: the tie-break of every placement."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        nodes = snapshot.nodes
        self.names = nodes.names
        self.levels = nodes.levels
        self.domain = nodes.domain.tolist()
        self.domain_names = nodes.domains
        self.pool = nodes.pool.tolist()
        self.flavor = nodes.flavor.tolist()
        self.per_card = [1 if flavor < 0 else snapshot.flavors[flavor].per_card for flavor in self.flavor]
        self.fresh_slots = count(FRESH_SLOT)
        """Numbers for cards that shares open in this cycle, the same in all of its pictures."""
        self.by_rank = sorted(range(len(nodes)), key=lambda index: (nodes.names[index].encode(), index))
        self.rank = [0] * len(nodes)
        for place, index in enumerate(self.by_rank):
            self.rank[index] = place
        self.cards_m = self._healthy_cards(snapshot)
        self.pool_cards_m = [0] * len(snapshot.pools)
        for pool, cards_m in zip(self.pool, self.cards_m, strict=True):
            self.pool_cards_m[pool] += cards_m
        self.cpu_m = nodes.cpu_m.tolist()
        self.memory_mib = nodes.memory_mib.tolist()
        self.max_pods = [limit if limit >= 0 else NO_POD_LIMIT for limit in nodes.max_pods.tolist()]
        self.cached = {node: cached for node, cached in enumerate(nodes.cached) if cached}
        """By node, the datasets near it (SCH-19); only nodes that are near any."""
        self.lost = [state == NodeState.LOST for state in nodes.state.tolist()]
        open_pools = [pool_bars_starts(snapshot, pool, now_ms) == "" for pool in range(len(snapshot.pools))]
        ready = (nodes.state == NodeState.READY).tolist()
        self.open = [state and open_pools[pool] for state, pool in zip(ready, self.pool, strict=True)]
        self._set_card_parts(snapshot)

    def _healthy_cards(self, snapshot: Snapshot) -> list[int]:
        cards = snapshot.cards
        usable = (
            cards.healthy & (cards.flavor == snapshot.nodes.flavor[cards.node]) if len(cards.node) else cards.healthy
        )
        counts = np.bincount(cards.node[usable], minlength=len(snapshot.nodes))
        return [cards * per_card * CARD for cards, per_card in zip(counts.tolist(), self.per_card, strict=True)]

    def _set_card_parts(self, snapshot: Snapshot) -> None:
        """SCH-02: the CPU and memory that a CPU-only job leaves per free card, and what card jobs leave for CPU jobs.

        A card's part is of what card jobs may have: the headroom is kept for CPU jobs also on a node whose cards are all idle.
        """
        built_in = np.bincount(snapshot.cards.node, minlength=len(snapshot.nodes)).tolist()
        fitted = [cards * per_card for cards, per_card in zip(built_in, self.per_card, strict=True)]
        self.cpu_part: list[int] = []
        self.memory_part: list[int] = []
        self.headroom: list[int] = []
        for node, cards in enumerate(fitted):
            pool = snapshot.pools[self.pool[node]]
            cpu, memory = self._fixed_part(node, pool.cpu_per_card_m), self._fixed_part(node, pool.memory_per_card_mib)
            spare = max(0, self.cpu_m[node] - pool.cpu_headroom_m)
            self.cpu_part.append((spare // cards if cpu is None else cpu) if cards else 0)
            self.memory_part.append((self.memory_mib[node] // cards if memory is None else memory) if cards else 0)
            self.headroom.append(pool.cpu_headroom_m)

    def _fixed_part(self, node: int, of_card: int | None) -> int | None:
        """What the pool says of a card, for each of the instances that a MIG card is cut into."""
        return None if of_card is None else of_card // self.per_card[node]

    def pods_when_empty(self, node: int, ask: PodAsk) -> int:
        """How many pods of the ask the node holds when nothing else is on it."""
        room = self.max_pods[node]
        if ask.share is not None:
            room = min(room, self.cards_m[node] // CARD * ask.share.per_card)
        elif ask.cards_m:
            room = min(room, self.cards_m[node] // ask.cards_m)
        if ask.cpu_m:
            room = min(room, self.cpu_m[node] // ask.cpu_m)
        if ask.memory_mib:
            room = min(room, self.memory_mib[node] // ask.memory_mib)
        return room

    def all_open(self) -> "NodeTable":
        """The same nodes, every one of them ready: configured capacity (a lost node comes back, a cordon is lifted).

        Idle cards keep no part of CPU there: on a busy node a CPU-only job may have it all.
        """
        twin = copy(self)
        twin.open = [True] * len(self)
        twin.cpu_part = twin.memory_part = [0] * len(self)
        return twin

    def __len__(self) -> int:
        return len(self.pool)


def pool_bars_starts(snapshot: Snapshot, pool: int, now_ms: int) -> str:
    """Why nothing may start in the pool now: `cluster-unreachable`, `maintenance` (also while draining), or nothing."""
    row = snapshot.pools[pool]
    if row.draining or any(begin <= now_ms < end for begin, end in row.maintenance):
        return "maintenance"
    return "" if row.reachable else "cluster-unreachable"


class NodeBook:
    """Free amounts per node, and the sorted search keys by flavor (cards) and by pool (CPU that CPU-only jobs may take).

    A node that changes moves in the order only when the order is next asked for: claims take many runs out that they put back.
    """

    __slots__ = (
        "_by_cards", "_by_cpu", "_card_keys", "_cpu_keys", "_left", "_moved", "cards", "cpu", "memory", "pods", "slots", "table",
    )  # fmt: skip

    def __init__(self, table: NodeTable, cards: list[int], cpu: list[int], memory: list[int], pods: list[int]) -> None:
        self.table = table
        self.slots: dict[int, Slots] = {}
        """Cards that shares hold, by node; `cards` counts those that are free as a whole."""
        self.cards, self.cpu, self.memory, self.pods = cards, cpu, memory, pods
        self._left: dict[int, set[int]] = {}
        self._by_cards: dict[int, list[int]] = {}
        self._by_cpu: dict[int, list[int]] = {}
        self._card_keys: dict[int, int] = {}
        self._cpu_keys: dict[int, int] = {}
        self._moved: set[int] = set()
        for node in table.by_rank:
            if table.open[node] and table.flavor[node] >= 0:
                key = self._card_keys[node] = self._card_key(node)
                self._by_cards.setdefault(table.flavor[node], []).append(key)
        for keys in self._by_cards.values():
            keys.sort()

    def copy(self) -> "NodeBook":
        twin = NodeBook.__new__(NodeBook)
        twin.table = self.table
        twin.slots = {node: slots.copy() for node, slots in self.slots.items()}
        twin._left = {node: slots.copy() for node, slots in self._left.items()}
        twin.cards, twin.cpu, twin.memory, twin.pods = self.cards[:], self.cpu[:], self.memory[:], self.pods[:]
        twin._by_cards = {flavor: keys[:] for flavor, keys in self._by_cards.items()}
        twin._by_cpu = {pool: keys[:] for pool, keys in self._by_cpu.items()}
        twin._card_keys, twin._cpu_keys = self._card_keys.copy(), self._cpu_keys.copy()
        twin._moved = self._moved.copy()
        return twin

    def free(self, node: int) -> Free:
        return self.cards[node], self.cpu[node], self.memory[node], self.pods[node]

    def free_to(self, node: int, *, cpu_only: bool) -> Free:
        """What is free to jobs with cards, or to those without, which leave every idle card its part (SCH-02)."""
        cards, cpu, memory, pods = self.free(node)
        if not cpu_only:
            return cards, cpu - self.table.headroom[node], memory, pods
        idle = max(0, cards) // CARD
        return cards, cpu - self.table.cpu_part[node] * idle, memory - self.table.memory_part[node] * idle, pods

    def put(self, node: int, free: Free) -> None:
        """Set what is free on a node."""
        self.cards[node], self.cpu[node], self.memory[node], self.pods[node] = free
        self._moved.add(node)

    def shift(self, node: int, held: Free, sign: int) -> None:
        """Give back what a run holds of a node (sign -1: take it again)."""
        cards, cpu, memory, pods = held
        self.cards[node] += sign * cards
        self.cpu[node] += sign * cpu
        self.memory[node] += sign * memory
        self.pods[node] += sign * pods
        self._moved.add(node)

    def add(self, node: int, ask: PodAsk, pods: int) -> None:
        """Give back `pods` pods of an ask (negative: take them)."""
        if ask.share is None:
            self.shift(node, (ask.cards_m, ask.cpu_m, ask.memory_mib, 1), pods)
            return
        self.shift(node, (0, ask.cpu_m, ask.memory_mib, 1), pods)
        self._use_slot(ask.hold_on(node), -pods)

    def shift_hold(self, hold: ShareHold, sign: int) -> None:
        """Give back a run's share of a card (sign -1: take it again)."""
        self._use_slot(hold, -sign)
        self._moved.add(hold.node)

    def number_slot(self, node: int, taken: Set[int]) -> int:
        """A number for a card that shares open: one they have left in this picture, so that others know it for the same, else a new one."""
        left = sorted(self._left.get(node, set()) - taken - self.slots.get(node, {}).keys())
        return left[0] if left else next(self.table.fresh_slots)

    def _use_slot(self, hold: ShareHold, pods: int) -> None:
        freed = use_slot(self.slots, hold, pods)
        self.cards[hold.node] += freed
        if freed > 0:
            self._left.setdefault(hold.node, set()).add(hold.slot)

    def put_slots(self, node: int, slots: Slots) -> None:
        """Set which cards of a node are open to shares."""
        if slots:
            self.slots[node] = slots
        else:
            self.slots.pop(node, None)

    def _sort_in(self) -> None:
        """Bring the nodes that changed to their new places in the search order."""
        table = self.table
        for node in self._moved:
            old = self._card_keys.get(node)
            if old is not None:
                self._card_keys[node] = _move(self._by_cards[table.flavor[node]], old, self._card_key(node))
            old = self._cpu_keys.get(node)
            if old is not None:
                self._cpu_keys[node] = _move(self._by_cpu[table.pool[node]], old, self._cpu_key(node))
        self._moved.clear()

    def _card_key(self, node: int) -> int:
        cards = self.cards[node]
        return (cards << RANK_BITS if cards > 0 else 0) | self.table.rank[node]

    def _cpu_key(self, node: int) -> int:
        """Nodes without idle cards come first, so that CPU work keeps away from them; then the tightest."""
        free_cards = max(0, self.cards[node]) // CARD
        spare = max(0, self.cpu[node] - self.table.cpu_part[node] * free_cards)
        return (IDLE_CARDS if free_cards else 0) | spare << RANK_BITS | self.table.rank[node]

    def hosts(self, ask: PodAsk, pool: int, limits: Limits = ()) -> Iterator[tuple[int, int]]:
        """(node, pods of the ask that fit there), tightest node first, only nodes with room for one."""
        if ask.share is not None:
            yield from share_hosts(self, ask, limits)
            return
        by_rank = self.table.by_rank
        for keys, begin, end in self._candidates(ask, pool):
            for position in range(begin, end):
                node = by_rank[keys[position] & RANK_MASK]
                room = self.room(node, ask, limits)
                if room:
                    yield node, room

    def _candidates(self, ask: PodAsk, pool: int) -> Sequence[tuple[list[int], int, int]]:
        """Slices of the search order whose nodes have the cards, or else the CPU, for one pod."""
        if self._moved:
            self._sort_in()
        if ask.cards_m:
            keys = self._by_cards.get(ask.flavor, [])
            return ((keys, bisect_left(keys, ask.cards_m << RANK_BITS), len(keys)),)
        keys = self._cpu_order(pool)
        middle = bisect_left(keys, IDLE_CARDS)
        return (
            (keys, bisect_left(keys, ask.cpu_m << RANK_BITS), middle),
            (keys, bisect_left(keys, IDLE_CARDS | ask.cpu_m << RANK_BITS), len(keys)),
        )

    def with_free_card(self, flavor: int) -> Iterator[int]:
        """Open nodes of the flavor with a card that is free as a whole, those with the fewest first."""
        if self._moved:
            self._sort_in()
        keys = self._by_cards.get(flavor, [])
        for position in range(bisect_left(keys, CARD << RANK_BITS), len(keys)):
            yield self.table.by_rank[keys[position] & RANK_MASK]

    def _cpu_order(self, pool: int) -> list[int]:
        """Sorted when the first CPU-only job of the pool asks, and kept sorted from then on."""
        keys = self._by_cpu.get(pool)
        if keys is None:
            table = self.table
            own = [node for node in range(len(table)) if table.open[node] and table.pool[node] == pool]
            self._cpu_keys.update((node, self._cpu_key(node)) for node in own)
            keys = self._by_cpu[pool] = sorted(self._cpu_keys[node] for node in own)
        return keys

    def room(self, node: int, ask: PodAsk, limits: Limits = ()) -> int:
        """How many pods of the ask the node can take now; of shares no more than are asked."""
        if ask.share is not None:
            return len(slots_on(self, node, ask, limits, ask.count))
        cards, cpu, memory, room = self.cards[node], self.cpu[node], self.memory[node], self.pods[node]
        for limit in limits:
            if node in limit:
                bound = limit[node]
                cards, cpu, memory, room = (
                    min(cards, bound[0]),
                    min(cpu, bound[1]),
                    min(memory, bound[2]),
                    min(room, bound[3]),
                )
        if ask.cards_m:
            if cards < ask.cards_m:
                return 0
            if cards < ask.cards_m * room:
                room = cards // ask.cards_m
            cpu -= self.table.headroom[node]
        elif self.table.cpu_part[node] or self.table.memory_part[node]:
            free_cards = max(0, cards) // CARD
            cpu -= self.table.cpu_part[node] * free_cards
            memory -= self.table.memory_part[node] * free_cards
        if ask.cpu_m and cpu < ask.cpu_m * room:
            room = cpu // ask.cpu_m
        if ask.memory_mib and memory < ask.memory_mib * room:
            room = memory // ask.memory_mib
        return max(0, room)


def _move(keys: list[int], old: int, new: int) -> int:
    if old != new:
        del keys[bisect_left(keys, old)]
        insort(keys, new)
    return new
