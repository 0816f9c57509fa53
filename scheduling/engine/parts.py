"""Why a share of a card waits (SCH-13, SCH-21): told by the free parts of single cards, since parts of two cards are no card."""

from scheduling.engine.asks import Option
from scheduling.engine.idle import IdleBook
from scheduling.engine.vocabulary import WaitCode

CARD_PART, CARD_PART_MEMORY = "card-part", "card-part-memory"
"""Details: no single card has the part that is asked; one has, but not the card memory beside it."""


def only_share(option: Option) -> bool:
    """True for a job of one role, whose pods ask for shares."""
    return len(option.gang) == 1 and option.gang[0].share is not None


def find_lack(idle: IdleBook, option: Option) -> tuple[WaitCode, str, str, int, int] | None:
    """(code, detail, `gpu` or `vram_gib`, need, have) of a share no card has room for; None where its cards do.

    For one share `have` is the largest free part of one card; for several it is what of them could be placed.
    """
    ask = option.gang[0]
    share, parts = ask.share, idle.parts(ask)
    if share is None:
        return None
    largest_m = max((cards_m for cards_m, _ in parts), default=0)
    if ask.cards_m > largest_m:
        enough = sum(cards_m for cards_m, _ in parts) >= option.cards_m
        code = WaitCode.FRAGMENTED if enough else WaitCode.CARDS_BUSY
        return code, CARD_PART, "gpu", ask.cards_m, largest_m
    beside = max(vram_mib for cards_m, vram_mib in parts if cards_m >= ask.cards_m)
    if share.card_vram_mib and share.vram_mib > beside:
        return WaitCode.CARDS_BUSY, CARD_PART_MEMORY, "vram_gib", share.vram_mib, beside
    fits = sum(
        _fits(cards_m // ask.cards_m, vram_mib, share.vram_mib if share.card_vram_mib else 0)
        for cards_m, vram_mib in parts
    )
    if fits < ask.count:
        return WaitCode.CARDS_BUSY, "", "gpu", option.cards_m, fits * ask.cards_m
    return None


def _fits(by_cards: int, vram_mib: int, cap_mib: int) -> int:
    return min(by_cards, vram_mib // cap_mib) if cap_mib else by_cards
