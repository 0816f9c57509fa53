"""Patterns in node names and labels of a cluster file: `n{i:03d}`, `r{i//8}`. A tiny grammar, nothing is evaluated.

`{` i, then any of `//N`, `%N`, `*N`, `+N`, `-N` from left to right, then `:` and a width such as `03d` `}`.
"""

import re

from berth.common.shown import shown
from scheduling.simulator.problems import WrongValueError

_PLACE = re.compile(r"\{([^{}]*)\}")
_INSIDE = re.compile(r"i((?:(?://|%|\*|\+|-)\d{1,9})*)(?::(0?\d{0,2}d?))?")
_STEP = re.compile(r"(//|%|\*|\+|-)(\d+)")
FORM = "a place is {i}, {i//8}, {i%8}, {i+1} or with a width {i:03d}"


def expand(pattern: str, i: int) -> str:
    """`pattern` for the node number `i`, counted from 0. Raises `WrongValueError` for anything outside the grammar."""
    if "{" not in pattern and "}" not in pattern:
        return pattern
    text = _PLACE.sub(lambda match: _fill(match.group(1), i), pattern)
    if "{" in _PLACE.sub("", pattern) or "}" in _PLACE.sub("", pattern):
        raise WrongValueError(f"unbalanced braces in {shown(pattern)}; {FORM}")
    return text


def _fill(inside: str, i: int) -> str:
    match = _INSIDE.fullmatch(inside.replace(" ", ""))
    if match is None:
        raise WrongValueError(f"cannot read {{{inside}}}; {FORM}")
    value = i
    for sign, digits in _STEP.findall(match.group(1)):
        value = _step(value, sign, int(digits))
    return format(value, match.group(2) or "")


def _step(value: int, sign: str, number: int) -> int:
    if sign in {"//", "%"} and number == 0:
        raise WrongValueError("division by zero in a name pattern")
    match sign:
        case "//":
            return value // number
        case "%":
            return value % number
        case "*":
            return value * number
        case "+":
            return value + number
    return value - number
