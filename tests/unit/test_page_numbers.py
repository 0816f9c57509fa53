"""How numbers, money and times are written for people, in both languages (PAGES section 6)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from berth.pages import numbers, times

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 22, 6, 32, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("12430.5", "12,430.5"),
        ("0.250", "0.25"),
        ("32.000", "32"),
        ("-1250", "−1,250"),
        ("0.0005", "0.001"),
    ],
)
def test_quantities_are_grouped_with_at_most_three_decimals(value: str, want: str) -> None:
    assert numbers.quantity(Decimal(value)) == want


@pytest.mark.parametrize(
    ("amount", "currency", "language", "want"),
    [
        ("3600", "CNY", "en", "CNY 3,600.00"),
        ("3600", "CNY", "zh-hans", "¥3,600.00"),
        ("-1250", "CNY", "en", "CNY −1,250.00"),
        ("-1250", "CNY", "zh-hans", "−¥1,250.00"),
        ("3600", "JPY", "en", "JPY 3,600"),
    ],
)
def test_money_carries_its_currency_its_decimals_and_a_real_minus(
    amount: str, currency: str, language: str, want: str
) -> None:
    assert numbers.money(Decimal(amount), currency, language) == want


@pytest.mark.parametrize(
    ("end", "want"),
    [
        (datetime(2026, 11, 22, 7, 0, 0, tzinfo=UTC), "2026-11-22 14:32:05 – 15:00:00"),
        (datetime(2026, 11, 22, 16, 0, 0, tzinfo=UTC), "2026-11-22 14:32:05 – 24:00:00"),
        (datetime(2026, 11, 22, 17, 0, 0, tzinfo=UTC), "2026-11-22 14:32:05 – 2026-11-23 01:00:00"),
        (datetime(2026, 11, 23, 16, 0, 0, tzinfo=UTC), "2026-11-22 14:32:05 – 2026-11-24 00:00:00"),
    ],
)
def test_what_was_held_never_seems_to_end_before_it_began(end: datetime, want: str) -> None:
    assert times.stretch(NOW, end, zone=SHANGHAI) == want


def test_estimates_are_ranges_without_cents() -> None:
    assert numbers.money_range("3200.40", "4100.10", "CNY", "en") == "CNY 3,200–4,100"
    assert numbers.money_range("3200.40", "3200.10", "CNY", "zh-hans") == "¥3,200"


@pytest.mark.parametrize(("price", "want"), [("12.5", "12.50"), ("0.003125", "0.003125"), ("0", "0.00")])
def test_rates_have_two_to_six_decimals(price: str, want: str) -> None:
    assert numbers.rate(price) == want


@pytest.mark.parametrize(
    ("place", "want"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (121, "121st")]
)
def test_places_are_ordinals_in_english_and_counted_in_chinese(place: int, want: str) -> None:
    assert numbers.ordinal(place, "en") == want
    assert numbers.ordinal(place, "zh-hans") == f"第{place}位"


def test_a_long_name_is_cut_in_the_middle_and_keeps_its_last_eight() -> None:
    name = "tokenizer-ablation-lowercase-bpe-64k-seed-000017-rerun"

    short = numbers.shortened(name)

    assert len(short) == 36
    assert short.endswith("17-rerun")
    assert numbers.shortened("short") == "short"


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (45, "45 s", "45秒"),
        (252, "4 min 12 s", "4分12秒"),
        (8040, "2 h 14 min", "2小时14分"),
        (7200, "2 h", "2小时"),
        (172_799, "47 h 59 min", "47小时59分"),
        (273_600, "3 d 4 h", "3天4小时"),
    ],
)
def test_durations_have_two_units_and_days_from_48_hours(seconds: int, english: str, chinese: str) -> None:
    assert times.duration(seconds, "en") == english
    assert times.duration(seconds, "zh-hans") == chinese


def test_today_is_a_time_and_another_day_is_a_date_too() -> None:
    assert times.clock(NOW, zone=SHANGHAI, now=NOW) == "14:32"
    assert times.clock(NOW, zone=SHANGHAI, now=NOW, seconds=True) == "14:32:05"
    assert times.clock(NOW - timedelta(hours=15), zone=SHANGHAI, now=NOW) == "2026-11-21 23:32"


def test_prose_dates_follow_the_language() -> None:
    assert times.prose(NOW, zone=SHANGHAI, language="en") == "22 Nov 2026, 14:32"
    assert times.prose(NOW, zone=SHANGHAI, language="zh-hans") == "2026年11月22日 14:32"


def test_a_range_names_a_day_only_where_it_is_not_today() -> None:
    later = NOW + timedelta(hours=3)

    assert times.span(NOW, later, zone=SHANGHAI, now=NOW) == "14:32–17:32"
    assert times.span(NOW, NOW + timedelta(days=1), zone=SHANGHAI, now=NOW) == "14:32–2026-11-23 14:32"
    assert times.span(NOW, NOW, zone=SHANGHAI, now=NOW) == "14:32"


def test_the_zone_is_said_as_an_offset() -> None:
    assert times.zone_name(SHANGHAI, NOW) == "UTC+8"
    assert times.zone_name(ZoneInfo("America/St_Johns"), NOW) == "UTC−3:30"
    assert times.zone_name(UTC, NOW) == "UTC"


def test_months_are_named() -> None:
    assert times.month("2026-11", "en") == "November 2026"
    assert times.month("2026-11", "zh-hans") == "2026年11月"
