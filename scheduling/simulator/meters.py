"""What is measured while a trace is replayed: cards held, borrowed, free and fragmented, each times the time it lasted."""

from dataclasses import dataclass, field

import numpy as np

from scheduling.engine.snapshot import I64
from scheduling.engine.units import CARD
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.fragmentation import FragmentationMeter
from scheduling.simulator.trace import Trace

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Integrals:
    """Milli-cards x ms up to some instant."""

    held: int
    borrowed: int
    free: int
    fragmented: float


@dataclass(slots=True)
class Meters:
    """Integrals in milli-cards x ms since the first arrival; `steps` are (percent requested, milli-cards free) per arrival."""

    cluster: Cluster
    trace: Trace
    now_ms: int = -1
    held_m: int = 0
    borrowed_m: int = 0
    held_integral: int = 0
    borrowed_integral: int = 0
    free_integral: int = 0
    fragmented_integral: float = 0.0
    at_last_end: "Integrals | None" = None
    steps: list[tuple[int, int]] = field(default_factory=list)
    held_by_day: dict[int, int] = field(default_factory=dict)
    """What was held, in milli-cards x ms, by day of the trace from 0."""
    capacity_m: int = field(init=False)
    parts: FragmentationMeter = field(init=False)
    _requested_m: int = 0
    _cards_m: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.parts = FragmentationMeter(self.cluster, self.trace)
        cards = self.cluster.cards
        per_card = np.array([flavor.per_card for flavor in self.cluster.flavors], dtype=np.int64)
        self.capacity_m = int(per_card[cards.flavor[cards.healthy]].sum()) * CARD
        self._cards_m = self.trace.cards_m.tolist()

    def advance(self, now_ms: int) -> None:
        """Let time pass with what is held now. The clock starts with the first call."""
        if self.now_ms >= 0:
            passed = now_ms - self.now_ms
            self.held_integral += self.held_m * passed
            self._spread_over_days(now_ms)
            self.borrowed_integral += self.borrowed_m * passed
            self.free_integral += self.parts.free_m * passed
            self.fragmented_integral += self.parts.fragmented_m * passed
        self.now_ms = now_ms

    def _spread_over_days(self, now_ms: int) -> None:
        for day in range(self.now_ms // DAY_MS, now_ms // DAY_MS + 1):
            part_ms = min(now_ms, (day + 1) * DAY_MS) - max(self.now_ms, day * DAY_MS)
            self.held_by_day[day] = self.held_by_day.get(day, 0) + self.held_m * part_ms

    def mark(self) -> None:
        """A job ended: the window of the metrics reaches at least to now."""
        self.at_last_end = self.integrals()

    def integrals(self) -> Integrals:
        """All sums up to now."""
        return Integrals(self.held_integral, self.borrowed_integral, self.free_integral, self.fragmented_integral)

    def take(self, nodes: I64, cards_m: I64, cpu_m: I64, borrowed_m: int) -> None:
        """Pods come, or go with amounts below 0."""
        self.parts.take(nodes, cards_m, cpu_m)
        self.held_m += int(cards_m.sum())
        self.borrowed_m += borrowed_m

    def take_share(self, node: int, cpu_m: int, before_m: int, after_m: int) -> None:
        """A pod comes on a part of a card, or goes: what is free on that card before and after."""
        self.parts.take_share(node, cpu_m, before_m, after_m)
        self.held_m += before_m - after_m

    def borrow(self, more_m: int) -> None:
        """The own/borrowed split of running jobs changed."""
        self.borrowed_m += more_m

    def step(self, arrived: list[int]) -> None:
        """Note what is free after each arrival, by the rounded percentage of capacity requested so far (METHODS A2)."""
        for job in arrived:
            self._requested_m += self._cards_m[job]
            if self.capacity_m:
                percent = (200 * self._requested_m + self.capacity_m) // (2 * self.capacity_m)
                self.steps.append((percent, self.parts.free_m))
