"""How instants and durations are written for people (PAGES section 6): 24 hours, ISO dates in tables, the reader's zone."""

from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from babel.dates import format_date

from berth.pages.numbers import is_chinese

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
DAYS_FROM: Final = 2 * DAY
"""From 48 hours on, durations are written in days and hours."""

_UNITS = {
    "en": {"d": " d", "h": " h", "m": " min", "s": " s", "gap": " "},
    "zh": {"d": "天", "h": "小时", "m": "分", "s": "秒", "gap": ""},
}


def duration(seconds: float, language: str | None) -> str:
    """Two units at most: 2 h 14 min, 45 s, 3 d 4 h; 2小时14分, 45秒, 3天4小时."""
    total = max(0, int(seconds))
    unit = _UNITS["zh" if is_chinese(language) else "en"]
    if total < MINUTE:
        return f"{total}{unit['s']}"
    if total < HOUR:
        parts = [(total // MINUTE, "m"), (total % MINUTE, "s")]
    elif total < DAYS_FROM:
        parts = [(total // HOUR, "h"), (total % HOUR // MINUTE, "m")]
    else:
        parts = [(total // DAY, "d"), (total % DAY // HOUR, "h")]
    return unit["gap"].join(f"{count}{unit[name]}" for count, name in parts if count)


def coarse(seconds: float, language: str | None) -> str:
    """One step coarser, for ages that a page does not refresh every second: 27 min, not 27 min 12 s."""
    total = int(seconds)
    if MINUTE <= total < HOUR:
        total -= total % MINUTE
    return duration(total, language)


def clock(at: datetime, *, zone: tzinfo, now: datetime, seconds: bool = False) -> str:
    """Today the time alone, any other day 2026-11-22 14:32."""
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    at_day = local.strftime("%H:%M:%S" if seconds else "%H:%M")
    return at_day if local.date() == today else f"{local:%Y-%m-%d} {at_day}"


def stamp(at: datetime, *, zone: tzinfo, seconds: bool = False) -> str:
    """2026-11-22 14:32, whatever the day: for tables and documents that outlive it."""
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def prose(at: datetime, *, zone: tzinfo, language: str | None) -> str:
    """22 Nov 2026, 14:32; 2026年11月22日 14:32."""
    local = at.astimezone(zone)
    if is_chinese(language):
        return f"{local.year}年{local.month}月{local.day}日 {local:%H:%M}"
    return f"{local.day} {format_date(local, 'MMM', locale='en')} {local.year}, {local:%H:%M}"


def span(first: datetime, last: datetime, *, zone: tzinfo, now: datetime) -> str:
    """16:10–19:40; the date stands only where a day is not today."""
    start, end = first.astimezone(zone), last.astimezone(zone)
    begin = clock(first, zone=zone, now=now)
    if start.replace(second=0, microsecond=0) == end.replace(second=0, microsecond=0):
        return begin
    return f"{begin}–{end:%H:%M}" if start.date() == end.date() else f"{begin}–{stamp(last, zone=zone)}"


def stretch(first: datetime, last: datetime, *, zone: tzinfo) -> str:
    """2026-11-22 23:00:00 – 24:00:00; the end carries its own date where it falls on a later day than midnight."""
    start, end = first.astimezone(zone), last.astimezone(zone)
    if end.date() == start.date():
        closing = f"{end:%H:%M:%S}"
    elif end.date() == start.date() + timedelta(days=1) and end.time() == time.min:
        closing = "24:00:00"
    else:
        closing = stamp(last, zone=zone, seconds=True)
    return f"{stamp(first, zone=zone, seconds=True)} – {closing}"


def month(period: str, language: str | None) -> str:
    """November 2026, 2026年11月, from 2026-11."""
    year, number = (int(part) for part in period.split("-")[:2])
    if is_chinese(language):
        return f"{year}年{number}月"
    return f"{format_date(datetime(year, number, 1), 'MMMM', locale='en')} {year}"  # noqa: DTZ001 - a calendar month


def zone_name(zone: tzinfo, at: datetime) -> str:
    """UTC+8, said once a page."""
    offset = at.astimezone(zone).utcoffset() or timedelta()
    minutes = int(offset.total_seconds()) // MINUTE
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), MINUTE)
    return f"UTC{'+' if minutes > 0 else '−'}{hours}" + (f":{rest:02d}" if rest else "")
