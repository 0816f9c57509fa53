"""SCH-12, SCH-13: which cards shares go to. A share sits on one card, shares of one card are of one tenant, their parts sum to a card
at most and their VRAM caps to its VRAM.

Best fit on the card: the fullest that still has room, then node name; a card nobody uses is opened only where none has, on the node
with the fewest free ones, so that whole nodes stay whole.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scheduling.engine.asks import PodAsk, ShareHold
from scheduling.engine.free import FRESH_SLOT, Limits, Slots, SlotUse, use_slot
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.units import CARD

if TYPE_CHECKING:
    from scheduling.engine.nodes import NodeBook

Picture = tuple[int, Slots]
"""(milli-cards free as a whole, cards open to shares) of a node at some moment."""
UNSAID_SLOT = FRESH_SLOT // 2
"""Slots from here on are cards of running shares that a file does not name."""


def has_room(use: SlotUse, ask: PodAsk) -> bool:
    """Whether one more such share fits on a card that shares hold already."""
    share = ask.share
    if share is None or use[2] != share.tenant or use[0] + ask.cards_m > CARD:
        return False
    return not share.card_vram_mib or use[1] + share.vram_mib <= share.card_vram_mib


def find_slots(ask: PodAsk, pictures: Sequence[Picture], most: int) -> list[int]:
    """Cards of one node for up to `most` shares, in every picture of it; the first picture's fullest card that still fits first.

    A number below 0 is a card yet to be opened.
    """
    if ask.share is None or not ask.share.per_card:
        return []
    free, on = [cards for cards, _ in pictures], [{0: dict(slots)} for _, slots in pictures]
    found: list[int] = []
    while len(found) < most:
        slot = _fullest(ask, free, [each.get(0, {}) for each in on], -1 - len(found))
        if slot is None:
            break
        found.append(slot)
        hold = ShareHold(0, slot, ask.cards_m, ask.share.vram_mib, ask.share.tenant)
        for place, each in enumerate(on):
            free[place] += use_slot(each, hold, 1)
    return found


def _fullest(ask: PodAsk, free: Sequence[int], slots: Sequence[Slots], fresh: int) -> int | None:
    """The card that is left with least; `fresh` where one has to be opened, None where that cannot be either."""
    best: tuple[int, int] | None = None
    for slot, use in slots[0].items():
        key = (-use[0], slot)
        if has_room(use, ask) and (best is None or key < best):
            others = zip(free[1:], slots[1:], strict=True)
            if all(has_room(each[slot], ask) if slot in each else cards >= CARD for cards, each in others):
                best = key
    if best is not None:
        return best[1]
    return fresh if all(cards >= CARD for cards in free) else None


def slots_on(
    book: "NodeBook", node: int, ask: PodAsk, limits: Limits, most: int, *, card: int | None = None
) -> list[int]:
    """Cards of the node for as many of the shares as it can take now, `most` of them at most; only `card`, where shares hold it."""
    cpu, memory, room = book.cpu[node], book.memory[node], min(most, book.pods[node])
    open_to_shares = book.slots.get(node, {})
    pictures: list[Picture] = [(book.cards[node], open_to_shares)]
    if card in open_to_shares:
        pictures = [(0, {card: open_to_shares[card]})]
    for limit in limits:
        if node in limit:
            cards, cpu_left, memory_left, pods_left = limit[node]
            cpu, memory, room = min(cpu, cpu_left), min(memory, memory_left), min(room, pods_left)
            pictures.append((cards, limit.slots.get(node, {})))
    cpu -= book.table.headroom[node]
    if ask.cpu_m:
        room = min(room, cpu // ask.cpu_m)
    if ask.memory_mib:
        room = min(room, memory // ask.memory_mib)
    return find_slots(ask, pictures, room) if room > 0 else []


def share_hosts(book: "NodeBook", ask: PodAsk, limits: Limits) -> Iterator[tuple[int, int]]:
    """(node, shares that fit there): by the fullest card that still fits, then name; then nodes with free cards, fewest first."""
    table, open_cards = book.table, []
    for node, slots in book.slots.items():
        if table.open[node] and table.flavor[node] == ask.flavor:
            found = slots_on(book, node, ask, limits, ask.count)
            if found and found[0] >= 0:
                open_cards.append((-slots[found[0]][0], table.rank[node], node, len(found)))
    for _, _, node, room in sorted(open_cards):
        yield node, room
    seen = {node for _, _, node, _ in open_cards}
    for node in book.with_free_card(ask.flavor):
        room = 0 if node in seen else len(slots_on(book, node, ask, limits, ask.count))
        if room:
            yield node, room


def open_cards_of(snapshot: Snapshot, tenant_of: Sequence[int]) -> tuple[dict[int, list[ShareHold]], dict[int, Slots]]:
    """(what each run holds in shares, cards open to them by node) at the beginning of a cycle; `tenant_of` is by queue.

    A card out of service is in neither: what shares hold of it takes nothing from what the node can give.
    """
    pods, cards, holds, on = snapshot.pods, snapshot.cards, dict[int, list[ShareHold]](), dict[int, Slots]()
    rows = np.flatnonzero(pods.cards_m % CARD).tolist()
    if not rows:
        return holds, on
    bad = {(int(cards.node[row]), int(cards.index[row])) for row in np.flatnonzero(~cards.healthy).tolist()}
    queue_of = snapshot.running.queue.tolist()
    said = [row for row in rows if pods.cards[row]]
    for row in said + [row for row in rows if not pods.cards[row]]:
        run, node = int(pods.run[row]), int(pods.node[row])
        tenant = tenant_of[queue_of[run]] if queue_of[run] >= 0 else -3 - run
        slot = pods.cards[row][0] if pods.cards[row] else -1
        if (node, slot) in bad:
            continue
        hold = ShareHold(node, slot, int(pods.cards_m[row]), int(pods.vram_mib[row]), tenant)
        if slot < 0:
            vram_mib = snapshot.flavors[int(pods.flavor[row])].vram_mib
            hold = hold._replace(slot=_unsaid_slot(on.get(node, {}), hold, vram_mib))
        use_slot(on, hold, 1)
        holds.setdefault(run, []).append(hold)
    return holds, on


def _unsaid_slot(slots: Slots, hold: ShareHold, vram_mib: int) -> int:
    """Where a file does not name a share's card: the fullest of its tenant's cards that has room, else one more card."""
    fitting = [
        (-cards_m, slot)
        for slot, (cards_m, used_mib, tenant) in slots.items()
        if tenant == hold.tenant
        and cards_m + hold.cards_m <= CARD
        and (not vram_mib or used_mib + hold.vram_mib <= vram_mib)
    ]
    return min(fitting)[1] if fitting else max([UNSAID_SLOT - 1, *slots]) + 1
