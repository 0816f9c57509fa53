"""SCH-17: a place as a reservation carries it from cycle to cycle, pod by pod, and the same place again in a later picture."""

from collections.abc import Iterable, Sequence
from typing import Final

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.free import FRESH_SLOT, Limits
from scheduling.engine.nodes import NodeBook
from scheduling.engine.placement import Placed, give_back, left_of_limits, take
from scheduling.engine.shared_cards import slots_on

WHOLE: Final = 0
"""In place of a card's index where a pod has whole cards: any of the node's will do."""

Seat = tuple[str, int, int, int]
"""(role, node, card, pods)."""


def seats_of(placed: Placed) -> tuple[Seat, ...]:
    """The place pod by pod, in order. Cards that shares would open have no index yet: they are numbered from -1 down."""
    opened: dict[int, int] = {}
    rows = []
    for ask, counts in placed:
        for node, pods in counts.items():
            slot = WHOLE if ask.share is None else ask.share.slot
            if slot >= FRESH_SLOT:
                slot = opened.setdefault(slot, -1 - len(opened))
            rows.append((ask.role, node, slot, pods))
    return tuple(sorted(rows))


def option_of(options: Iterable[Option], seats: Sequence[Seat], book: NodeBook) -> Option | None:
    """The choice of flavors and size that the place was for."""
    return next((option for option in options if _matches(option, seats, book)), None)


def _matches(option: Option, seats: Sequence[Seat], book: NodeBook) -> bool:
    asks = {ask.role: ask for ask in option.gang}
    pods = dict.fromkeys(asks, 0)
    for role, node, _, count in seats:
        if role not in asks or asks[role].flavor not in {-1, book.table.flavor[node]}:
            return False
        pods[role] += count
    return bool(seats) and all(pods[role] == ask.count for role, ask in asks.items())


def sit_again(book: NodeBook, option: Option, seats: Sequence[Seat], *, limits: Limits = ()) -> Placed | None:
    """The gang on the very seats, or None where one of them is taken or out of use; the book is left as it was."""
    placed: list[tuple[PodAsk, dict[int, int]]] = []
    for ask in option.gang:
        for role, node, card, pods in seats:
            if role != ask.role:
                continue
            bounds = [*limits, *left_of_limits(limits, placed)]
            seat = _sit(book, ask, node, card, pods, bounds)
            if seat is None:
                _stand_up(book, placed)
                return None
            take(book, seat, {node: pods})
            placed.append((seat, {node: pods}))
    _stand_up(book, placed)
    return _together(placed)


def _sit(book: NodeBook, ask: PodAsk, node: int, card: int, pods: int, limits: Limits) -> PodAsk | None:
    """The ask with its card, where the node has room for that many pods of it."""
    if not book.table.open[node]:
        return None
    if ask.share is None:
        return ask if book.room(node, ask, limits) >= pods else None
    slots = slots_on(book, node, ask, limits, pods, card=card)
    if len(slots) < pods or len(set(slots)) > 1:
        return None
    taken = {slot for limit in limits for slot in limit.slots.get(node, ())}
    return ask.on_card(slots[0] if slots[0] >= 0 else book.number_slot(node, taken))


def _stand_up(book: NodeBook, placed: Sequence[tuple[PodAsk, dict[int, int]]]) -> None:
    for ask, counts in placed:
        give_back(book, ask, counts)


def _together(placed: Sequence[tuple[PodAsk, dict[int, int]]]) -> Placed:
    """One entry for each role (and card) with all of its nodes, as placements are elsewhere."""
    found: dict[PodAsk, dict[int, int]] = {}
    for ask, counts in placed:
        own = found.setdefault(ask, {})
        for node, pods in counts.items():
            own[node] = own.get(node, 0) + pods
    return tuple(found.items())
