"""Cuts what a lease held into stretches of one billing meaning (BIL-01, BIL-05). No database, no clock."""

from dataclasses import dataclass
from datetime import datetime

BILLABLE, GRACE, FAULT, AFTER_LAST_SIGN = "billable", "grace", "fault", "after-last-sign"


@dataclass(frozen=True, slots=True)
class Hold:
    """What is known of one lease when it closes, in the cluster's own times.

    `start` None means the pod never started: nothing was held that could be billed. `until` is the pod's end or last sign of life,
    `closed_at` when the card was given back. `cut_until` is where earlier segments of the lease end. `notice_kind` is what comes
    after the notice: a grace, or a fault that the tenant does not answer for. `fault` marks a start-up that failed by one.
    """

    start: datetime | None
    until: datetime
    closed_at: datetime
    notice_at: datetime | None = None
    cut_until: datetime | None = None
    notice_kind: str = GRACE
    fault: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open piece of a lease; `start` > `end` marks a clock that cannot be believed (B23)."""

    kind: str
    start: datetime
    end: datetime


def cut_hold(hold: Hold) -> tuple[Stretch, ...]:
    """The pieces in time order; empty ones are left out, an impossible one is returned for quarantine."""
    if hold.start is None:
        return ()
    start = hold.start if hold.cut_until is None else max(hold.start, hold.cut_until)
    if hold.until < start:
        before_notice = hold.cut_until is not None and hold.until >= hold.start
        return () if before_notice else (Stretch(BILLABLE, start, hold.until),)
    if hold.fault:
        pieces = [Stretch(FAULT, start, hold.until)]
    else:
        turn = hold.until if hold.notice_at is None else min(max(hold.notice_at, start), hold.until)
        pieces = [Stretch(BILLABLE, start, turn), Stretch(hold.notice_kind, turn, hold.until)]
    pieces.append(Stretch(AFTER_LAST_SIGN, hold.until, hold.closed_at))
    return tuple(piece for piece in pieces if piece.start < piece.end)
