"""Amounts as answers show them: cards and cores with up to three decimals, GiB, money as a decimal string with its currency."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from berth.common.bodies import number
from berth.common.money import exponent
from berth.common.units import from_milli, mib_to_gib, plain

GIB_KEYS = frozenset({"memory_gib", "vram_gib"})


def cards(milli: int) -> int | float:
    return number(from_milli(milli))


def gib(mib: int) -> int | float:
    return number(mib_to_gib(mib))


def amounts_document(amounts: Mapping[str, int]) -> dict[str, int | float]:
    """By resource key (docs/api-jobs.md), from milli-cards, millicores, MiB and nodes."""
    return {key: _amount(key.partition(":")[0], value) for key, value in amounts.items()}


def _amount(resource: str, value: int) -> int | float:
    if resource in GIB_KEYS:
        return gib(value)
    return value if resource == "nodes" else cards(value)


def money(amount: Decimal | None, currency: str) -> str | None:
    """As exact as it is recorded, with at least the currency's own decimals; None while nothing is recorded."""
    if amount is None:
        return None
    least = Decimal(1).scaleb(-exponent(currency))
    short = plain(amount)
    return f"{short if short != short.quantize(least) else short.quantize(least):f}"


def money_document(amount: Decimal | None, currency: str) -> dict[str, Any]:
    return {"amount": money(amount, currency), "currency": currency}
