"""The one rule for instants that come from outside, in bodies, queries and files: ISO 8601 with an offset, in years that a bill can hold.

Pure: no Django and no clock. Callers put the errors into words.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Both are accepted. Beyond them lie typing errors, and near the ends of the calendar no zone can be applied any more."""
ALLOWED: Final = {"earliest": f"{EARLIEST:%Y-%m-%d}", "latest": f"{LATEST:%Y-%m-%d}"}
"""The range, for messages."""

_LEAP_SECOND = re.compile(r"^(?P<before>.*T\d\d:\d\d:)60(?:[.,]\d+)?(?P<offset>\D.*)$", re.IGNORECASE)
_SECOND = timedelta(seconds=1)
_SHOWN = 60


class NoOffsetError(ValueError):
    """A time of day somewhere, and not an instant."""


class InstantRangeError(ValueError):
    """An instant outside [EARLIEST, LATEST]."""


def parse_instant(text: str) -> datetime:
    """In UTC. `:60` is the first second of the next minute (B34). ValueError; of them NoOffsetError and InstantRangeError."""
    leap = _LEAP_SECOND.match(text)
    parsed = datetime.fromisoformat(f"{leap['before']}59{leap['offset']}" if leap else text)
    shown = repr(text[:_SHOWN])
    if parsed.tzinfo is None:
        raise NoOffsetError(f"{shown} carries no offset")
    try:
        found = parsed.astimezone(UTC) + (_SECOND if leap else timedelta())
    except OverflowError:
        found = datetime.max.replace(tzinfo=UTC)
    if not in_range(found):
        raise InstantRangeError(f"{shown} is not from {ALLOWED['earliest']} to {ALLOWED['latest']}")
    return found


def in_range(at: datetime) -> bool:
    """Whether an aware instant, however it was read, is one that may be stored."""
    return EARLIEST <= at <= LATEST
