"""SCH-24: moves of small jobs that would free whole nodes, proposed and never made: each costs a stop, which somebody has to want.

Small is a job of one pod that holds less than its node; only preemptible ones that write checkpoints move, never production. A node is
proposed when all that is on it can go on elsewhere at once, on nodes that are in use anyway. Quota is not touched: a pod keeps its
flavor and its pool. Places that are kept for somebody, and nodes that reservations name, take nobody.

Greedy, the least cards moved first. What moves off a node does not hang on where to, and room on the others only shrinks, so a node
that cannot be cleared when it is looked at cannot be cleared later either: each is looked at once.
"""

from dataclasses import dataclass, replace

from scheduling.engine.asks import PodAsk, list_options
from scheduling.engine.candidates import CandidateBook
from scheduling.engine.cards import CardBook
from scheduling.engine.opening import open_state
from scheduling.engine.placement import Placed, give_back, place_gang, take
from scheduling.engine.plan import Move
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Id, Shape, Snapshot
from scheduling.engine.state import State
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import ReservationKind, Tier


@dataclass(frozen=True, slots=True)
class Clearing:
    """One node that would be wholly free: how many milli-cards it has, how many move off it, and the card time that its moves throw
    away (since the last checkpoints)."""

    node: Id
    cards_m: int
    moved_m: int
    lost_card_ms: int
    moves: tuple[Move, ...]


def propose_moves(
    snapshot: Snapshot, now_ms: int, *, pool: int = -1, policy: Policy = PRESETS["default"]
) -> tuple[Clearing, ...]:
    """Nodes that moves could free, cheapest first; of one pool, or of all. Pure and deterministic (SCH-22).

    The moves hold together: each target has room now, whatever the order in which they are made.
    """
    return _Search(open_state(snapshot, policy, now_ms)).run(pool)


class _Search:
    """One proposal. Works on the picture of what is free now, in which what already moved is taken on its targets."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._book, self._lost = state.free, CandidateBook(state)
        self._cards = CardBook(state.snapshot, state.runs.shares.values())
        self._on_node: dict[int, list[int]] = {}
        for run in range(len(state.runs)):
            for node, _ in state.runs.footprint(run):
                self._on_node.setdefault(node, []).append(run)
        reserved = {
            row.kind: {node for each in state.snapshot.reservations if each.kind == row.kind for node in each.nodes}
            for row in state.snapshot.reservations
        }
        self._promised = reserved.get(ReservationKind.KEPT_FOR_JOB, set())
        named = {node for nodes in reserved.values() for node in nodes}
        self._targets = {node for node in range(len(state.table)) if self._is_used(node) and node not in named}

    def _is_used(self, node: int) -> bool:
        """True where a pod more breaks no whole node: somebody stays there, or there are no cards."""
        table, leaving_ms = self._state.table, self._state.leaving_ms
        stays = any(leaving_ms[run] >= NEVER for run in self._on_node.get(node, ()))
        return table.open[node] and (stays or not table.cards_m[node])

    def run(self, pool: int) -> tuple[Clearing, ...]:
        table = self._state.table
        nodes = (node for node in self._on_node if pool in (-1, table.pool[node]) and self._may_be_cleared(node))
        found, grown = list[Clearing](), set[int]()
        for node in sorted(nodes, key=lambda node: (*self._cost(node), table.rank[node])):
            if node in grown:
                continue
            placed = self._place_all(node)
            if placed is not None:
                grown.update(target for _, entries in placed for _, counts in entries for target in counts)
                found.append(self._clearing(node, placed))
        return tuple(found)

    def _cost(self, node: int) -> tuple[int, int]:
        """(milli-cards that move, jobs that move)."""
        runs = self._on_node[node]
        return sum(self._state.runs.total_cards_m(run) for run in runs), len(runs)

    def _may_be_cleared(self, node: int) -> bool:
        table = self._state.table
        if not table.open[node] or not table.cards_m[node] or node in self._promised:
            return False
        return all(self._may_move(run, node) for run in self._on_node[node])

    def _may_move(self, run: int, node: int) -> bool:
        state, running = self._state, self._state.snapshot.running
        runs = state.runs
        if runs.leaf[run] < 0 or runs.tier[run] == Tier.PRODUCTION or state.leaving_ms[run] < NEVER:
            return False
        roles = self._shape(run).roles
        alone = len(roles) == 1 and roles[0].in_gang and roles[0].replicas == 1 == len(runs.rows(run))
        return alone and bool(running.checkpoints[run]) and runs.total_cards_m(run) < state.table.cards_m[node]

    def _shape(self, run: int) -> Shape:
        snapshot = self._state.snapshot
        return snapshot.shapes[int(snapshot.running.shape[run])]

    def _place_all(self, node: int) -> list[tuple[int, Placed]] | None:
        """(run, place) of everything on the node, the largest first, taken in the book; None and nothing changed where one has none.

        From then on the node is no target.
        """
        placed: list[tuple[int, Placed]] = []
        was_target = node in self._targets
        self._targets.discard(node)
        for run in sorted(self._on_node[node], key=lambda run: (*(-part for part in self._held(run)), run)):
            ask = self._ask(run)
            found = None if ask is None else self._place(run, ask)
            if found is None:
                for _, entries in placed:
                    for each, counts in entries:
                        give_back(self._book, each, counts)
                self._targets.update([node] if was_target else [])
                return None
            for each, counts in found:
                take(self._book, each, counts)
            placed.append((run, found))
        return placed

    def _place(self, run: int, ask: PodAsk) -> Placed | None:
        table, row = self._state.table, self._state.runs.rows(run)[0]
        pool = table.pool[self._state.runs.node[row]]
        return place_gang(self._book, [ask], self._shape(run), pool=pool, only=self._targets)

    def _held(self, run: int) -> tuple[int, int, int]:
        """Milli-cards, millicores, MiB of a run of one pod."""
        ((_, (_, cpu_m, memory_mib, _)),) = self._state.runs.footprint(run)
        return self._state.runs.total_cards_m(run), cpu_m, memory_mib

    def _ask(self, run: int) -> PodAsk | None:
        """What the run's pod would ask for elsewhere: what it holds, of the flavor that it has. None where its job says otherwise."""
        state, runs = self._state, self._state.runs
        row = runs.rows(run)[0]
        pool, tenant = state.table.pool[runs.node[row]], state.tree.tenant[runs.leaf[run]]
        cards_m, cpu_m, memory_mib = self._held(run)
        for option in list_options(self._shape(run), pool, state.snapshot.flavors, tenant):
            (ask,) = option.gang
            if (ask.flavor, ask.cards_m) == (runs.flavor[row], cards_m):
                return replace(ask, cpu_m=cpu_m, memory_mib=memory_mib)
        return None

    def _clearing(self, node: int, placed: list[tuple[int, Placed]]) -> Clearing:
        snapshot, moves = self._state.snapshot, list[Move]()
        for run, entries in placed:
            ((ask, counts),) = entries
            (target,) = counts
            row = self._state.runs.rows(run)[0]
            moves.append(
                Move(
                    job=snapshot.running.ids[run],
                    role=self._shape(run).roles[0].name,
                    index=int(snapshot.pods.rank[row]),
                    source=snapshot.nodes.ids[node],
                    target=snapshot.nodes.ids[target],
                    cards=self._cards.take(target, ask),
                )
            )
        return Clearing(
            node=snapshot.nodes.ids[node],
            cards_m=self._state.table.cards_m[node],
            moved_m=self._cost(node)[0],
            lost_card_ms=sum(self._lost.lost_card_ms(run) for run, _ in placed),
            moves=tuple(moves),
        )
