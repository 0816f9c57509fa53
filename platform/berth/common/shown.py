"""How messages show a value that somebody gave: on one line, and never longer than a line."""

from typing import Final

LONGEST: Final = 80


def cut(value: object) -> str:
    """The value's text as it is; of more than LONGEST characters the beginning and how many there are."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def shown(value: object) -> str:
    """The same in quotes, for what is no number."""
    text = str(value)
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r}… ({len(text)} characters)"
