"""Exact money: ISO 4217 exponents, one rounding rule, and the spread of a rounded total over its parts.

It must not format, convert or store: display belongs to the locale layer, and two currencies never meet here.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeVar

# Minor units by ISO 4217. Written down here because CLDR-based libraries carry cash habits instead (HUF and IDR with no
# decimals), and a bill follows the standard (B06).
_WITHOUT_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_WITH_TWO_DECIMALS = """
AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE
CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW
KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK
PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS
UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG
"""
_WITH_THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND"
_WITH_FOUR_DECIMALS = "CLF UYW"

EXPONENTS: Mapping[str, int] = {
    code: places
    for places, codes in (
        (0, _WITHOUT_DECIMALS),
        (2, _WITH_TWO_DECIMALS),
        (3, _WITH_THREE_DECIMALS),
        (4, _WITH_FOUR_DECIMALS),
    )
    for code in codes.split()
}

Exact = Decimal | Fraction | int


class Ordered(Protocol):
    """An id that ties are broken by."""

    def __lt__(self, other: Any, /) -> bool: ...


Id = TypeVar("Id", bound=Ordered)


class UnknownCurrencyError(ValueError):
    """The code is not a currency of ISO 4217."""


class CurrencyMismatchError(ValueError):
    """Amounts of two currencies were about to be added or compared (B08)."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second} do not mix")


def exponent(currency: str) -> int:
    """Decimals of the currency's smallest unit by ISO 4217; raises UnknownCurrencyError."""
    try:
        return EXPONENTS[currency]
    except KeyError:
        raise UnknownCurrencyError(f"{currency!r} is not an ISO 4217 currency") from None


def round_money(exact: Exact, currency: str) -> Decimal:
    """The amount in whole smallest units, half away from zero, with the currency's number of decimals."""
    places = exponent(currency)
    return _from_units(_round_half_away(Fraction(exact) * 10**places), places)


def money_text(amount: Exact, currency: str) -> str:
    """The amount as scripts read it: a plain decimal with the currency's decimals, no separators and no sign of it."""
    return str(round_money(amount, currency))


def round_document(exact: Mapping[Id, Exact], currency: str) -> dict[Id, Decimal]:
    """Round the sum once and spread it over the parts, so that the parts add up to the rounded sum (BIL-06).

    Each part is cut off towards zero; the smallest units still missing go to the largest remainders, ties by id. No
    part moves by more than one unit or changes its sign, and the mirror image of a document gets the mirror amounts.
    """
    scaled = _scaled(exact, currency)
    return _amounts(_allocate(scaled, _round_half_away(_sum(scaled))), exact, currency)


def round_in_groups(exact: Mapping[Id, Exact], group_of: Callable[[Id], Hashable], currency: str) -> dict[Id, Decimal]:
    """As `round_document`, and every group of parts keeps within one unit of its own exact sum too (BIL-06).

    The sum is rounded once and spread over the groups, and what a group got over its parts; both by largest remainder,
    ties by id (of a group: its first). Spread over the parts at once, many remainders of one group could move its sum by many units.
    """
    scaled = _scaled(exact, currency)
    groups: dict[Hashable, dict[Id, Fraction]] = {}
    for part, amount in scaled.items():
        groups.setdefault(group_of(part), {})[part] = amount
    by_first = {min(parts): parts for parts in groups.values()}
    wholes = _allocate({first: _sum(parts) for first, parts in by_first.items()}, _round_half_away(_sum(scaled)))
    units: dict[Id, int] = {}
    for first, parts in by_first.items():
        units |= _allocate(parts, wholes[first])
    return _amounts(units, exact, currency)


def spread(total: Decimal, weights: Mapping[Id, Exact], currency: str) -> dict[Id, Decimal]:
    """Divide a rounded total over ids by weight, by largest remainder, ties by id (B03); weights are not negative.

    Raises ValueError for a total without a weight to carry it, and for a total finer than the currency.
    """
    if total != round_money(total, currency):
        raise ValueError(f"{total} is finer than {currency}")
    whole = sum((Fraction(weight) for weight in weights.values()), Fraction(0))
    if not whole:
        if total:
            raise ValueError(f"{total} {currency} has nothing to be spread over")
        return dict.fromkeys(weights, total)
    return round_document(
        {part: Fraction(total) * Fraction(weight) / whole for part, weight in weights.items()}, currency
    )


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount of one currency. Adding or comparing two currencies raises CurrencyMismatchError."""

    amount: Decimal
    currency: str

    def __add__(self, other: "Money") -> "Money":
        return Money(self.amount + self._same(other), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        return Money(self.amount - self._same(other), self.currency)

    def __neg__(self) -> "Money":
        return Money(-self.amount, self.currency)

    def __lt__(self, other: "Money") -> bool:
        return self.amount < self._same(other)

    def _same(self, other: "Money") -> Decimal:
        if other.currency != self.currency:
            raise CurrencyMismatchError(self.currency, other.currency)
        return other.amount


def one_currency(currencies: "set[str] | frozenset[str]") -> str:
    """The currency all of them are; raises CurrencyMismatchError for two, ValueError for none."""
    if len(currencies) > 1:
        first, second, *_ = sorted(currencies)
        raise CurrencyMismatchError(first, second)
    for currency in currencies:
        return currency
    raise ValueError("no currency")


def _scaled(exact: Mapping[Id, Exact], currency: str) -> dict[Id, Fraction]:
    scale = 10 ** exponent(currency)
    return {part: Fraction(amount) * scale for part, amount in exact.items()}


def _sum(scaled: Mapping[Id, Fraction]) -> Fraction:
    return sum(scaled.values(), Fraction(0))


def _allocate(scaled: Mapping[Id, Fraction], whole: int) -> dict[Id, int]:
    """`whole`, less than one unit away from the exact sum, in whole units over the parts."""
    units = {part: _towards_zero(amount) for part, amount in scaled.items()}
    missing = whole - sum(units.values())
    sign = -1 if missing < 0 else 1
    by_remainder = sorted(sorted(scaled), key=lambda part: (units[part] - scaled[part]) * sign)
    for part in by_remainder[: abs(missing)]:
        units[part] += sign
    return units


def _amounts(units: Mapping[Id, int], order: Iterable[Id], currency: str) -> dict[Id, Decimal]:
    places = exponent(currency)
    return {part: _from_units(units[part], places) for part in order}


def _towards_zero(value: Fraction) -> int:
    whole = abs(value.numerator) // value.denominator
    return whole if value >= 0 else -whole


def _round_half_away(value: Fraction) -> int:
    rounded = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return rounded if value >= 0 else -rounded


def _from_units(units: int, places: int) -> Decimal:
    # Built from digits, since Decimal division and quantize obey the thread's context precision.
    return Decimal((0 if units >= 0 else 1, tuple(int(digit) for digit in str(abs(units))), -places))
