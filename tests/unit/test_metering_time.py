"""Time on a bill: months and days of the tenant's zone, real elapsed seconds, half-open edges, whole seconds."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from berth.common.instants import InstantRangeError, parse_instant
from billing.metering import (
    BadClockError,
    Month,
    Span,
    cut,
    day_start,
    midnights,
    span,
    within,
)

HOUR = 3600


def at(text: str) -> datetime:
    return parse_instant(text)


def held(start: str, end: str) -> Span:
    found = span(at(start), at(end))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("zone", "month", "want_hours", "want_cost"),
    [
        pytest.param("Europe/Berlin", "2026-03", "743", "9287.50", id="Berlin loses an hour in March"),
        pytest.param("Europe/Berlin", "2026-10", "745", "9312.50", id="Berlin repeats an hour in October"),
        pytest.param("America/New_York", "2026-11", "721", "9012.50", id="New York repeats an hour in November"),
        pytest.param("Australia/Lord_Howe", "2026-10", "743.5", "9293.75", id="Lord Howe moves by half an hour"),
        pytest.param("Asia/Shanghai", "2026-04", "720", "9000.00", id="Shanghai has plain days"),
        pytest.param("UTC", "2028-02", "696", "8700.00", id="a leap year's February"),
    ],
)
def test_one_card_held_a_whole_month(zone: str, month: str, want_hours: str, want_cost: str) -> None:
    """B32, B35."""
    of_zone, wanted = ZoneInfo(zone), Month.parse(month)
    whole = span(wanted.start(of_zone), wanted.next.start(of_zone))

    assert whole is not None
    assert whole.seconds == Decimal(want_hours) * HOUR
    assert Fraction("12.50") * whole.seconds / HOUR == Fraction(want_cost)


def test_months_of_a_zone_that_moves_its_clock_tile() -> None:
    """B36."""
    zone, month = ZoneInfo("Australia/Lord_Howe"), Month(2026, 1)
    for _ in range(24):
        assert month.start(zone) < month.next.start(zone)
        month = month.next
    assert month == Month(2028, 1)


def test_the_month_boundary_lies_in_the_tenants_zone() -> None:
    """B30, B31."""
    job = held("2026-04-30T14:30:00Z", "2026-04-30T18:00:00Z")

    shanghai = cut(job, [Month(2026, 5).start(ZoneInfo("Asia/Shanghai"))])
    utc = cut(job, [Month(2026, 5).start(UTC)])

    assert [8 * piece.seconds for piece in shanghai] == [12 * HOUR, 16 * HOUR]
    assert [8 * piece.seconds for piece in utc] == [28 * HOUR]


def test_the_repeated_hour_is_one_real_hour() -> None:
    """B33."""
    berlin = ZoneInfo("Europe/Berlin")
    summer = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=0)
    winter = datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=1)
    whole = span(summer, winter)

    assert winter - summer == timedelta(0), "wall-clock subtraction sees nothing: this is what must not happen"
    assert whole is not None
    assert whole.seconds == HOUR


@pytest.mark.parametrize(
    ("start", "end", "want"),
    [
        pytest.param("2016-12-31T23:59:59Z", "2017-01-01T00:00:00Z", 1, id="across the leap second"),
        pytest.param("2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", 1, id="up to the leap second"),
        pytest.param("2016-12-31T23:59:60Z", "2017-01-01T00:00:01Z", 1, id="from the leap second"),
        pytest.param("2017-01-01T07:59:60+08:00", "2017-01-01T00:00:01Z", 1, id="the leap second by a Chinese clock"),
        pytest.param("2016-12-31T23:59:60.750Z", "2017-01-01T00:00:01Z", 1, id="inside the leap second"),
    ],
)
def test_a_leap_second_adds_and_loses_nothing(start: str, end: str, want: int) -> None:
    """B34."""
    assert held(start, end).seconds == want


def test_an_instant_on_the_boundary_belongs_to_the_later_interval_only() -> None:
    """B24."""
    whole = held("2026-11-29T00:00:00Z", "2026-11-29T02:00:00Z")
    first, second = cut(whole, [at("2026-11-29T01:00:00Z")])

    assert first.seconds == second.seconds == HOUR
    assert first.end == second.start
    assert cut(whole, [whole.start, whole.end]) == [whole]
    assert within(first, second.start, second.end) is None


def test_fractions_of_seconds_are_counted_once() -> None:
    """Both ends are floored, so pieces that touch still touch and add up to the floored whole."""
    ends = ["00:00:00.9", "00:00:01.2", "00:00:01.7", "00:00:03.05", "00:00:07.999999"]
    edges = [at(f"2026-11-29T{end}Z") for end in ends]
    pieces = [span(start, end) for start, end in pairwise(edges)]
    whole = span(edges[0], edges[-1])

    assert whole is not None
    assert sum(piece.seconds for piece in pieces if piece) == whole.seconds == 7


def test_a_run_of_whole_seconds_keeps_its_length_wherever_it_starts() -> None:
    start = at("2026-11-29T00:00:00.734211Z")
    whole = span(start, start + timedelta(seconds=10))

    assert whole is not None
    assert whole.seconds == 10


def test_an_end_before_the_start_is_a_bad_clock() -> None:
    """B23."""
    with pytest.raises(BadClockError):
        span(at("2026-11-29T01:00:00Z"), at("2026-11-29T00:59:59Z"))
    assert span(at("2026-11-29T01:00:00Z"), at("2026-11-29T01:00:00Z")) is None


def test_days_are_cut_at_local_midnight() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    whole = held("2026-10-24T12:00:00+02:00", "2026-10-26T12:00:00+01:00")

    pieces = cut(whole, midnights(whole, berlin))

    assert [piece.seconds // HOUR for piece in pieces] == [12, 25, 12]


def test_a_day_without_midnight_begins_where_the_clock_jumps() -> None:
    beirut = ZoneInfo("Asia/Beirut")

    assert day_start(date(2022, 3, 27), beirut) == at("2022-03-26T22:00:00Z")


@pytest.mark.parametrize(
    "text", ["2026-11-29T00:00:00", "2026-11-29", "yesterday", "2026-11-29T00:00:61Z", "2026-11-29T00:60:00Z"]
)
def test_an_instant_needs_an_offset_and_a_real_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"offset|isoformat|must be in|Invalid"):
        parse_instant(text)


@pytest.mark.parametrize(
    "text",
    [
        *("0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2200-01-01T00:00:00.000001Z"),
        *("9999-12-31T23:59:60Z", "9999-12-31T00:00:00-23:00", "2200-01-01T00:00:00-00:01"),
    ],
)
def test_an_instant_outside_the_years_of_bills_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(InstantRangeError, match="is not from 2000-01-01 to 2200-01-01"):
        parse_instant(text)


def test_the_ends_of_the_range_are_accepted() -> None:
    assert parse_instant("2000-01-01T08:00:00+08:00").isoformat() == "2000-01-01T00:00:00+00:00"
    assert parse_instant("2199-12-31T23:59:60Z").isoformat() == "2200-01-01T00:00:00+00:00"


@pytest.mark.parametrize("text", ["9999-12", "1999-12", "2200-01"])
def test_a_month_outside_the_years_of_bills_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(ValueError, match="is not a month from 2000-01 to 2199-12"):
        Month.parse(text)


@pytest.mark.parametrize("text", ["2026-13", "2026-4", "202604", "2026-04-01", "0000-01", "２０２６-04", ""])
def test_a_month_is_written_one_way(text: str) -> None:
    with pytest.raises(ValueError, match="not a month"):
        Month.parse(text)
