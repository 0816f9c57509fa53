"""Who holds what a waiting job lacks (SCH-21). Names are printed, or not, by whoever shows the reason."""

from collections.abc import Callable, Iterable, Iterator

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.idle import IdleBook
from scheduling.engine.impossible import keys_of
from scheduling.engine.plan import Holder
from scheduling.engine.state import State
from scheduling.engine.units import NEVER

MOST_HOLDERS = 5


class HolderBook:
    """Answers about the end of a cycle: holders of quota by queue, holders of nodes by job."""

    def __init__(self, state: State, idle: IdleBook) -> None:
        self._state, self._idle = state, idle
        self._rows: dict[int, list[int]] | None = None
        self._by_free: dict[tuple[int, int], list[int]] = {}

    def of_tenant(self, job_class: JobClass, column: int) -> tuple[Holder, ...]:
        """Queues of the same tenant whose use counts against the class: its tier and those above it."""
        return self._of_queues(column, job_class.tier, lambda node: self._state.tree.tenant[node] == job_class.tenant)

    def of_tree(self, job_class: JobClass, column: int) -> tuple[Holder, ...]:
        """Queues under the same root, largest use first."""
        root = self._state.tree.path[job_class.leaf][-1]
        return self._of_queues(column, 0, lambda node: self._state.tree.path[node][-1] == root)

    def of_queue(self, job_class: JobClass) -> tuple[Holder, ...]:
        """The job's own queue, with all the cards it holds or is promised."""
        queue = self._state.snapshot.queues[job_class.queue]
        held_m = sum(self._state.quota_after.row(job_class.leaf)[: len(self._state.snapshot.flavors)])
        return (Holder(queue.tenant, queue.name, None, {"gpu": held_m}),) if held_m else ()

    def _of_queues(self, column: int, level: int, counts: Callable[[int], bool]) -> tuple[Holder, ...]:
        state = self._state
        key = keys_of(state.snapshot, column)[0]
        held = [
            (-state.quota.at(queue.node, column, level), place)
            for place, queue in enumerate(state.snapshot.queues)
            if counts(queue.node) and state.quota.at(queue.node, column, level) > 0
        ]
        queues = state.snapshot.queues
        return tuple(
            Holder(queues[place].tenant, queues[place].name, None, {key: -amount})
            for amount, place in sorted(held)[:MOST_HOLDERS]
        )

    def on_nodes(self, job_class: JobClass, option: Option) -> tuple[Holder, ...]:
        """Jobs on the nodes that are nearest to having room for the pods still missing: of the largest role that lacks any."""
        asks = sorted(option.gang, key=lambda each: (-each.cards_m, -each.cpu_m, each.role))
        missing = [(ask, ask.count - self._idle.slots(job_class.pool, ask)[0]) for ask in asks]
        # Where every role has room by itself, they lack it together: more of any would help.
        together = [] if len(asks) < 2 else [(ask, 1) for ask in asks]
        for ask, pods in (*missing, *together):
            held = self._held_on(self._nearest(job_class.pool, ask, pods), ask) if pods > 0 else {}
            if held:
                largest = sorted(held, key=lambda run: (-held[run], run))[:MOST_HOLDERS]
                return tuple(self._holder(run, {"gpu" if ask.cards_m else "cpu": held[run]}) for run in largest)
        return ()

    def _held_on(self, nodes: Iterable[int], ask: PodAsk) -> dict[int, int]:
        """What of the nodes each run holds, of cards or (CPU-only asks) of CPU."""
        runs = self._state.runs
        amount_of = runs.cards_m if ask.cards_m else runs.cpu_m
        held: dict[int, int] = {}
        for node in nodes:
            for row in self._rows_on(node):
                run = runs.run[row]
                held[run] = held.get(run, 0) + amount_of[row]
        return held

    def _nearest(self, pool: int, ask: PodAsk, pods: int) -> Iterator[int]:
        """Nodes that could hold more pods than they have room for, the least short of one first, until so many more would fit."""
        state = self._state
        for node in self._fullest_last(pool, ask):
            gain = state.table.pods_when_empty(node, ask) - max(0, state.free.room(node, ask))
            if gain > 0:
                yield node
                pods -= gain
                if pods <= 0:
                    return

    def _fullest_last(self, pool: int, ask: PodAsk) -> list[int]:
        """Open nodes of the ask's flavor (CPU-only asks: of the pool), most free of what it is short of first."""
        key = (-1, ask.flavor) if ask.cards_m else (pool, -1)
        found = self._by_free.get(key)
        if found is None:
            rank, free = self._state.table.rank, self._state.free.cards if ask.cards_m else self._state.free.cpu
            nodes = self._idle.nodes(pool, ask.flavor)
            found = self._by_free[key] = sorted(nodes, key=lambda node: (-free[node], rank[node]))
        return found

    def _holder(self, run: int, amounts: dict[str, int]) -> Holder:
        snapshot = self._state.snapshot
        queue = int(snapshot.running.queue[run])
        tenant, name = ("", "") if queue < 0 else (snapshot.queues[queue].tenant, snapshot.queues[queue].name)
        job = snapshot.running.ids[snapshot.running.parts.get(run, run)]
        return Holder(tenant, name, job, amounts, self._until(run))

    def _until(self, run: int) -> int | None:
        """When the run ends by notice or by its own limit; None where nothing says so."""
        ends = min(self._state.leaving_ms[run], self._state.runs.ends_ms[run])
        return None if ends >= NEVER else ends

    def _rows_on(self, node: int) -> list[int]:
        if self._rows is None:
            self._rows = {}
            for row, at in enumerate(self._state.runs.node):
                self._rows.setdefault(at, []).append(row)
        return self._rows.get(node, [])
