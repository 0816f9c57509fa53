"""Running jobs as the cycle needs them: whom they are charged to, what they hold of which node. Read from columns once."""

from scheduling.engine.nodes import Free
from scheduling.engine.quota import Amount
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import NEVER


class RunTable:
    """Facts by run index, from NumPy columns into plain lists; what a run holds is added up when first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
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
        starts, limits = running.start_ms.tolist(), running.limit_ms.tolist()
        self.ends_ms = [NEVER if limit >= NEVER else start + limit for start, limit in zip(starts, limits, strict=True)]
        """By its own declared limit; NEVER without one."""
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

    def rows(self, run: int) -> range:
        """Rows of `Snapshot.pods` of a run."""
        return range(self._first[run], self._first[run + 1])

    def held(self, run: int) -> tuple[Amount, ...]:
        """What the run is charged, by column."""
        held = self._held.get(run)
        if held is None:
            totals: dict[int, int] = {}
            for row in self.rows(run):
                if self.flavor[row] >= 0:
                    totals[self.flavor[row]] = totals.get(self.flavor[row], 0) + self.cards_m[row]
                for offset, column in enumerate((self.cpu_m, self._memory, self._vram)):
                    totals[self._flavors + offset] = totals.get(self._flavors + offset, 0) + column[row]
            held = self._held[run] = tuple((column, totals[column]) for column in sorted(totals) if totals[column])
        return held

    def footprint(self, run: int) -> tuple[tuple[int, Free], ...]:
        """(node, what the run holds of it), in node order."""
        footprint = self._footprint.get(run)
        if footprint is None:
            on: dict[int, Free] = {}
            for row in self.rows(run):
                cards, cpu, memory, pods = on.get(self.node[row], (0, 0, 0, 0))
                on[self.node[row]] = (
                    cards + self.cards_m[row],
                    cpu + self.cpu_m[row],
                    memory + self._memory[row],
                    pods + 1,
                )
            footprint = self._footprint[run] = tuple(sorted(on.items()))
        return footprint

    def total_cards_m(self, run: int) -> int:
        return sum(self.cards_m[row] for row in self.rows(run))
