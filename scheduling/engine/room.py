"""For how many more pods of one ask a book of nodes has room, counted once and then only where something changed."""

from collections.abc import Iterable

from scheduling.engine.asks import PodAsk
from scheduling.engine.free import Limits
from scheduling.engine.nodes import NodeBook


class RoomCount:
    """`total` is right as long as `recount` is told of every node that changes, in the book or in the limits."""

    __slots__ = ("_ask", "_book", "_limits", "_on", "_pool", "total")

    def __init__(self, book: NodeBook, ask: PodAsk, pool: int, limits: Limits = ()) -> None:
        self._book, self._ask, self._pool, self._limits = book, ask, pool, limits
        self._on = dict(book.hosts(ask, pool, limits))
        self.total = sum(self._on.values())

    def counts(self, node: int) -> bool:
        """Whether the ask may use the node at all: open, of its pool and flavor."""
        table, flavor = self._book.table, self._ask.flavor
        return table.open[node] and table.pool[node] == self._pool and flavor in (-1, table.flavor[node])

    def roomy(self) -> set[int]:
        """The nodes with room for a pod at least."""
        return {node for node, room in self._on.items() if room}

    def recount(self, nodes: Iterable[int]) -> None:
        on = self._on
        for node in nodes:
            if self.counts(node):
                room = self._book.room(node, self._ask, self._limits)
                self.total += room - on.get(node, 0)
                on[node] = room
