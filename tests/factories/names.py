"""Names that no other row of the test run has."""

from itertools import count

_numbers = count(1)


def unique(prefix: str) -> str:
    """`prefix-1`, `prefix-2`, …"""
    return f"{prefix}-{next(_numbers)}"
