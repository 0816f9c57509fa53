"""Which cards of a node a pod gets: the lowest indexes that are healthy and free, in slot order; a share the card it was placed on."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from scheduling.engine.asks import PodAsk, ShareHold
from scheduling.engine.card_modes import is_share
from scheduling.engine.shared_cards import UNSAID_SLOT
from scheduling.engine.snapshot import I32, Snapshot
from scheduling.engine.units import CARD

Rows = NDArray[np.intp]


class CardBook:
    """Free card indexes per node, worked out when a node is first used. A pod that does not say takes the lowest ones.

    A MIG card is in it once for each free instance.
    """

    def __init__(self, snapshot: Snapshot, shares: Iterable[Iterable[ShareHold]] = ()) -> None:
        self._snapshot = snapshot
        self._unsaid = [hold for holds in shares for hold in holds if hold.slot >= UNSAID_SLOT]
        self._free: dict[int, list[int]] = {}
        self._opened: dict[tuple[int, int], int] = {}
        self._pods_on: _RowsBy | None = None
        self._cards_on: _RowsBy | None = None

    def take(self, node: int, ask: PodAsk) -> tuple[int, ...]:
        """The cards of one pod, in decision order; nothing for a CPU-only one."""
        if not ask.cards_m:
            return ()
        if ask.share is None:
            return self.take_whole(node, ask.cards_m)
        self._count(node)
        return self._card_of(node, ask.share.slot)

    def take_whole(self, node: int, cards_m: int) -> tuple[int, ...]:
        """Cards for a pod that holds them whole."""
        return self._take(node, cards_m // CARD)

    def _count(self, node: int) -> None:
        if node not in self._free:
            self._free[node] = self._count_free(node)

    def _take(self, node: int, count: int) -> tuple[int, ...]:
        self._count(node)
        free = self._free[node]
        taken, self._free[node] = tuple(free[:count]), free[count:]
        return taken

    def _card_of(self, node: int, slot: int) -> tuple[int, ...]:
        """A card that shares hold already, or the next free one for those that open it."""
        if slot < UNSAID_SLOT:
            return (slot,)
        if (node, slot) not in self._opened:
            taken = self._take(node, 1)
            if not taken:
                return ()
            self._opened[node, slot] = taken[0]
        return (self._opened[node, slot],)

    def _count_free(self, node: int) -> list[int]:
        cards, pods = self._snapshot.cards, self._snapshot.pods
        size = len(self._snapshot.nodes)
        if self._pods_on is None or self._cards_on is None:
            self._pods_on, self._cards_on = _RowsBy(pods.node, size), _RowsBy(cards.node, size)
        own, flavor = self._cards_on.of(node), int(self._snapshot.nodes.flavor[node])
        per_card = self._snapshot.flavors[flavor].per_card if flavor >= 0 else 1
        rows = self._pods_on.of(node).tolist()
        held = Counter(index for row in rows for index in pods.cards[row])
        healthy = cards.index[own][cards.healthy[own]].tolist()
        free = [index for index in healthy for _ in range(per_card - min(per_card, held[index]))]
        unsaid = sum(int(pods.cards_m[row]) // CARD for row in rows if not pods.cards[row])
        free = free[unsaid:]
        open_slots = sorted({hold.slot for hold in self._unsaid if hold.node == node})
        self._opened.update(((node, slot), free[place]) for place, slot in enumerate(open_slots[: len(free)]))
        return free[len(open_slots) :]


def held_on_bad_cards(snapshot: Snapshot) -> dict[int, int]:
    """Milli-cards per node that pods hold whole of cards out of service: they take nothing from what the node can still give."""
    cards, pods = snapshot.cards, snapshot.pods
    if bool(cards.healthy.all()):
        return {}
    bad = {(int(cards.node[row]), int(cards.index[row])) for row in (~cards.healthy).nonzero()[0].tolist()}
    held: dict[int, int] = {}
    for row, node in enumerate(pods.node.tolist()):
        count = 0 if is_share(int(pods.cards_m[row])) else sum((node, index) in bad for index in pods.cards[row])
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
