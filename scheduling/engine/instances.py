"""MIG profiles (SCH-13): how many instances a card gives and what part of a card one of them is. Knows no node and no job."""

import re
from typing import Final

SEVENTHS: Final = 7
"""A card has seven compute slices; a profile `3g.40gb` takes three of them and 40 GB."""
_OF_FOUR: Final = frozenset({"1g.20gb", "1g.24gb", "1g.35gb", "1g.45gb"})
"""One compute slice with two of the eight memory slices of an 80, 96, 141 or 180 GB card: memory is out after four."""
_PROFILE: Final = re.compile(r"([1-7])g\.[1-9][0-9]*gb(\+[a-z.]+)?")


def is_profile(text: str) -> bool:
    """True for a profile as NVIDIA writes it: `1g.10gb`, `3g.40gb`, `1g.10gb+me`."""
    return _PROFILE.fullmatch(text) is not None


def slices(profile: str) -> int:
    """Sevenths of a card that one instance of the profile is; a whole card's seven where it is no profile."""
    found = _PROFILE.fullmatch(profile)
    return int(found[1]) if found else SEVENTHS


def equivalent_ppm(weight_ppm: int, profile: str) -> int:
    """Card-equivalents of one instance of the profile (SCH-05): as many sevenths of its card's as it takes of the card."""
    return weight_ppm * slices(profile) // SEVENTHS


def instances(profile: str) -> int:
    """Instances of the profile that one card is cut into; one where it is no profile, or where it takes engines a card has once."""
    if "+" in profile:
        return 1
    return 4 if profile in _OF_FOUR else SEVENTHS // slices(profile)
