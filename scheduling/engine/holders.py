"""Who holds what a waiting job lacks (SCH-21). Names are printed, or not, by whoever shows the reason."""

from collections.abc import Callable

from scheduling.engine.asks import Option
from scheduling.engine.classes import JobClass
from scheduling.engine.nodes import NodeBook
from scheduling.engine.plan import Holder
from scheduling.engine.state import State
from scheduling.engine.units import NEVER

MOST_HOLDERS = 5


class HolderBook:
    """Answers about the end of a cycle: holders of quota by queue, holders of nodes by job."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._runs_on: dict[int, list[int]] | None = None

    def of_tenant(self, job_class: JobClass, column: int) -> tuple[Holder, ...]:
        """Queues of the same tenant whose use counts against the class: its tier and those above it."""
        return self._of_queues(column, job_class.tier, lambda node: self._state.tree.tenant[node] == job_class.tenant)

    def of_tree(self, job_class: JobClass, column: int) -> tuple[Holder, ...]:
        """Queues under the same root, largest use first."""
        root = self._state.tree.path[job_class.leaf][-1]
        return self._of_queues(column, 0, lambda node: self._state.tree.path[node][-1] == root)

    def _of_queues(self, column: int, level: int, counts: Callable[[int], bool]) -> tuple[Holder, ...]:
        state = self._state
        key = self._key(column)
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

    def _key(self, column: int) -> str:
        flavors = len(self._state.snapshot.flavors)
        return "gpu" if column < flavors else ("cpu", "memory_gib", "vram_gib")[column - flavors]

    def on_nodes(self, job_class: JobClass, option: Option, book: NodeBook) -> tuple[Holder, ...]:
        """Jobs on the nodes that are nearest to having room for the pods still missing."""
        ask = max(option.gang, key=lambda each: (each.cards_m, each.cpu_m))
        state, table = self._state, self._state.table
        need = ask.cards_m or ask.cpu_m
        free = book.cards if ask.cards_m else book.cpu
        total = table.cards_m if ask.cards_m else table.cpu_m
        missing, near = ask.count, []
        for node in table.by_rank:
            if not table.open[node] or table.pool[node] != job_class.pool or ask.flavor not in (-1, table.flavor[node]):
                continue
            room = book.room(node, ask)
            missing -= room
            if total[node] >= need and not room:
                near.append((need - free[node], table.rank[node], node))
        nodes = [node for _, _, node in sorted(near)[: max(0, missing)]]
        return self._runs_as_holders(nodes, key="gpu" if ask.cards_m else "cpu", state=state)

    def _runs_as_holders(self, nodes: list[int], *, key: str, state: State) -> tuple[Holder, ...]:
        pods, running = state.snapshot.pods, state.snapshot.running
        amount = pods.cards_m if key == "gpu" else pods.cpu_m
        held: dict[int, int] = {}
        for node in nodes:
            for row in self._rows_on(node):
                run = int(pods.run[row])
                held[run] = held.get(run, 0) + int(amount[row])
        holders = []
        for run in sorted(held, key=lambda each: (-held[each], each))[:MOST_HOLDERS]:
            queue = int(running.queue[run])
            tenant, name = (
                ("", "") if queue < 0 else (state.snapshot.queues[queue].tenant, state.snapshot.queues[queue].name)
            )
            holders.append(Holder(tenant, name, running.ids[run], {key: held[run]}, self._until(run)))
        return tuple(holders)

    def _until(self, run: int) -> int | None:
        """When the run ends by notice or by its own limit; None where nothing says so."""
        running, state = self._state.snapshot.running, self._state
        limit = int(running.limit_ms[run])
        ends = min(state.leaving_ms[run], NEVER if limit >= NEVER else int(running.start_ms[run]) + limit)
        return None if ends >= NEVER else ends

    def _rows_on(self, node: int) -> list[int]:
        if self._runs_on is None:
            self._runs_on = {}
            for row, at in enumerate(self._state.snapshot.pods.node.tolist()):
                self._runs_on.setdefault(at, []).append(row)
        return self._runs_on.get(node, [])
