"""SCH-27: where to make room for one job, given who may lose its turn: node by node, where least is taken.

On a node the weakest claims leave first. Where that is not enough and the policy moves runs, single-pod ones whose own turn is not
over go on elsewhere, on cards that are idle now. Greedy, then a reverse pass lets stay whoever proved unnecessary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.free import Free, shifted
from scheduling.engine.placement import Placed, place_gang
from scheduling.engine.service import Turn
from scheduling.engine.state import Moved, State
from scheduling.engine.units import NEVER

MOST_TRIES: Final = 256
"""How many times room for one more pod is made before the job gives up."""


@dataclass(frozen=True, slots=True)
class _Clearing:
    """One node that takes one more pod once `leavers` have gone and `movers` go on elsewhere. `cost`: smaller is better."""

    node: int
    leavers: tuple[int, ...]
    movers: tuple[Moved, ...]
    cost: tuple[int, ...]


class TurnSearch:
    """One job's search in the picture of *after*, which it leaves as it was."""

    def __init__(
        self,
        state: State,
        job_class: JobClass,
        option: Option,
        on_nodes: Mapping[int, Sequence[int]],
        may_lose: Callable[[int], bool],
        turn_of_run: Callable[[int], Turn],
    ) -> None:
        self._state, self._job_class, self._option = state, job_class, option
        self._on_nodes, self._may_lose, self._turn_of_run = on_nodes, may_lose, turn_of_run
        self._largest = max(option.gang, key=lambda ask: (ask.cards_m, ask.cpu_m))
        self._leavers: list[int] = []
        self._movers: list[Moved] = []
        self._cleared: set[int] = set()
        """Nodes that nobody is moved to: the job goes there."""

    def run(self) -> tuple[list[int], list[Moved], Placed] | None:
        """Who leaves, who moves, and the place; None where that cannot help."""
        placed, useless = self._place(), set[int]()
        for _ in range(MOST_TRIES):
            if placed is not None:
                break
            found = self._cheapest(useless)
            if found is None:
                break
            room = self._state.after.room(found.node, self._largest)
            self._apply(found)
            if self._state.after.room(found.node, self._largest) == room:
                useless.add(found.node)
            placed = self._place()
        if placed is not None:
            placed = self._drop_unneeded(placed)
        self._put_back()
        return None if placed is None or not (self._leavers or self._movers) else (self._leavers, self._movers, placed)

    def _place(self) -> Placed | None:
        state, job_class, option = self._state, self._job_class, self._option
        if not state.quota_after.allows(job_class.leaf, option.amounts):
            return None
        limits = state.limits_for(job_class, NEVER)
        return place_gang(state.after, option.gang, job_class.shape, pool=job_class.pool, limits=limits)

    def _cheapest(self, useless: set[int]) -> _Clearing | None:
        nodes = (node for node in self._on_nodes if node not in useless)
        found = [clearing for clearing in map(self._clear, nodes) if clearing is not None]
        return min(found, key=lambda clearing: clearing.cost, default=None)

    def _clear(self, node: int) -> _Clearing | None:
        """How the node could take one more pod of the job's largest role; None where it cannot."""
        state, table, ask = self._state, self._state.table, self._largest
        if (
            not table.open[node]
            or table.pool[node] != self._job_class.pool
            or ask.flavor not in (-1, table.flavor[node])
        ):
            return None
        pods = state.after.room(node, ask) + 1
        if pods > table.pods_when_empty(node, ask):
            return None
        want = (ask.cards_m * pods, ask.cpu_m * pods + table.headroom[node], ask.memory_mib * pods, pods)
        here = [run for run in self._on_nodes[node] if state.leaving_ms[run] >= NEVER and run not in self._leavers]
        weakest_first = sorted((run for run in here if self._may_lose(run)), key=self._turn_of_run, reverse=True)
        free, leavers = self._let_go(node, state.after.free(node), want, weakest_first)
        movers: tuple[Moved, ...] = ()
        if not _enough(free, want) and state.policy.moves:
            free, movers = self._move_away(node, free, want, [run for run in here if run not in leavers])
        if not _enough(free, want) or not (leavers or movers):
            return None
        for run in reversed(leavers):
            without = shifted(free, self._held(run, node), -1)
            if _enough(without, want) and len(leavers) + len(movers) > 1:
                leavers.remove(run)
                free = without
        strongest = min((self._turn_of_run(run) for run in leavers), default=())
        taken_m = sum(state.runs.total_cards_m(run) for run in (*leavers, *(moved.run for moved in movers)))
        cost = (len(leavers) > 0, *(-part for part in strongest), taken_m, table.rank[node])
        return _Clearing(node, tuple(leavers), movers, cost)

    def _let_go(self, node: int, free: Free, want: Free, runs: Sequence[int]) -> tuple[Free, list[int]]:
        chosen = []
        for run in runs:
            if _enough(free, want):
                break
            chosen.append(run)
            free = shifted(free, self._held(run, node), 1)
        return free, chosen

    def _move_away(self, node: int, free: Free, want: Free, runs: Sequence[int]) -> tuple[Free, tuple[Moved, ...]]:
        """The smallest first, each to the tightest node where it fits now and that is in use anyway."""
        state, moved, taken = self._state, list[Moved](), dict[int, Free]()
        for run in sorted(runs, key=lambda run: (state.runs.total_cards_m(run), self._turn_of_run(run), run)):
            if _enough(free, want):
                break
            if len(state.runs.rows(run)) != 1 or any(run == other.run for other in self._movers):
                continue
            held = self._held(run, node)
            target = self._target(node, run, held, taken)
            if target >= 0:
                taken[target] = shifted(taken.get(target, (0, 0, 0, 0)), held, 1)
                moved.append(Moved(run, node, target))
                free = shifted(free, held, 1)
        return free, tuple(moved)

    def _target(self, source: int, run: int, held: Free, taken: Mapping[int, Free]) -> int:
        """The tightest node in use where the run fits now and after; -1 for none."""
        state, table = self._state, self._state.table
        row = state.runs.rows(run)[0]
        ask = PodAsk("", 1, state.runs.flavor[row], held[0], held[1], held[2], 0, in_gang=True)
        for node, _ in state.usable.hosts(ask, table.pool[source]):
            if node == source or node in self._cleared or state.usable.cards[node] == table.cards_m[node]:
                continue
            used = taken.get(node, (0, 0, 0, 0))
            if all(_enough(shifted(book.free(node), used, -1), held) for book in (state.usable, state.after)):
                return node
        return -1

    def _held(self, run: int, node: int) -> Free:
        return dict(self._state.runs.footprint(run))[node]

    def _apply(self, clearing: _Clearing) -> None:
        state = self._state
        for run in clearing.leavers:
            state.vacate(run, state.after, state.quota_after)
            self._leavers.append(run)
        for moved in clearing.movers:
            state.shift_moved(moved)
            self._movers.append(moved)
        self._cleared.add(clearing.node)

    def _drop_unneeded(self, placed: Placed) -> Placed:
        state = self._state
        for run in reversed(self._leavers[:-1]):
            state.vacate(run, state.after, state.quota_after, -1)
            again = self._place()
            if again is None:
                state.vacate(run, state.after, state.quota_after)
            else:
                self._leavers.remove(run)
                placed = again
        return placed

    def _put_back(self) -> None:
        state = self._state
        for moved in reversed(self._movers):
            state.shift_moved(moved, -1)
        for run in reversed(self._leavers):
            state.vacate(run, state.after, state.quota_after, -1)


def _enough(free: Free, want: Free) -> bool:
    return free[0] >= want[0] and free[1] >= want[1] and free[2] >= want[2] and free[3] >= want[3]
