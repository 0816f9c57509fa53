"""How quantities and money are written for people (PAGES section 6). It shows stored values and must not compute new ones."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from babel.numbers import get_currency_symbol

from berth.common.money import exponent

MINUS: Final = "−"
UNKNOWN: Final = "–"
RATE_DECIMALS: Final = (2, 6)


def is_chinese(language: str | None) -> bool:
    return (language or "").lower().startswith("zh")


def quantity(value: Decimal | int | float | str, *, least: int = 0, most: int = 3) -> str:
    """A grouped number with between `least` and `most` decimals: 12,430.5 in both languages, a real minus sign."""
    exact = Decimal(str(value)).quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_UP)
    text = f"{abs(exact):,.{most}f}"
    if most > least:
        whole, _, decimals = text.partition(".")
        decimals = decimals[:least] + decimals[least:].rstrip("0")
        text = f"{whole}.{decimals}" if decimals else whole
    return f"{MINUS}{text}" if exact < 0 else text


def money_amount(amount: Decimal | str, currency: str) -> str:
    """The amount alone, with the currency's own number of decimals: for columns that name the currency once."""
    places = exponent(currency)
    return quantity(amount, least=places, most=places)


def money(amount: Decimal | str, currency: str, language: str | None) -> str:
    """CNY 3,600.00 in English, ¥3,600.00 in Chinese; credits carry a minus in front of everything."""
    return _with_currency(money_amount(amount, currency), currency, language)


def money_range(low: Decimal | str, high: Decimal | str, currency: str, language: str | None) -> str:
    """An estimate: a range without cents (CNY 3,200–4,100), so that nobody takes it for a bill."""
    first, last = quantity(low, most=0), quantity(high, most=0)
    return _with_currency(first if first == last else f"{first}–{last}", currency, language)


def rate(price: Decimal | str) -> str:
    """A price with at least two and at most six decimals: 12.50, 0.003125."""
    least, most = RATE_DECIMALS
    return quantity(price, least=least, most=most)


def percent(part: Decimal | int, whole: Decimal | int = 1) -> str:
    """86%; – where there is no whole to compare with."""
    if not whole:
        return UNKNOWN
    return quantity(Decimal(part) * 100 / Decimal(whole), most=0) + "%"


def ordinal(number: int, language: str | None) -> str:
    """3rd in English, 第3位 in Chinese."""
    if is_chinese(language):
        return f"第{number}位"
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def shortened(name: str, *, width: int = 36, tail: int = 8) -> str:
    """A long name cut in the middle, its last eight characters kept: they are what tells two runs apart."""
    return name if len(name) <= width else f"{name[: width - tail - 1]}…{name[-tail:]}"


def _with_currency(text: str, currency: str, language: str | None) -> str:
    sign = MINUS if text.startswith(MINUS) else ""
    body = text.removeprefix(MINUS)
    if is_chinese(language):
        symbol = "¥" if currency == "CNY" else get_currency_symbol(currency, "zh_Hans")
        return f"{sign}{symbol}{body}"
    return f"{currency} {sign}{body}"
