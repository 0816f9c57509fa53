"""SCH-09, SCH-11, SCH-12: nodes for every pod of a gang, or none at all. Works on a `NodeBook`, which it leaves as it was."""

from collections.abc import Iterator, Sequence, Set

from scheduling.engine.asks import PodAsk
from scheduling.engine.data_near import nearest_first
from scheduling.engine.free import Leftover, Limits
from scheduling.engine.nodes import NodeBook
from scheduling.engine.shared_cards import slots_on
from scheduling.engine.snapshot import Shape
from scheduling.engine.topology import HOST, Counts, Host, domains_for, levels_crossed, pack_narrowest, pack_required
from scheduling.engine.vocabulary import TopologyMode

Placed = tuple[tuple[PodAsk, Counts], ...]
"""Pods per node for each role of a gang, in the gang's order; shares have an entry for each card of theirs."""


def place_gang(
    book: NodeBook,
    gang: Sequence[PodAsk],
    shape: Shape,
    *,
    pool: int,
    limits: Limits = (),
    only: Set[int] | None = None,
) -> Placed | None:
    """Where the gang's pods go, or None. `only` narrows the nodes (kept ones); `limits` lower what nodes may give."""
    placed = _place(book, gang, shape, pool=pool, limits=limits, only=only)
    if placed is None or not shape.datasets or not book.table.cached:
        return placed
    return _nearer(book, gang, shape, placed, pool=pool, limits=limits, only=only)


def _nearer(
    book: NodeBook,
    gang: Sequence[PodAsk],
    shape: Shape,
    placed: Placed,
    *,
    pool: int,
    limits: Limits,
    only: Set[int] | None,
) -> Placed:
    """The place nearest to the job's data that crosses no more levels than the one without it (SCH-19)."""
    allowed = len(levels_crossed(book.table, nodes_of(placed)))
    for near in nearest_first(book.table, shape.datasets, only):
        found = _place(book, gang, shape, pool=pool, limits=limits, only=near)
        if found is not None and len(levels_crossed(book.table, nodes_of(found))) <= allowed:
            return found
    return placed


def _place(
    book: NodeBook, gang: Sequence[PodAsk], shape: Shape, *, pool: int, limits: Limits, only: Set[int] | None
) -> Placed | None:
    if len(gang) > 1:
        return _place_roles(book, gang, shape, pool=pool, limits=limits, only=only)
    ask = gang[0]
    if ask.count == 1:
        node = _place_one(book, ask, shape, pool=pool, limits=limits, only=only)
        return None if node is None else _seat(book, ask, {node: 1}, limits)
    hosts = list_hosts(book, ask, pool, limits=limits, only=only)
    if shape.topology == TopologyMode.REQUIRED:
        counts = pack_required(book.table, hosts, ask.count, shape.level)
    else:
        counts = pack_narrowest(book.table, hosts, ask.count)
    return None if counts is None else _seat(book, ask, counts, limits)


def _seat(book: NodeBook, ask: PodAsk, counts: Counts, limits: Limits) -> Placed:
    """The pods on their nodes; shares on their cards as well (SCH-13)."""
    if ask.share is None:
        return ((ask, counts),)
    seats: list[tuple[PodAsk, Counts]] = []
    for node, pods in counts.items():
        slots = slots_on(book, node, ask, limits, pods)
        taken = {slot for limit in limits for slot in limit.slots.get(node, ())}
        for slot in dict.fromkeys(slots):
            numbered = slot if slot >= 0 else book.number_slot(node, taken)
            taken.add(numbered)
            seats.append((ask.on_card(numbered), {node: slots.count(slot)}))
    return tuple(seats)


def _place_one(
    book: NodeBook, ask: PodAsk, shape: Shape, *, pool: int, limits: Limits, only: Set[int] | None
) -> int | None:
    """Best fit for a single pod: the first of the search order that may be used."""
    table = book.table
    domain: list[int] | None = None
    if shape.topology == TopologyMode.REQUIRED and shape.level != HOST:
        if shape.level not in table.levels:
            return None
        domain = table.domain[table.levels.index(shape.level)]
    for node, _ in book.hosts(ask, pool, limits):
        if (only is None or node in only) and (domain is None or domain[node] >= 0):
            return node
    return None


