"""MIG profiles (SCH-13): how many instances a card gives and what part of a card one of them is. Knows no node and no job."""

import re
from typing import Final

SEVENTHS: Final = 7
"""A card has seven compute slices; a profile `3g.40gb` takes three of them and 40 GB."""
_PROFILE: Final = re.compile(r"([1-7])g\.[1-9][0-9]*gb(\+[a-z.]+)?")


def is_profile(text: str) -> bool:
    """True for a profile as NVIDIA writes it: `1g.10gb`, `3g.40gb`, `1g.10gb+me`."""
    return _PROFILE.fullmatch(text) is not None


def slices(profile: str) -> int:
    """Sevenths of a card that one instance of the profile is; a whole card's seven where it is no profile."""
    found = _PROFILE.fullmatch(profile)
    return int(found[1]) if found else SEVENTHS


def instances(profile: str) -> int:
    """Instances of the profile that one card is cut into; one where it is no profile."""
    return SEVENTHS // slices(profile)
