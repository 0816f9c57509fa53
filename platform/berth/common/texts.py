"""The one rule for texts that people give: what a reader cannot see, or that turns the words round it, is refused by name.

Pure: no Django. Callers put the error into words.
"""

import re
import unicodedata
from typing import Final

JOINERS: Final = frozenset("\u200c\u200d")
"""ZWNJ and ZWJ: Persian, Indic scripts and emoji are not written without them."""
LINE_ENDS: Final = frozenset("\t\n\r")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, format characters (bidirectional overrides, zero width spaces), halves of surrogate pairs, odd line ends."""


_TERMINAL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]")
"""Colours, cursor moves and window titles, as terminals read them."""


def refused_character(text: str, *, prose: bool = False) -> str | None:
    """The first character that no name may hold, as `U+202E`; None where there is none. `prose` may have tabs and line ends."""
    if text.isascii() and text.isprintable():
        return None
    allowed = JOINERS | LINE_ENDS if prose else JOINERS
    for char in text:
        if unicodedata.category(char) in _INVISIBLE and char not in allowed:
            return f"U+{ord(char):04X}"
    return None


def without_controls(output: str) -> str:
    """A program's output as lines that are safe to show: no terminal sequences, of a line drawn over itself the last state, and
    nothing else that cannot be seen but tabs and joiners (W18)."""
    lines = _TERMINAL.sub("", output).split("\n")
    return "\n".join(_visible(line.rstrip("\r").rpartition("\r")[2]) for line in lines)


def _visible(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(
        char for char in line if char in JOINERS or char == "\t" or unicodedata.category(char) not in _INVISIBLE
    )


def is_blank(text: str) -> bool:
    """Whether nothing of the text can be seen."""
    return all(char.isspace() or char in JOINERS for char in text)
