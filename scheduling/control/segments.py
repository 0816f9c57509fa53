"""Cuts what a lease held into stretches of one billing meaning (BIL-01, BIL-05). No database, no clock."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

BILLABLE, GRACE, FAULT, AFTER_LAST_SIGN = "billable", "grace", "fault", "after-last-sign"


@dataclass(frozen=True, slots=True)
class Hold:
    """What is known of one lease when it closes, in the cluster's own times.

    `start` None means the pod never started: nothing was held that could be billed. `until` is the pod's end or last sign of life,
    `closed_at` when the card was given back. `notice_kind` is what comes after the notice: a grace, or a fault that the tenant does
    not answer for. `fault` marks a start-up that failed by one. `splits` are (instant, whether borrowed until then) in time order,
    `borrowed` what holds after the last of them.
    """

    start: datetime | None
    until: datetime
    closed_at: datetime
    notice_at: datetime | None = None
    notice_kind: str = GRACE
    fault: bool = False
    borrowed: bool = False
    splits: Sequence[tuple[datetime, bool]] = ()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open piece of a lease; `start` > `end` marks a clock that cannot be believed (B23)."""

    kind: str
    start: datetime
    end: datetime
    borrowed: bool = False


def cut_hold(hold: Hold) -> tuple[Stretch, ...]:
    """The pieces in time order; empty ones are left out, an impossible one is returned for quarantine."""
    start, until = hold.start, hold.until
    if start is None:
        return ()
    if until < start:
        return (Stretch(BILLABLE, start, until, hold.borrowed),)
    if hold.fault:
        pieces = [Stretch(FAULT, start, until)]
    else:
        turn = until if hold.notice_at is None else min(max(hold.notice_at, start), until)
        pieces = [Stretch(BILLABLE, start, turn), Stretch(hold.notice_kind, turn, until)]
    pieces.append(Stretch(AFTER_LAST_SIGN, until, hold.closed_at))
    return tuple(part for piece in pieces for part in _by_split(piece, hold))


def _by_split(piece: Stretch, hold: Hold) -> Iterator[Stretch]:
    """The piece cut where the split changed inside it."""
    start = piece.start
    for at, borrowed in hold.splits:
        end = min(at, piece.end)
        if start < end:
            yield replace(piece, start=start, end=end, borrowed=borrowed)
            start = end
    if start < piece.end:
        yield replace(piece, start=start, borrowed=hold.borrowed)
