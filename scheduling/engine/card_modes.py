"""SCH-13: which flavors can serve a role by the way their cards are handed out: whole, in shares, or as MIG instances."""

from scheduling.engine.snapshot import Flavor
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import CardMode

WHOLE_MODES = frozenset({CardMode.WHOLE, CardMode.ANY})
SHARE_MODES = frozenset({CardMode.SHARED, CardMode.ANY})
CARD_MODE, MIG_RANKS = "card-mode", "mig-ranks"
"""Why a flavor cannot serve a role."""


def is_share(cards_m: int) -> bool:
    """True for a part of one card."""
    return 0 < cards_m < CARD


def find_mismatch(flavor: Flavor, cards_m: int, replicas: int) -> str:
    """Why the flavor's cards cannot serve a role of so many milli-cards a pod, whatever is free: `card-mode`, `mig-ranks`, or nothing.

    MIG instances do not talk to each other, so a role of more than one rank may not run on them.
    """
    if is_share(cards_m):
        return "" if flavor.mode in SHARE_MODES else CARD_MODE
    if flavor.mode is CardMode.MIG:
        return MIG_RANKS if replicas > 1 else ""
    return "" if flavor.mode in WHOLE_MODES else CARD_MODE
