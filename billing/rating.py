"""Prices and exact amounts: which price stands at an instant, and what a quantity of card-time is worth (BIL-03, BIL-06).

Pure: prices come in as values, amounts go out as fractions that lose nothing. Rounding happens once per document, in
`berth.common.money.round_document`, and never here: a job cut into any number of pieces costs what one piece costs (B05).
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from berth.common.units import MIB_PER_GIB, MILLI, UNITS_PER_CARD

_HOUR = 3600


class Meter(StrEnum):
    """What a rate prices, as the contract names it."""

    CARD_HOUR = "card_hour"
    BORROWED_CARD_HOUR = "borrowed_card_hour"
    CPU_CORE_HOUR = "cpu_core_hour"
    MEMORY_GIB_HOUR = "memory_gib_hour"
    STORAGE_GB_MONTH = "storage_gb_month"
    EGRESS_GB = "egress_gb"


CARD_METERS = frozenset({Meter.CARD_HOUR, Meter.BORROWED_CARD_HOUR})

PER_UNIT: dict[Meter, int] = {
    Meter.CARD_HOUR: UNITS_PER_CARD * _HOUR,
    Meter.BORROWED_CARD_HOUR: UNITS_PER_CARD * _HOUR,
    Meter.CPU_CORE_HOUR: MILLI * _HOUR,
    Meter.MEMORY_GIB_HOUR: MIB_PER_GIB * _HOUR,
}
"""Metered integers (1/7000 card, millicore, MiB; each times seconds) in one unit of the meter."""

UNITS: dict[Meter, str] = {
    Meter.CARD_HOUR: "card-hour",
    Meter.BORROWED_CARD_HOUR: "card-hour",
    Meter.CPU_CORE_HOUR: "core-hour",
    Meter.MEMORY_GIB_HOUR: "GiB-hour",
    Meter.STORAGE_GB_MONTH: "GB-month",
    Meter.EGRESS_GB: "GB",
}


class MissingPriceError(LookupError):
    """No price stands for a meter, flavor and instant; a bill stops here and is never rated at zero instead (B38)."""

    def __init__(self, *, meter: Meter, flavor: str, tenant: str, instant: datetime) -> None:
        self.meter, self.flavor, self.tenant, self.instant = meter, flavor, tenant, instant
        named = f" of {flavor}" if flavor else ""
        super().__init__(f"no price for {meter.value}{named} for {tenant} at {instant.isoformat()}")


@dataclass(frozen=True, slots=True)
class Price:
    """One version of a price, in force on [start, end). Flavor or tenant "" means any; end None means for good."""

    id: int
    meter: Meter
    flavor: str
    tenant: str
    amount: Decimal
    currency: str
    start: datetime
    end: datetime | None


class PriceList:
    """The prices one tenant can meet, ready for look-up by instant.

    A price for the tenant wins over a general one, and within each a price for the flavor over one for any flavor.
    Borrowed card-hours without a price of their own cost what card-hours cost: borrowing has a price of its own only
    where finance set one (ADR 0012).
    """

    def __init__(self, prices: Iterable[Price], *, tenant: str) -> None:
        self.tenant = tenant
        self._by_key: dict[tuple[Meter, str, str], list[Price]] = {}
        for price in sorted(prices, key=lambda price: (price.start, price.id)):
            if price.tenant in ("", tenant):
                self._by_key.setdefault((price.meter, price.flavor, price.tenant), []).append(price)

    def price_at(self, meter: Meter, flavor: str, instant: datetime) -> Price:
        """The one price in force; raises MissingPriceError naming meter, flavor and instant."""
        price = self.find(meter, flavor, instant)
        if price is None:
            raise MissingPriceError(meter=meter, flavor=flavor, tenant=self.tenant, instant=instant)
        return price

    def find(self, meter: Meter, flavor: str, instant: datetime) -> Price | None:
        """The one price in force, or None."""
        for tenant in (self.tenant, ""):
            for named in (flavor, "") if flavor else ("",):
                price = _standing(self._by_key.get((meter, named, tenant), ()), instant)
                if price is not None:
                    return price
        if meter is Meter.BORROWED_CARD_HOUR:
            return self.find(Meter.CARD_HOUR, flavor, instant)
        return None

    def changes(self) -> list[datetime]:
        """Every instant at which some price starts or ends, in order; usage is cut there before it is rated (B37)."""
        edges = {edge for prices in self._by_key.values() for price in prices for edge in (price.start, price.end)}
        return sorted(edge for edge in edges if edge is not None)


def _standing(prices: "list[Price] | tuple[()]", instant: datetime) -> Price | None:
    position = bisect_right(prices, instant, key=lambda price: price.start) - 1
    if position < 0:
        return None
    price = prices[position]
    return price if price.end is None or instant < price.end else None


def worth(meter: Meter, quantity: int, price: Price) -> Fraction:
    """Exact value of a metered integer (`PER_UNIT`) at a price."""
    return Fraction(price.amount) * quantity / PER_UNIT[meter]


def units(meter: Meter, quantity: int) -> Fraction:
    """A metered integer in the meter's own unit: card-hours, core-hours, GiB-hours."""
    return Fraction(quantity, PER_UNIT[meter])
