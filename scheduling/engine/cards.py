"""Which cards of a node a pod gets: the lowest indexes that are healthy and free, in slot order (SCH-13, whole cards)."""

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.snapshot import I32, Snapshot
from scheduling.engine.units import CARD

Rows = NDArray[np.intp]


class CardBook:
    """Free card indexes per node, worked out when a node is first used. A pod that does not say takes the lowest ones."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._free: dict[int, list[int]] = {}
        self._pods_on: _RowsBy | None = None
        self._cards_on: _RowsBy | None = None

    def take(self, node: int, cards_m: int) -> tuple[int, ...]:
        free = self._free.get(node)
        if free is None:
            free = self._free[node] = self._count_free(node)
        count = cards_m // CARD
        taken, self._free[node] = tuple(free[:count]), free[count:]
        return taken

    def _count_free(self, node: int) -> list[int]:
        cards, pods = self._snapshot.cards, self._snapshot.pods
        size = len(self._snapshot.nodes)
        if self._pods_on is None or self._cards_on is None:
            self._pods_on, self._cards_on = _RowsBy(pods.node, size), _RowsBy(cards.node, size)
        own = self._cards_on.of(node)
        free = cards.index[own][cards.healthy[own]].tolist()
        rows = self._pods_on.of(node).tolist()
        held = {index for row in rows for index in pods.cards[row]}
        free = [index for index in free if index not in held]
        unsaid = sum(int(pods.cards_m[row]) // CARD for row in rows if not pods.cards[row])
        return free[unsaid:]


def held_on_bad_cards(snapshot: Snapshot) -> dict[int, int]:
    """Milli-cards per node that pods hold on cards out of service: they take nothing from what the node can still give."""
    cards, pods = snapshot.cards, snapshot.pods
    if bool(cards.healthy.all()):
        return {}
    bad = {(int(cards.node[row]), int(cards.index[row])) for row in (~cards.healthy).nonzero()[0].tolist()}
    held: dict[int, int] = {}
    for row, node in enumerate(pods.node.tolist()):
        count = sum((node, index) in bad for index in pods.cards[row])
        if count:
            held[node] = held.get(node, 0) + count * CARD
    return held


class _RowsBy:
    """Rows of a column by its value below `size`, in row order; sorted once, so that a value asked for costs next to nothing."""

    def __init__(self, values: I32, size: int) -> None:
        self._rows = np.argsort(values, kind="stable")
        self._first = np.searchsorted(values[self._rows], np.arange(size + 1)).tolist()

    def of(self, value: int) -> Rows:
        return self._rows[self._first[value] : self._first[value + 1]]
