"""SCH-12: what the free part of a node is good for, given a mix of demand. Columns over many pictures of nodes, integers only.

A card's free part is fragmented for a kind of pod that no longer fits on it; FGD (Weng et al., USENIX ATC '23) weighs that by how
often each kind is asked for. `fragmented` is their measure as published (CPU counts, memory does not); `reach` and `fill` are its
parts by kind, which the placement score is made of (`packing`).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scheduling.engine.snapshot import I64, Flags
from scheduling.engine.units import CARD, UNLIMITED

PUBLISHED_COVER_PPM = 950_000
"""FGD looks at the kinds asked for most, until they are this share of all pods."""
FRACTION_BITS = 20
"""Ratios of an ask's cards to its CPU or memory are kept as integers shifted by this."""
MOST_CARDS_M, MOST_OF_A_NODE = 128 * CARD, 1 << 26
"""More cards, millicores or MiB than a node has; products of both with the shift stay inside int64."""


class PodKind(NamedTuple):
    """What a pod asks for: milli-cards (below CARD a share of one card), CPU, memory, and the flavors it accepts."""

    cards_m: int
    cpu_m: int
    memory_mib: int
    flavors: tuple[int, ...]


class Pictures(NamedTuple):
    """Nodes as they are, or as they would be: one row each. The last two have a column for every size of the mix.

    `usable_m` is the free part of cards that still take one pod of the size, `fitting_m` what pods of that size alone can take.
    """

    flavor: I64
    cpu_m: I64
    memory_mib: I64
    free_m: I64
    usable_m: I64
    fitting_m: I64


class DemandMix:
    """Kinds of pods that want cards and how often they are asked for; `pods` also counts those that want none."""

    def __init__(self, asked: Mapping[PodKind, int], flavors: int, cover_ppm: int = PUBLISHED_COVER_PPM) -> None:
        kept = _most_asked(asked, cover_ppm)
        self.pods = sum(count for _, count in kept)
        with_cards = [(kind, count) for kind, count in kept if kind.cards_m]
        kinds = [kind for kind, _ in with_cards]
        self.counts = _column([count for _, count in with_cards])
        self.asked_m = _column([kind.cards_m for kind in kinds])
        self.cpu_m = _column([kind.cpu_m for kind in kinds])
        self.memory_mib = _column([kind.memory_mib for kind in kinds])
        self.accepts = np.zeros((flavors + 1, len(kinds)), dtype=np.bool_)
        for row, kind in enumerate(kinds):
            self.accepts[list(kind.flavors), row] = True
        self.sizes = np.unique(np.append(np.minimum(self.asked_m, CARD), CARD))
        self.size = np.searchsorted(self.sizes, np.minimum(self.asked_m, CARD))
        free_m = np.arange(CARD + 1, dtype=np.int64)[:, None]
        self.usable_of = np.where(free_m >= self.sizes, free_m, 0)
        """By free milli-cards of a card and size: what of it one pod of the size could start on."""
        self.fitting_of = free_m // self.sizes * self.sizes
        self._several = np.flatnonzero(self.asked_m > CARD)
        self._per_cpu = self._cards_per(self.cpu_m)
        self._per_memory = self._cards_per(self.memory_mib)

    def _cards_per(self, unit: I64) -> tuple[I64, I64]:
        """By kind: milli-cards for each millicore or MiB that it asks for, shifted; and no bound where it asks for none."""
        shifted = np.minimum(self.asked_m, MOST_CARDS_M) << FRACTION_BITS
        return np.where(unit > 0, shifted // np.maximum(unit, 1), 0), np.where(unit > 0, 0, UNLIMITED)

    def fragmented(self, nodes: Pictures) -> I64:
        """FGD's fragmentation of each node, in milli-cards x `pods`: free cards that a kind cannot use, summed over pods."""
        usable_m: I64 = nodes.usable_m.take(self.size, axis=1)
        usable_m *= self._can_start(nodes, usable_m)
        reached: I64 = usable_m @ self.counts
        return nodes.free_m * self.pods - reached

    def reach_and_fill(self, nodes: Pictures) -> tuple[I64, I64]:
        """Of each node, summed over pods: free milli-cards that a kind could start on, and those that it could fill.

        The first are those of cards that take one pod of the kind, 0 where flavor, CPU or memory let none start; the second
        what pods of the kind alone could take before cards, CPU or memory run out.
        """
        reached_m: I64 = nodes.usable_m.take(self.size, axis=1)
        reached_m *= self._can_start(nodes, reached_m) & (nodes.memory_mib[:, None] >= self.memory_mib)
        filled_m: I64 = nodes.fitting_m.take(self.size, axis=1)
        if len(self._several):
            filled_m[:, self._several] -= filled_m[:, self._several] % self.asked_m[self._several]
        for free, (per_unit, boundless) in ((nodes.cpu_m, self._per_cpu), (nodes.memory_mib, self._per_memory)):
            room = np.minimum(free, MOST_OF_A_NODE)[:, None] * per_unit
            room >>= FRACTION_BITS
            room += boundless
            np.minimum(filled_m, room, out=filled_m)
        filled_m *= self.accepts.take(nodes.flavor, axis=0)
        return reached_m @ self.counts, filled_m @ self.counts

    def _can_start(self, nodes: Pictures, usable_m: I64) -> Flags:
        """By node and kind: whether flavor, CPU and cards let one pod start. `usable_m` is by kind."""
        can: Flags = self.accepts.take(nodes.flavor, axis=0)
        can &= nodes.cpu_m[:, None] >= self.cpu_m
        can &= usable_m >= self.asked_m
        return can


def _most_asked(asked: Mapping[PodKind, int], cover_ppm: int) -> list[tuple[PodKind, int]]:
    """Kinds by number of pods, then as tuples, until they cover that share of all."""
    wanted = sum(asked.values()) * cover_ppm
    kept: list[tuple[PodKind, int]] = []
    seen = 0
    for kind, count in sorted(asked.items(), key=lambda item: (-item[1], item[0])):
        if seen * 1_000_000 >= wanted:
            break
        kept.append((kind, count))
        seen += count
    return kept


def _column(values: list[int]) -> I64:
    return np.array(values, dtype=np.int64)
