"""Where a previewed job could go: the engine's own choice and the other way to pack it, with what each would leave behind (SCH-11, SCH-12)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.cards import CardBook
from scheduling.engine.classes import ClassBook
from scheduling.engine.nodes import NodeBook
from scheduling.engine.opening import open_state
from scheduling.engine.placement import Placed, nodes_of, place_gang
from scheduling.engine.plan import Start
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Id, Shape, Snapshot
from scheduling.engine.starts import each_pod, placed_as
from scheduling.engine.state import State
from scheduling.engine.topology import levels_crossed, slowdown_ppm
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import TopologyMode

MOST_QUEUES: Final = 3


@dataclass(frozen=True, slots=True)
class PlacedPod:
    role: str
    index: int
    node: str
    cards: tuple[int, ...]
    cards_m: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """What another queue (`tenant/name`) of the cohort would find if it grew to its nominal: milli-cards wanted, and those on one node."""

    queue: str
    wanted_m: int
    on_one_node_m: int


@dataclass(frozen=True, slots=True)
class Place:
    """`broken` counts whole free nodes that would not be whole any more, `stranded_m` the milli-cards left free on them."""

    pods: tuple[PlacedPod, ...]
    levels_crossed: tuple[str, ...]
    slowdown_ppm: int
    broken: int
    stranded_m: int
    growth: tuple[Growth, ...]
    chosen: bool


def list_places(snapshot: Snapshot, job: Id, start: Start, policy: Policy, now_ms: int) -> tuple[Place, ...]:
    """The chosen place first, then the other way if there is one. `snapshot` has the job among its waiting ones."""
    at = snapshot.pending.ids.index(job)
    state = open_state(snapshot, policy, now_ms)
    classes = ClassBook(snapshot, state.tree.tenant, state.shares)
    job_class = classes.of(
        int(snapshot.pending.queue[at]), int(snapshot.pending.shape[at]), int(snapshot.pending.tier[at])
    )
    option = _chosen_option(snapshot, job_class.options, start)
    if option is None:
        return ()
    found = [_as_started(snapshot, option, start)]
    other = _tightest(state.usable.copy(), option, job_class.shape, job_class.pool)
    if other is not None and _counts(other) != _counts(found[0]):
        found.append(other)
    queue = int(snapshot.pending.queue[at])
    return tuple(
        _place(state, placed, queue, option, policy, chosen=number == 0) for number, placed in enumerate(found)
    )


def _chosen_option(snapshot: Snapshot, options: Sequence[Option], start: Start) -> Option | None:
    flavors = {pod.role: pod.flavor for pod in start.pods}
    for option in options:
        asked = {ask.role: snapshot.flavors[ask.flavor].id if ask.flavor >= 0 else None for ask in option.gang}
        if all(flavors.get(role) == flavor for role, flavor in asked.items()):
            return option
    return None


def _as_started(snapshot: Snapshot, option: Option, start: Start) -> Placed:
    number = {node: at for at, node in enumerate(snapshot.nodes.ids)}
    return placed_as(option.gang, start.pods, number)


def _tightest(book: NodeBook, option: Option, shape: Shape, pool: int) -> Placed | None:
    """Pod by pod on the node where it fits tightest, wherever that is; None where the job forbids that or it does not fit."""
    if shape.topology is TopologyMode.REQUIRED:
        return None
    placed: list[tuple[PodAsk, dict[int, int]]] = []
    for ask in option.gang:
        seats: dict[PodAsk, Counter[int]] = {}
        for _pod in range(ask.count):
            one = place_gang(book, (replace(ask, count=1),), Shape(roles=shape.roles), pool=pool)
            if one is None:
                return None
            [(seat, [node])] = one
            seats.setdefault(replace(seat, count=ask.count), Counter())[node] += 1
            book.add(node, seat, -1)
        placed += [(seat, dict(counts)) for seat, counts in seats.items()]
    return tuple(placed)


def _counts(placed: Placed) -> Counter[tuple[str, int]]:
    """Pods by role and node: which card of a node a share opens makes no other way."""
    found = Counter[tuple[str, int]]()
    for ask, counts in placed:
        found.update({(ask.role, node): pods for node, pods in counts.items()})
    return found


def _place(state: State, placed: Placed, queue: int, option: Option, policy: Policy, *, chosen: bool) -> Place:
    crossed = levels_crossed(state.table, nodes_of(placed))
    after = _free_after(state, placed)
    whole = [node for node in after if after[node] < state.table.cards_m[node] <= state.free.cards[node]]
    broken = [node for node in whole if after[node] > 0]
    return Place(
        pods=tuple(_pods(state.snapshot, placed)),
        levels_crossed=crossed,
        slowdown_ppm=slowdown_ppm(crossed, policy.level_slowdown_ppm),
        broken=len(broken),
        stranded_m=sum(after[node] for node in broken),
        growth=_growth(state, after, queue, option),
        chosen=chosen,
    )


def _free_after(state: State, placed: Placed) -> dict[int, int]:
    """Milli-cards free as whole cards on each node that takes work, once the pods are there."""
    book = state.free.copy()
    for ask, counts in placed:
        for node, pods in counts.items():
            book.add(node, ask, -pods)
    return {node: max(0, book.cards[node]) for node in range(len(state.table)) if state.table.open[node]}


def _pods(snapshot: Snapshot, placed: Placed) -> list[PlacedPod]:
    cards = CardBook(snapshot)
    return [
        PlacedPod(ask.role, index, snapshot.nodes.names[node], cards.take(node, ask), ask.cards_m)
        for ask, node, index in each_pod(placed)
    ]


def _growth(state: State, after: dict[int, int], queue: int, option: Option) -> tuple[Growth, ...]:
    """Queues of the same cohort that hold less than their nominal of the flavor, those with most to come first."""
    flavor = next((ask.flavor for ask in option.gang if ask.flavor >= 0), -1)
    if flavor < 0:
        return ()
    root = state.tree.path[state.snapshot.queues[queue].node][-1]
    largest = max((free for node, free in after.items() if state.table.flavor[node] == flavor), default=0)
    found = []
    for number, row in enumerate(state.snapshot.queues):
        missing = state.tree.nominal[row.node][flavor] - state.quota.at(row.node, flavor)
        if number != queue and missing > 0 and state.tree.path[row.node][-1] == root:
            found.append(Growth(row.name, missing, min(missing, largest // CARD * CARD)))
    return tuple(sorted(found, key=lambda each: (-each.wanted_m, each.queue))[:MOST_QUEUES])
