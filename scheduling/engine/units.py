"""Integer units and saturating arithmetic of the engine (DESIGN section 4). Nothing here knows a job or a node."""

from typing import Final, NewType

Milli = NewType("Milli", int)
"""Thousandths of a card or of a CPU core."""

Ms = NewType("Ms", int)
"""Milliseconds: an instant since the Unix epoch (or since a trace began), or a length of time."""

Ppm = NewType("Ppm", int)
"""Parts per million: weights, factors, shares of a pool."""

CARD: Final = 1000
ONE_PPM: Final = 1_000_000
UNLIMITED: Final = 2**62
"""Quota amount that stands for "no limit"; half of int64's range, so that adding two of them cannot wrap."""
NEVER: Final = 2**62
"""Instant that never comes: the end of a job that declares no limit."""
MAX_SHARE: Final = 2**63 - 1
"""Printed share of a node of weight 0 that borrows (SCH-05, Kueue's convention)."""


def clamp(value: int) -> int:
    """Keep `value` inside ±UNLIMITED, so that sums near the largest integer saturate and never wrap (SCH-03)."""
    return max(-UNLIMITED, min(UNLIMITED, value))


def add(a: int, b: int) -> int:
    """Saturating sum: no limit plus anything is no limit."""
    if a >= UNLIMITED or b >= UNLIMITED:
        return UNLIMITED
    total = a + b
    return total if -UNLIMITED < total < UNLIMITED else clamp(total)


def subtract(a: int, b: int) -> int:
    """Saturating difference: no limit less anything finite is no limit."""
    if a >= UNLIMITED:
        return UNLIMITED
    rest = a - b
    return rest if -UNLIMITED < rest < UNLIMITED else clamp(rest)


def ceil_div(a: int, b: int) -> int:
    """`a / b` rounded up, for printed shares: a borrower of 1 in 1,500 must still read as borrowing."""
    return -(-a // b)
