"""Running jobs as the cycle needs them: whom they are charged to, what they hold of which node. Read from columns once."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from scheduling.engine.asks import ShareHold
from scheduling.engine.free import Free, shifted
from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import CARD, NEVER


@dataclass(frozen=True, slots=True)
class Part:
    """Some pods of a run: their rows, what they are charged by column, and what they hold of which node."""

    rows: tuple[int, ...]
    amounts: tuple[Amount, ...]
    footprint: tuple[tuple[int, Free], ...]


class RunTable:
    """Facts by run index, from NumPy columns into plain lists; what a run holds is added up when first asked for.

    `shares` is what runs hold in shares of cards; no entry where a run holds none.
    """

    def __init__(self, snapshot: Snapshot, shares: Mapping[int, Sequence[ShareHold]]) -> None:
        self.shares = shares
        running, pods = snapshot.running, snapshot.pods
        leaf_of = [queue.node for queue in snapshot.queues]
        self.leaf = [leaf_of[queue] if queue >= 0 else -1 for queue in running.queue.tolist()]
        """Tree node of the run's queue; -1 for foreign occupation, which is nobody's use and left alone."""
        self.tier: list[int] = running.tier.tolist()
        self.node: list[int] = pods.node.tolist()
        self.flavor: list[int] = pods.flavor.tolist()
        self.cards_m: list[int] = pods.cards_m.tolist()
        self.cpu_m: list[int] = pods.cpu_m.tolist()
        self._memory: list[int] = pods.memory_mib.tolist()
        self._vram: list[int] = pods.vram_mib.tolist()
        self._flavors = len(snapshot.flavors)
        self.run: list[int] = pods.run.tolist()
        self._first = self._first_rows(self.run, len(running))
        self.priority: list[int] = running.priority.tolist()
        self.start_ms: list[int] = running.start_ms.tolist()
        limits = zip(self.start_ms, running.limit_ms.tolist(), strict=True)
        self.ends_ms = [NEVER if limit >= NEVER else start + limit for start, limit in limits]
        """By its own declared limit; NEVER without one."""
        self._shape: list[int] = running.shape.tolist()
        self._left: dict[int, tuple[int, ...]] = {}
        """Rows of runs that give pods up in this cycle, without those (SCH-10)."""
        self._held: dict[int, tuple[Amount, ...]] = {}
        self._footprint: dict[int, tuple[tuple[int, Free], ...]] = {}

    def _first_rows(self, run_of: list[int], runs: int) -> list[int]:
        """Where each run's pods begin, and one past the end: pods are sorted by run."""
        first = [0] * (runs + 1)
        for run in run_of:
            first[run + 1] += 1
        for run in range(runs):
            first[run + 1] += first[run]
        return first

    def __len__(self) -> int:
        return len(self.leaf)

    def rows(self, run: int) -> Sequence[int]:
        """Rows of `Snapshot.pods` of a run, without those it gives up."""
        if self._left and run in self._left:
            return self._left[run]
        return range(self._first[run], self._first[run + 1])

    def runs_of(self, shapes: Set[int]) -> bool:
        """Whether any run has one of the shapes."""
        return any(shape in shapes for shape in self._shape)

    def drop(self, run: int, rows: Sequence[int]) -> None:
        """The run gives these pods up: from now on it holds the others."""
        gone = set(rows)
        self._left[run] = tuple(row for row in self.rows(run) if row not in gone)
        self._held.pop(run, None)
        self._footprint.pop(run, None)

    def restore(self, run: int, rows: Sequence[int]) -> None:
        """It keeps them after all."""
        self._left[run] = tuple(sorted((*self.rows(run), *rows)))
        if len(self._left[run]) == self._first[run + 1] - self._first[run]:
            del self._left[run]
        self._held.pop(run, None)
        self._footprint.pop(run, None)

    def part(self, run: int, rows: tuple[int, ...]) -> Part:
        """What some of a run's pods hold."""
        return Part(rows, self._charge(rows), self._nodes(rows))

    def held(self, run: int) -> tuple[Amount, ...]:
        """What the run is charged, by column."""
        held = self._held.get(run)
        if held is None:
            held = self._held[run] = self._charge(self.rows(run))
        return held

    def _charge(self, rows: Sequence[int]) -> tuple[Amount, ...]:
        totals = [0] * (self._flavors + 3)
        for row in rows:
            if self.flavor[row] >= 0:
                totals[self.flavor[row]] += self.cards_m[row]
            totals[-3] += self.cpu_m[row]
            totals[-2] += self._memory[row]
            totals[-1] += self._vram[row]
        return tuple([entry for entry in enumerate(totals) if entry[1]])

    def footprint(self, run: int) -> tuple[tuple[int, Free], ...]:
        """(node, what the run holds of it), in node order; the cards are those it holds whole, `shares` has the others."""
        footprint = self._footprint.get(run)
        if footprint is None:
            footprint = self._footprint[run] = self._nodes(self.rows(run))
        return footprint

    def _nodes(self, rows: Sequence[int]) -> tuple[tuple[int, Free], ...]:
        on: dict[int, Free] = {}
        for row in rows:
            cards_m = self.cards_m[row]
            held = (0 if cards_m % CARD else cards_m, self.cpu_m[row], self._memory[row], 1)
            node = self.node[row]
            on[node] = shifted(on[node], held, 1) if node in on else held
        return tuple(sorted(on.items()))

    def cards_on(self, run: int) -> Iterator[tuple[int, int]]:
        """(node, milli-cards the run holds of it, shares included), in node order."""
        shares = self.shares.get(run, ())
        for node, held in self.footprint(run):
            yield node, held[0] + sum(hold.cards_m for hold in shares if hold.node == node)

    def total_cards_m(self, run: int) -> int:
        return sum(self.cards_m[self._first[run] : self._first[run + 1]])