def list_hosts(
    book: NodeBook, ask: PodAsk, pool: int, *, limits: Limits = (), only: Set[int] | None = None
) -> list[Host]:
    """Nodes with room for at least one pod, tightest first."""
    hosts = []
    for node, room in book.hosts(ask, pool, limits):
        if only is None or node in only:
            spare = book.cards[node] - room * ask.cards_m if ask.cards_m else book.cpu[node] - room * ask.cpu_m
            hosts.append(Host(node=node, room=room, spare=spare))
    return hosts


def _place_roles(
    book: NodeBook, gang: Sequence[PodAsk], shape: Shape, *, pool: int, limits: Limits, only: Set[int] | None
) -> Placed | None:
    """Roles one after another, those with the largest pods first, inside ever wider domains (SCH-11) until all fit."""
    order = sorted(range(len(gang)), key=lambda role: (-gang[role].cards_m, -gang[role].cpu_m, role))
    first = gang[order[0]]
    for region in _regions(book, first, shape, pool=pool, limits=limits, only=only):
        placed = _place_in_turn(book, [gang[role] for role in order], pool=pool, limits=limits, only=region)
        if placed is not None:
            by_role = dict(zip(order, placed, strict=True))
            return tuple(entry for role in range(len(gang)) for entry in by_role[role])
    return None


def _regions(
    book: NodeBook, first: PodAsk, shape: Shape, *, pool: int, limits: Limits, only: Set[int] | None
) -> Iterator[Set[int] | None]:
    """Sets of nodes to try, narrowest first; the last is everywhere, unless a domain is required."""
    table = book.table
    required = shape.topology == TopologyMode.REQUIRED
    levels = [shape.level] if required else [HOST, *reversed(table.levels)]
    hosts = list_hosts(book, first, pool, limits=limits, only=only)
    for level in levels:
        for domain in domains_for(table, hosts, first.count, level):
            yield domain if only is None else domain & only
    if not required:
        yield only


def _place_in_turn(
    book: NodeBook, asks: Sequence[PodAsk], *, pool: int, limits: Limits, only: Set[int] | None
) -> list[Placed] | None:
    """Each role sees what the ones before it took; the book is put back before returning."""
    taken: list[Placed] = []
    for ask in asks:
        bounds = [*limits, *left_of_limits(limits, [entry for placed in taken for entry in placed])]
        counts = pack_narrowest(book.table, list_hosts(book, ask, pool, limits=bounds, only=only), ask.count)
        if counts is None:
            break
        taken.append(_seat(book, ask, counts, bounds))
        for each, on in taken[-1]:
            take(book, each, on)
    for placed in taken:
        for each, on in placed:
            give_back(book, each, on)
    return taken if len(taken) == len(asks) else None


def left_of_limits(limits: Limits, taken: Sequence[tuple[PodAsk, Counts]]) -> list[Leftover]:
    """Limits after the roles placed so far, for the nodes that they share."""
    lowered = []
    for limit in limits:
        left = Leftover()
        for ask, counts in taken:
            for node in sorted(set(counts) & set(limit)):
                if node not in left:
                    left[node] = limit[node]
                    if node in limit.slots:
                        left.slots[node] = limit.slots[node].copy()
                left.move(node, ask, -counts[node])
        lowered.append(left)
    return lowered


def take(book: NodeBook, ask: PodAsk, counts: Counts) -> None:
    for node, pods in counts.items():
        book.add(node, ask, -pods)


def give_back(book: NodeBook, ask: PodAsk, counts: Counts) -> None:
    for node, pods in counts.items():
        book.add(node, ask, pods)


def nodes_of(placed: Placed) -> tuple[int, ...]:
    """The nodes a gang touches, in index order."""
    return tuple(sorted({node for _, counts in placed for node in counts}))


def cards_on(placed: Placed) -> dict[int, int]:
    """Milli-cards per node, in index order, nodes without cards left out."""
    cards: dict[int, int] = {}
    for ask, counts in placed:
        for node, pods in counts.items():
            if ask.cards_m:
                cards[node] = cards.get(node, 0) + ask.cards_m * pods
    return {node: cards[node] for node in sorted(cards)}
