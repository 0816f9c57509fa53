"""Quantities as people write them in files -> integers in engine units, by Decimal and never by float (DESIGN section 4).

Every function takes the text of one value and raises `WrongValueError` with the allowed form.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import TypeVar

from berth.common.instants import ALLOWED, InstantRangeError, NoOffsetError, parse_instant
from berth.common.shown import cut, shown
from scheduling.engine.units import CARD, ONE_PPM
from scheduling.simulator.problems import WrongValueError

LARGEST = 10**15
"""No sum of money and no quota in a file is larger; the engine's sums of quotas saturate (Q40)."""
MOST = 10**9
"""Cards, cores, seconds, weights: far above any cluster, and sums of their milli and ppm forms stay inside int64."""
MOST_MIB = 10**12
MOST_CARD_HOURS = 10**11
MIB_PER_GIB = 1024
MS_PER_S = 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

E = TypeVar("E", bound=Enum)


def decimal(text: str, most: int = LARGEST) -> Decimal:
    """A finite number from 0 to `most`."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        raise WrongValueError(f"must be a number, is {shown(text)}") from None
    if not value.is_finite():
        raise WrongValueError(f"must be a finite number, is {shown(text)}")
    if value < 0:
        raise WrongValueError(f"must be 0 or more, is {cut(text)}")
    if value > most:
        raise WrongValueError(f"must be at most {most}, is {cut(text)}")
    return value


def scaled(text: str, scale: int, what: str, most: int = MOST) -> int:
    """`text` x `scale` as an exact integer; `what` names unit and precision for the message."""
    value = decimal(text, most) * scale
    if value != value.to_integral_value():
        raise WrongValueError(f"must be {what}, is {cut(text)}")
    return int(value)


def milli_cards(text: str, most: int = MOST) -> int:
    """Cards with up to 3 decimals -> milli-cards."""
    return scaled(text, CARD, "a number of cards with at most 3 decimals", most)


def millicores(text: str, most: int = MOST) -> int:
    """CPU cores with up to 3 decimals -> millicores."""
    return scaled(text, CARD, "a number of cores with at most 3 decimals", most)


def mebibytes(text: str, most: int = MOST_MIB // MIB_PER_GIB) -> int:
    """GiB -> MiB, rounded down where the decimals do not end on a MiB."""
    return int(decimal(text, most) * MIB_PER_GIB)


def milliseconds(text: str) -> int:
    """Seconds with up to 3 decimals -> ms."""
    return scaled(text, MS_PER_S, "a number of seconds with at most 3 decimals")


def ppm(text: str) -> int:
    """A weight, factor or speed -> parts per million."""
    return scaled(text, ONE_PPM, "a number with at most 6 decimals")


def fraction_ppm(text: str) -> int:
    """A share between 0 and 1 -> parts per million (rounded down)."""
    value = decimal(text)
    if value > 1:
        raise WrongValueError(f"must be between 0 and 1, is {cut(text)}")
    return int(value * ONE_PPM)


def card_hours_ms(text: str) -> int:
    """Card-hours -> card-milliseconds."""
    return int(decimal(text, MOST_CARD_HOURS) * 3_600_000)


def whole(text: str, *, low: int = 0, high: int = 2**31 - 1) -> int:
    """A whole number between `low` and `high`."""
    try:
        value = int(text.strip())
    except ValueError:
        raise WrongValueError(f"must be a whole number, is {shown(text)}") from None
    if not low <= value <= high:
        raise WrongValueError(f"must be between {low} and {high}, is {cut(text)}")
    return value


def between(low: int, high: int) -> Callable[[str], int]:
    """A parser for whole numbers of a range."""
    return lambda text: whole(text, low=low, high=high)


def flag(text: str) -> bool:
    """`true` or `false`."""
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise WrongValueError(f"must be true or false, is {shown(text)}")


def word(text: str) -> str:
    """Any text that is not empty."""
    if not text.strip():
        raise WrongValueError("must not be empty")
    return text


def one_of(*names: str) -> Callable[[str], str]:
    """A parser for a closed list of words."""

    def parse(text: str) -> str:
        if text not in names:
            raise WrongValueError(f"must be one of {', '.join(names)}, is {shown(text)}")
        return text

    return parse


def instant(text: str) -> int:
    """RFC 3339 with an offset -> ms since the Unix epoch."""
    try:
        at = parse_instant(text.strip())
    except NoOffsetError:
        raise WrongValueError(f"must carry an offset (Z or +08:00), is {shown(text)}") from None
    except InstantRangeError:
        raise WrongValueError(f"must be from {ALLOWED['earliest']} to {ALLOWED['latest']}, is {shown(text)}") from None
    except ValueError:
        raise WrongValueError(f"must be a time such as 2026-11-29T10:00:00Z, is {shown(text)}") from None
    delta = at - EPOCH
    return (delta.days * 86_400 + delta.seconds) * MS_PER_S + delta.microseconds // 1000
