"""How messages show a value that somebody gave: quoted, on one line, and never longer than a line."""

from typing import Final

LONGEST: Final = 80


def shown(value: object) -> str:
    """`'1.5 cards'`; of more than LONGEST characters the beginning and how many there are."""
    text = str(value)
    if len(text) <= LONGEST:
        return repr(text)
    return f"{text[:LONGEST]!r}… ({len(text)} characters)"
