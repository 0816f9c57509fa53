"""Units at the doors: cards, cores and GiB as people write them, to and from the integers used inside (DESIGN section 4)."""

from decimal import Decimal
from typing import Final

MILLI: Final = 1000
MIB_PER_GIB: Final = 1024
PPM: Final = 1_000_000
UNITS_PER_CARD: Final = 7000
"""Billing quantity of a whole card: 7,000 units, so that a seventh (1,000) and a milli-card (7) are integers."""


class UnitError(ValueError):
    """The amount has more digits than the unit can hold."""


def to_milli(value: Decimal | int | str) -> int:
    """Cards or cores to thousandths; UnitError beyond three decimals."""
    return _scaled(value, MILLI)


def from_milli(value: int) -> Decimal:
    """Thousandths to cards or cores, without trailing zeros."""
    return plain(Decimal(value) / MILLI)


def gib_to_mib(value: Decimal | int | str) -> int:
    """GiB to MiB; UnitError if it is not a whole number of MiB."""
    return _scaled(value, MIB_PER_GIB)


def mib_to_gib(value: int) -> Decimal:
    """MiB to GiB, without trailing zeros."""
    return plain(Decimal(value) / MIB_PER_GIB)


def to_ppm(value: Decimal | int | str) -> int:
    """A weight or share to parts per million."""
    return _scaled(value, PPM)


def from_ppm(value: int) -> Decimal:
    """Parts per million to a plain number."""
    return plain(Decimal(value) / PPM)


def plain(value: Decimal) -> Decimal:
    """The same number without exponent or trailing zeros."""
    value = value.normalize()
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value


def _scaled(value: Decimal | int | str, factor: int) -> int:
    scaled = Decimal(value) * factor
    if scaled != scaled.to_integral_value():
        raise UnitError(f"{value} is finer than 1/{factor}")
    return int(scaled)
