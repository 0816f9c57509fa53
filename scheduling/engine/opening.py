"""The picture at the beginning of a cycle: what is free and what is charged, read from the snapshot's columns."""

from collections.abc import Mapping

import numpy as np

from scheduling.engine.cards import held_on_bad_cards
from scheduling.engine.free import Slots
from scheduling.engine.nodes import NodeBook, NodeTable
from scheduling.engine.policy import Policy
from scheduling.engine.quota import LEVELS, QuotaTree, QuotaUse
from scheduling.engine.runs import RunTable
from scheduling.engine.share import DominantShares
from scheduling.engine.shared_cards import open_cards_of
from scheduling.engine.snapshot import I64, Snapshot
from scheduling.engine.state import State
from scheduling.engine.units import CARD


def open_state(snapshot: Snapshot, policy: Policy, now_ms: int) -> State:
    """The picture at the beginning of a cycle, from the snapshot's columns."""
    tree = QuotaTree(snapshot.tree, len(snapshot.columns))
    table = NodeTable(snapshot, now_ms)
    leaving = snapshot.running.leaving_ms.tolist()
    held_shares, open_cards = open_cards_of(snapshot, [tree.tenant[queue.node] for queue in snapshot.queues])
    free = free_now(snapshot, table, open_cards)
    quota = QuotaUse(tree, use_by_leaf(snapshot))
    shares = DominantShares(snapshot, tree, table)
    state = State(
        snapshot=snapshot, policy=policy, now_ms=now_ms, tree=tree, table=table, shares=shares,
        free=free, usable=free.copy(), after=free.copy(), quota=quota, quota_after=quota.copy(),
        runs=RunTable(snapshot, held_shares), leaving_ms=leaving, holds_parts=bool(np.any(snapshot.pods.cards_m % CARD)),
    )  # fmt: skip
    _share_use(state)
    state.find_leaving()
    return state


def _share_use(state: State) -> None:
    for queue in state.snapshot.queues:
        row = state.quota.row(queue.node)
        state.shares.add(
            queue.node, state.shares.vector([(column, amount) for column, amount in enumerate(row) if amount])
        )


def tenants_by_queue(snapshot: Snapshot) -> list[int]:
    """Tree node of the tenant by queue, and -1 at the end for an unknown queue."""
    found = []
    for queue in snapshot.queues:
        at = queue.node
        while snapshot.tree[at].kind != "tenant" and snapshot.tree[at].parent >= 0:
            at = snapshot.tree[at].parent
        found.append(at)
    return [*found, -1]


def free_now(snapshot: Snapshot, table: NodeTable, open_cards: Mapping[int, Slots]) -> NodeBook:
    """What pods leave of every node; `open_cards` are the cards that shares hold (`open_cards_of`), which are not free as a whole."""
    pods, size = snapshot.pods, len(snapshot.nodes)
    whole_m = np.where(pods.cards_m % CARD == 0, pods.cards_m, 0)
    columns: list[list[int]] = []
    for total, held in (
        (table.cards_m, whole_m),
        (table.cpu_m, pods.cpu_m),
        (table.memory_mib, pods.memory_mib),
        (table.max_pods, np.ones(len(pods.node), dtype=np.int64)),
    ):
        used: I64 = np.zeros(size, dtype=np.int64)
        np.add.at(used, pods.node, held)
        columns.append((np.asarray(total, dtype=np.int64) - used).tolist())
    for node, cards_m in held_on_bad_cards(snapshot).items():
        columns[0][node] += cards_m
    for node, slots in open_cards.items():
        columns[0][node] -= len(slots) * CARD
    book = NodeBook(table, columns[0], columns[1], columns[2], columns[3])
    for node, slots in open_cards.items():
        book.put_slots(node, dict(slots))
    return book


def use_by_leaf(snapshot: Snapshot) -> list[list[list[int]]]:
    """use[level][tree node][column] of queues: a tier counts in its own level and in those below it."""
    running, pods, count = snapshot.running, snapshot.pods, len(snapshot.flavors)
    use: I64 = np.zeros((LEVELS, len(snapshot.tree), len(snapshot.columns)), dtype=np.int64)
    leaves = np.asarray([queue.node for queue in snapshot.queues] or [0], dtype=np.int64)
    queue = running.queue[pods.run]
    known = queue >= 0
    node, tier = leaves[queue[known]], running.tier[pods.run][known]
    flavor = pods.flavor[known]
    for level in range(LEVELS):
        at_level = tier >= level
        on_cards = at_level & (flavor >= 0)
        np.add.at(use[level], (node[on_cards], flavor[on_cards]), pods.cards_m[known][on_cards])
        for offset, values in enumerate((pods.cpu_m, pods.memory_mib, pods.vram_mib)):
            np.add.at(use[level][:, count + offset], node[at_level], values[known][at_level])
    result: list[list[list[int]]] = use.tolist()
    return result
