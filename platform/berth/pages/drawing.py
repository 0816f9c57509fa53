"""Geometry of the server-drawn SVG: quota bars and state strips, in per cent of their width so that nothing is stretched.

A Content-Security-Policy without inline styles lets SVG attributes pass and drops `style=`; so all drawing is done here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from berth.common.units import plain

FULL = Decimal(100)
OPEN_END_SHARE = Decimal("1.25")
"""Without a limit the track goes on past the last known amount by a quarter, dashed, to an open end."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One stretch of a drawing: kind names its fill, `x` and `width` are per cent."""

    kind: str
    x: str
    width: str
    amount: int = 0


@dataclass(frozen=True, slots=True)
class QuotaDrawing:
    """Bars in the one order for ever: own, lent, remaining | nominal | borrowed, can borrow | limit."""

    bars: tuple[Bar, ...]
    nominal_at: str
    limit_at: str | None
    open_from: str | None


def draw_quota(
    *, nominal: int, own: int, lent: int, remaining: int, borrowed: int, can_borrow: int | None, limit: int | None
) -> QuotaDrawing:
    """Amounts in the resource's inner unit. `can_borrow` None: nothing caps it; `limit` None: an open end."""
    beyond = own + lent + remaining
    end = max(beyond, nominal) + borrowed + (can_borrow or 0)
    scale = Decimal(max(end, limit or 0, 1))
    if limit is None:
        scale *= OPEN_END_SHARE
    bars: list[Bar] = []
    at = 0
    for kind, amount in (("own", own), ("lent", lent), ("remaining", remaining)):
        at = _put(bars, kind, at, amount, scale)
    at = max(at, nominal)
    for kind, amount in (("borrowed", borrowed), ("can", can_borrow or 0)):
        at = _put(bars, kind, at, amount, scale)
    return QuotaDrawing(
        bars=tuple(bars),
        nominal_at=_share(nominal, scale),
        limit_at=None if limit is None else _share(limit, scale),
        open_from=_share(at, scale) if limit is None else None,
    )


def draw_strip(stretches: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    """Equal neighbours merged, in proportion to their lengths; every stretch of more than nothing stays visible."""
    merged: list[tuple[str, int]] = []
    for kind, length in stretches:
        if merged and merged[-1][0] == kind:
            merged[-1] = (kind, merged[-1][1] + length)
        elif length > 0:
            merged.append((kind, length))
    total = Decimal(sum(length for _, length in merged) or 1)
    bars: list[Bar] = []
    at = 0
    for kind, length in merged:
        at = _put(bars, kind, at, length, total)
    return tuple(bars)


def _put(bars: list[Bar], kind: str, at: int, amount: int, scale: Decimal) -> int:
    if amount > 0:
        bars.append(Bar(kind, _share(at, scale), _share(amount, scale), amount))
    return at + max(amount, 0)


def _share(amount: int, scale: Decimal) -> str:
    return f"{plain((Decimal(amount) * FULL / scale).quantize(Decimal('0.001')))}%"
