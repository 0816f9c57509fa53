"""Which cards of a node a pod gets: the lowest indexes that are healthy and free, in slot order (SCH-13, whole cards)."""

from collections.abc import Sequence

from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import CARD


class CardBook:
    """Free card indexes per node, worked out when a node is first used. A pod that does not say takes the lowest ones."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._free: dict[int, list[int]] = {}
        self._pods_on: dict[int, list[int]] | None = None
        self._cards_on: dict[int, list[int]] | None = None

    def take(self, node: int, cards_m: int) -> tuple[int, ...]:
        free = self._free.get(node)
        if free is None:
            free = self._free[node] = self._count_free(node)
        count = cards_m // CARD
        taken, self._free[node] = tuple(free[:count]), free[count:]
        return taken

    def _count_free(self, node: int) -> list[int]:
        cards, pods = self._snapshot.cards, self._snapshot.pods
        if self._pods_on is None or self._cards_on is None:
            self._pods_on, self._cards_on = _rows_by(pods.node.tolist()), _rows_by(cards.node.tolist())
        free = [int(cards.index[row]) for row in self._cards_on.get(node, []) if cards.healthy[row]]
        rows = self._pods_on.get(node, [])
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


def _rows_by(keys: Sequence[int]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    return rows
