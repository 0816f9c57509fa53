"""Amounts free on nodes, and how they change when pods come and go. Nothing here searches."""

from collections.abc import Iterable, Sequence
from typing import Final

from scheduling.engine.asks import PodAsk, ShareHold
from scheduling.engine.units import CARD

Free = tuple[int, int, int, int]
"""(milli-cards of cards that are free as a whole, millicores, MiB, pods) free on a node. What shares leave of a card is in `Slots`."""

NO_POD_LIMIT: Final = 1 << 30
FRESH_SLOT: Final = 1 << 20
"""Slots from here on are cards that shares open in this cycle; which card that is gets known when the plan is printed."""
MIXED: Final = -2
"""In place of a tenant: holders of several tenants, as a file or an outage may leave them. Nobody may join them."""

SlotUse = tuple[int, int, int]
"""(milli-cards, MiB of VRAM, tenant) of a card that shares hold: it serves one tenant at a time (SCH-13)."""
Slots = dict[int, SlotUse]
"""Cards of a node that are open to shares, by index or fresh number. A card in it is not free as a whole."""


class Leftover(dict[int, Free]):
    """What may still be taken of some nodes, with what shares leave of their cards."""

    __slots__ = ("slots",)

    def __init__(self, free: Iterable[tuple[int, Free]] = (), slots: Iterable[tuple[int, Slots]] = ()) -> None:
        super().__init__(free)
        self.slots: dict[int, Slots] = {node: dict(own) for node, own in slots}

    def move(self, node: int, ask: PodAsk, pods: int) -> None:
        """`pods` pods of a placed ask come back to a node of it (negative: are taken)."""
        self[node] = moved(self[node], ask, pods)
        if ask.share is not None:
            self._shift_slot(node, ask.hold_on(node), -pods)

    def move_hold(self, hold: ShareHold, sign: int) -> None:
        """A share of a card comes back (sign -1: is taken); the rest of what its pod holds is counted elsewhere."""
        self._shift_slot(hold.node, hold, -sign)

    def _shift_slot(self, node: int, hold: ShareHold, pods: int) -> None:
        cards, *rest = self[node]
        self[node] = (cards + use_slot(self.slots, hold, pods), rest[0], rest[1], rest[2])


Limits = Sequence[Leftover]
"""Upper bounds on what some nodes may give: what reservations leave of them (SCH-08)."""


def use_slot(on: dict[int, Slots], hold: ShareHold, pods: int) -> int:
    """`pods` such shares come to a card (negative: leave it). Returns how the milli-cards free as a whole change:
    the first share opens a card, with the last it is a whole one again."""
    slots = on.setdefault(hold.node, {})
    there = slots.get(hold.slot)
    cards_m, vram_mib, tenant = there or (0, 0, hold.tenant)
    cards_m += hold.cards_m * pods
    if cards_m <= 0:
        slots.pop(hold.slot, None)
        if not slots:
            del on[hold.node]
        return CARD if there else 0
    slots[hold.slot] = (cards_m, vram_mib + hold.vram_mib * pods, tenant if tenant == hold.tenant else MIXED)
    return 0 if there else -CARD


def common(one: Slots, other: Slots, spare: tuple[int, int] = (0, 0)) -> Slots:
    """Cards open to shares in both pictures, with what both leave of them.

    `spare` are the milli-cards free as a whole in one and in the other picture alone: a card that only one picture has opened is
    open in both where the other has such a card to open.
    """
    both = {}
    for slot in sorted(one.keys() & other.keys()):
        (cards_m, vram_mib, tenant), (others_m, others_mib, others) = one[slot], other[slot]
        both[slot] = (max(cards_m, others_m), max(vram_mib, others_mib), tenant if tenant == others else MIXED)
    for mine, others_slots, room_m in ((one, other, spare[1]), (other, one, spare[0])):
        alone = sorted(mine.keys() - others_slots.keys()) if room_m >= CARD else []
        both.update((slot, mine[slot]) for slot in alone[: room_m // CARD])
    return both


def moved(free: Free, ask: PodAsk, pods: int) -> Free:
    """Free amounts after `pods` pods of an ask came back (negative: were taken); shares of cards are counted by slot."""
    return (
        free[0] + (ask.cards_m * pods if ask.share is None else 0),
        free[1] + ask.cpu_m * pods,
        free[2] + ask.memory_mib * pods,
        free[3] + pods,
    )


def shifted(free: Free, held: Free, sign: int) -> Free:
    """Free amounts after something held came back (sign -1: was taken)."""
    return free[0] + sign * held[0], free[1] + sign * held[1], free[2] + sign * held[2], free[3] + sign * held[3]
