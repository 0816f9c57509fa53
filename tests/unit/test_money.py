"""Money is exact, follows ISO 4217 and rounds once; the parts of a document always add up to it."""

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from berth.common.money import (
    CurrencyMismatchError,
    Money,
    UnknownCurrencyError,
    exponent,
    one_currency,
    round_document,
    round_money,
    spread,
)


@pytest.mark.parametrize(
    ("currency", "want"),
    [
        pytest.param("CNY", 2, id="yuan have two decimals"),
        pytest.param("JPY", 0, id="yen have none"),
        pytest.param("KWD", 3, id="dinars have three"),
        pytest.param("HUF", 2, id="forint have two by ISO 4217 although CLDR says none"),
        pytest.param("IDR", 2, id="rupiah have two by ISO 4217 although CLDR says none"),
        pytest.param("CLF", 4, id="unidades de fomento have four"),
    ],
)
def test_the_exponent_follows_iso_4217(currency: str, want: int) -> None:
    """B06."""
    assert exponent(currency) == want


def test_an_unknown_currency_is_named() -> None:
    with pytest.raises(UnknownCurrencyError, match="XXZ"):
        exponent("XXZ")


@pytest.mark.parametrize(
    ("exact", "currency", "want"),
    [
        pytest.param("0.005", "CNY", "0.01", id="half rounds away from zero"),
        pytest.param("-0.005", "CNY", "-0.01", id="a negative half rounds away from zero too"),
        pytest.param("0.0049999999999999999999999999999999", "CNY", "0.00", id="less than half rounds down"),
        pytest.param(
            "1234567890123456789012345678901234.567",
            "CNY",
            "1234567890123456789012345678901234.57",
            id="more digits than a context holds",
        ),
        pytest.param("333.5", "JPY", "334", id="yen round to whole yen"),
        pytest.param("1.0005", "KWD", "1.001", id="dinars round to a thousandth"),
    ],
)
def test_rounding_is_half_away_from_zero(exact: str, currency: str, want: str) -> None:
    rounded = round_money(Decimal(exact), currency)

    assert str(rounded) == want


@pytest.mark.parametrize(
    ("total", "currency", "want"),
    [
        pytest.param("100.00", "CNY", ["33.34", "33.33", "33.33"], id="B01 a hundred over three jobs"),
        pytest.param("1000", "JPY", ["334", "333", "333"], id="B06 yen"),
        pytest.param("10.000", "KWD", ["3.334", "3.333", "3.333"], id="B06 dinars"),
        pytest.param("-100.00", "CNY", ["-33.34", "-33.33", "-33.33"], id="B07 a credit mirrors the charge"),
    ],
)
def test_a_total_over_three_equal_jobs(total: str, currency: str, want: list[str]) -> None:
    parts = spread(Decimal(total), {1: 1, 2: 1, 3: 1}, currency)

    assert [str(parts[job]) for job in (1, 2, 3)] == want


def test_ties_go_to_the_lowest_id_whatever_the_order_of_input() -> None:
    """B03."""
    weights = [(11, 3), (12, 3), (13, 3), (14, 1)]
    shuffled = random.Random(3)

    for _ in range(1000):
        shuffled.shuffle(weights)
        parts = spread(Decimal("0.05"), dict(weights), "CNY")
        assert [str(parts[job]) for job in (11, 12, 13, 14)] == ["0.02", "0.02", "0.01", "0.00"]


def test_seven_sevenths_of_a_card_hour_add_up_to_its_price() -> None:
    """B25."""
    parts = round_document({job: Fraction("12.50") / 7 for job in range(1, 8)}, "CNY")

    assert [str(parts[job]) for job in range(1, 8)] == ["1.79"] * 4 + ["1.78"] * 3


def test_crediting_every_line_brings_a_document_to_zero() -> None:
    """B07."""
    lines = {job: Fraction(100, 3) for job in (1, 2, 3)} | {4: Fraction(1, 700)}
    charged = round_document(lines, "CNY")
    credited = round_document({job: -amount for job, amount in lines.items()}, "CNY")

    assert all(charged[job] + credited[job] == 0 for job in lines)


def test_no_line_of_a_mixed_document_changes_its_sign() -> None:
    exact = {1: Fraction(9, 1000), 2: Fraction(9, 1000), 3: Fraction(-9, 1000), 4: Fraction(0)}
    rounded = round_document(exact, "CNY")

    assert sum(rounded.values()) == Decimal("0.01")
    assert rounded[1] >= 0
    assert rounded[3] <= 0
    assert rounded[4] == 0


def test_a_million_tenths_are_a_hundred_thousand() -> None:
    """B04."""
    total = Money(Decimal(0), "CNY")
    tenth = Money(Decimal("0.1"), "CNY")
    for _ in range(1_000_000):
        total += tenth

    assert total == Money(Decimal("100000.0"), "CNY")


@pytest.mark.parametrize(
    "act", [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a < b], ids=["add", "subtract", "compare"]
)
def test_currencies_never_mix(act) -> None:
    """B08."""
    with pytest.raises(CurrencyMismatchError):
        act(Money(Decimal(1), "CNY"), Money(Decimal(1), "USD"))


def test_a_document_has_one_currency() -> None:
    """B08."""
    assert one_currency({"CNY"}) == "CNY"
    with pytest.raises(CurrencyMismatchError, match="CNY and USD"):
        one_currency({"USD", "CNY"})


def test_an_amount_with_nothing_to_carry_it_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to be spread over"):
        spread(Decimal("1.00"), {}, "CNY")
    with pytest.raises(ValueError, match="finer"):
        spread(Decimal("1.001"), {1: 1}, "CNY")
