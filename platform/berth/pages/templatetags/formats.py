"""Filters that write numbers, money and times in the reader's language and zone: thin doors to berth.pages.numbers and times."""

from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.translation import get_language, ngettext

from berth.common import clock as business
from berth.common.reasons import amounts_text
from berth.common.units import MILLI, from_milli, mib_to_gib
from berth.pages import numbers, times

register = template.Library()


@register.filter
def quantity(value: Decimal | int | str | None, decimals: int | None = None) -> str:
    """Grouped; with `decimals` given, always that many, so that a column lines up."""
    if value is None or value == "":
        return numbers.UNKNOWN
    return numbers.quantity(value) if decimals is None else numbers.quantity(value, least=decimals, most=decimals)


@register.filter
def pod_range(role: Any) -> str:
    """How many pods a role may have: 4, or 1–4 where it has a range (SCH-10)."""
    most = numbers.quantity(role.replicas)
    return most if role.minimum == role.replicas else f"{numbers.quantity(role.minimum)}–{most}"


@register.filter
def cards(milli: int | None) -> str:
    """Milli-cards as cards: 0.25, 32."""
    return numbers.UNKNOWN if milli is None else numbers.quantity(from_milli(milli))


@register.filter
def some_cards(milli: int) -> str:
    """Milli-cards with the word for them: 1 card, 0.25 cards, 32 cards."""
    return amounts_text({"gpu": milli})


@register.filter
def card_word(milli: int | None) -> str:
    """The word alone, for where the number stands out before it."""
    return ngettext("card", "cards", 1 if milli == MILLI else 2)


@register.filter
def resource_amount(value: int | None, resource: str) -> str:
    """An inner integer (milli-cards, millicores, MiB) as people write it for that resource."""
    if value is None:
        return numbers.UNKNOWN
    if resource in ("gpu", "cpu"):
        return numbers.quantity(from_milli(value))
    if resource in ("memory", "vram"):
        return numbers.quantity(mib_to_gib(value), most=1)
    return numbers.quantity(value)


@register.filter
def money_amount(amount: Decimal | str | None, currency: str) -> str:
    return numbers.UNKNOWN if amount is None else numbers.money_amount(amount, currency)


@register.filter
def money(amount: Decimal | str | None, currency: str) -> str:
    return numbers.UNKNOWN if amount is None else numbers.money(amount, currency, get_language())


@register.simple_tag
def money_range(low: Decimal | str, high: Decimal | str, currency: str) -> str:
    return numbers.money_range(low, high, currency, get_language())


@register.simple_tag
def estimate_range(estimate: Any) -> str:
    """An estimate without currency, for places that name it once: 3,200–4,100."""
    low, high = numbers.quantity(estimate.low, most=0), numbers.quantity(estimate.high, most=0)
    return f"~{low}" if low == high else f"{low}–{high}"


@register.filter
def key_amount(value: int, key: str) -> str:
    """An inner integer by contract resource key (`gpu:a100-80g`, `cpu`, `memory_gib`, `vram_gib`, `nodes`)."""
    resource = key.partition(":")[0].removesuffix("_gib")
    return resource_amount(value, resource)


@register.filter
def rate(price: Decimal | str | None) -> str:
    return numbers.UNKNOWN if price is None else numbers.rate(price)


@register.filter
def percent_of(part: int | Decimal | None, whole: int | Decimal | None) -> str:
    return numbers.UNKNOWN if part is None or not whole else numbers.percent(part, whole)


@register.filter
def nearest(rate: Fraction) -> int:
    """A rate as a whole number of things."""
    return round(rate)


@register.filter
def ppm(value: int | None) -> str:
    """Parts per million as a percentage."""
    return numbers.UNKNOWN if value is None else numbers.percent(value, 1_000_000)


@register.filter
def ordinal(number: int) -> str:
    return numbers.ordinal(number, get_language())


@register.filter
def shortened(name: str, width: int = 36) -> str:
    return numbers.shortened(name, width=width)


@register.filter
def duration(seconds: float | None) -> str:
    return numbers.UNKNOWN if seconds is None else times.duration(seconds, get_language())


@register.filter
def coarse(seconds: float) -> str:
    """A duration that goes on, without what changes every second: 27 min."""
    return times.coarse(seconds, get_language())


@register.filter
def age(at: datetime | None) -> str:
    """How long ago in business time, coarse: "in this state 27 min"."""
    return numbers.UNKNOWN if at is None else times.coarse((business.now() - at).total_seconds(), get_language())


@register.filter
def clock(at: datetime | None) -> str:
    """Today the time, else the date and time."""
    if at is None:
        return numbers.UNKNOWN
    return times.clock(at, zone=timezone.get_current_timezone(), now=business.now())


@register.filter
def clock_seconds(at: datetime | None) -> str:
    if at is None:
        return numbers.UNKNOWN
    return times.clock(at, zone=timezone.get_current_timezone(), now=business.now(), seconds=True)


@register.filter
def stamp(at: datetime | None) -> str:
    """2026-11-22 14:32."""
    return numbers.UNKNOWN if at is None else times.stamp(at, zone=timezone.get_current_timezone())


@register.filter
def stamp_seconds(at: datetime | None) -> str:
    """2026-11-22 14:32:05."""
    return numbers.UNKNOWN if at is None else times.stamp(at, zone=timezone.get_current_timezone(), seconds=True)


@register.simple_tag
def stretch(first: datetime, last: datetime) -> str:
    """2026-11-22 14:32:05 – 15:00:00, of something that was held."""
    return times.stretch(first, last, zone=timezone.get_current_timezone())


@register.filter
def in_zone(at: datetime, zone: str) -> str:
    """2026-11-22 14:32 in a named zone: documents are written in their billing zone, not in their reader's."""
    return times.stamp(at, zone=ZoneInfo(zone))


@register.filter
def prose(at: datetime) -> str:
    return times.prose(at, zone=timezone.get_current_timezone(), language=get_language())


@register.simple_tag
def time_span(first: datetime, last: datetime) -> str:
    return times.span(first, last, zone=timezone.get_current_timezone(), now=business.now())


@register.filter
def month(period: str) -> str:
    return times.month(period, get_language())


@register.simple_tag
def zone_name() -> str:
    return times.zone_name(timezone.get_current_timezone(), business.now())
