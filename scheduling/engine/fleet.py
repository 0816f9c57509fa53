"""What is free on every node, card by card, as columns: where single pods, whole cards or shares, could be put (SCH-12, SCH-13).

Rows are in the order that breaks ties. `log` names the node of every change, so that a reader knows which rows to look at again.
"""

from typing import NamedTuple

import numpy as np

from scheduling.engine.snapshot import I64, Flags
from scheduling.engine.units import CARD

NOBODY = -1
CLOSED = -1


class OnePod(NamedTuple):
    """One pod to place. A pod without cards goes to any node of its pool; a share sits with its own tenant's only (SCH-13)."""

    cards_m: int
    cpu_m: int
    memory_mib: int
    flavors: tuple[int, ...]
    pool: int
    tenant: int

    @property
    def is_share(self) -> bool:
        return 0 < self.cards_m < CARD


class Spot(NamedTuple):
    """A node's row and the indexes of the cards that a pod gets there."""

    node: int
    cards: tuple[int, ...]


class Options(NamedTuple):
    """Ways to place one pod: rows of the fleet, and the card that a share would go to (-1: whole cards, or none)."""

    node: I64
    card: I64


class Fleet:
    """`cards_m[node, card]` is free milli-cards, 0 where there is no such card or it is out of service. The arrays become its own.

    `pool` is CLOSED for nodes that take nothing. Nodes of one `state` are alike in all that is free: one answer serves for all.
    """

    def __init__(self, flavor: I64, pool: I64, cpu_m: I64, memory_mib: I64, pods: I64, cards_m: I64) -> None:
        self.flavor, self.pool = flavor, pool
        self.cpu_m, self.memory_mib, self.pods = cpu_m, memory_mib, pods
        self.cards_m = cards_m
        self.tenant: I64 = np.full(cards_m.shape, NOBODY, dtype=np.int64)
        self.log: list[int] = []
        self.state: I64 = np.zeros(len(flavor), dtype=np.int64)
        self._states: dict[bytes, int] = {}
        for node in range(len(flavor)):
            self._renumber(node)

    def __len__(self) -> int:
        return len(self.flavor)

    def accepting(self, pod: OnePod) -> Flags:
        """The nodes that the pod may use at all."""
        accepted: Flags = self.pool != CLOSED
        return accepted & (np.isin(self.flavor, pod.flavors) if pod.cards_m else self.pool == pod.pool)

    def find_room(self, pod: OnePod, nodes: I64) -> Options:
        """Every option on `nodes`, by node, then card; of the wholly free cards of a node only the first."""
        room = (self.pods[nodes] > 0) & (self.cpu_m[nodes] >= pod.cpu_m) & (self.memory_mib[nodes] >= pod.memory_mib)
        idle = self.cards_m[nodes] == CARD
        if not pod.is_share:
            if pod.cards_m:
                room &= np.count_nonzero(idle, axis=1) * CARD >= pod.cards_m
            found = nodes[room]
            return Options(found, np.full(len(found), -1, dtype=np.int64))
        fits = room[:, None] & self.cards_with_room(pod, nodes)
        fits &= ~idle | (np.cumsum(idle, axis=1) == 1)
        row, card = np.nonzero(fits)
        return Options(nodes[row], card)

    def cards_with_room(self, pod: OnePod, nodes: I64) -> Flags:
        """By node and card: whether the share has room there, beside nobody or its own tenant."""
        tenant = self.tenant[nodes]
        room: Flags = (self.cards_m[nodes] >= pod.cards_m) & ((tenant == NOBODY) | (tenant == pod.tenant))
        return room

    def spot(self, pod: OnePod, node: int, card: int) -> Spot:
        """The cards of an option: the named one, or the lowest that are wholly free."""
        if card >= 0 or not pod.cards_m:
            return Spot(node, (card,) if card >= 0 else ())
        idle = np.flatnonzero(self.cards_m[node] == CARD)[: pod.cards_m // CARD]
        return Spot(node, tuple(idle.tolist()))

    def take(self, pod: OnePod, spot: Spot) -> None:
        self._move(pod, spot, 1)

    def give_back(self, pod: OnePod, spot: Spot) -> None:
        self._move(pod, spot, -1)

    def _move(self, pod: OnePod, spot: Spot, sign: int) -> None:
        node = spot.node
        self.cpu_m[node] -= sign * pod.cpu_m
        self.memory_mib[node] -= sign * pod.memory_mib
        self.pods[node] -= sign
        for card in spot.cards:
            self.cards_m[node, card] -= sign * min(CARD, pod.cards_m)
            shared = pod.is_share and self.cards_m[node, card] < CARD
            self.tenant[node, card] = pod.tenant if shared else NOBODY
        self._renumber(node)
        self.log.append(node)

    def _renumber(self, node: int) -> None:
        facts = (self.flavor[node], self.pool[node], self.cpu_m[node], self.memory_mib[node], self.pods[node] > 0)
        key = np.array(facts, dtype=np.int64).tobytes() + self.cards_m[node].tobytes() + self.tenant[node].tobytes()
        self.state[node] = self._states.setdefault(key, len(self._states))
