"""Running jobs as the cycle needs them: whom they are charged to, what they hold of which node. Read from columns once."""

from scheduling.engine.nodes import Free, shifted
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
        self.priority: list[int] = running.priority.tolist()
        self.start_ms: list[int] = running.start_ms.tolist()
        limits = zip(self.start_ms, running.limit_ms.tolist(), strict=True)
        self.ends_ms = [NEVER if limit >= NEVER else start + limit for start, limit in limits]
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
            totals = [0] * (self._flavors + 3)
            for row in self.rows(run):
                if self.flavor[row] >= 0:
                    totals[self.flavor[row]] += self.cards_m[row]
                totals[-3] += self.cpu_m[row]
                totals[-2] += self._memory[row]
                totals[-1] += self._vram[row]
            held = self._held[run] = tuple([entry for entry in enumerate(totals) if entry[1]])
        return held

    def footprint(self, run: int) -> tuple[tuple[int, Free], ...]:
        """(node, what the run holds of it), in node order."""
        footprint = self._footprint.get(run)
        if footprint is None:
            on: dict[int, Free] = {}
            for row in self.rows(run):
                held = (self.cards_m[row], self.cpu_m[row], self._memory[row], 1)
                node = self.node[row]
                on[node] = shifted(on[node], held, 1) if node in on else held
            footprint = self._footprint[run] = tuple(sorted(on.items()))
        return footprint

    def total_cards_m(self, run: int) -> int:
        return sum(self.cards_m[self._first[run] : self._first[run + 1]])
