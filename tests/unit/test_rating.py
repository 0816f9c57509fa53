"""One price stands at an instant: the tenant's before the general one, cut where it changes, and never zero by default."""

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from berth.common.money import round_money
from billing.metering import Span, cut
from billing.rating import Meter, MissingPriceError, Price, PriceList, units, worth

CARD = 7000
HOUR = 3600


def at(day: int, hour: int = 0) -> datetime:
    return datetime(2026, 4, day, hour, tzinfo=UTC)


APRIL = at(1)


def price(
    amount: str,
    *,
    version: int = 1,
    meter: Meter = Meter.CARD_HOUR,
    flavor: str = "h100",
    tenant: str = "",
    start: datetime = APRIL,
    end: datetime | None = None,
) -> Price:
    return Price(version, meter, flavor, tenant, Decimal(amount), "CNY", start, end)


def test_a_price_change_in_mid_job_gives_two_amounts() -> None:
    """B37: 8 cards from 22:00 to 01:00, 12.50 until midnight and 10.00 after, are 200.00 + 80.00."""
    prices = PriceList([price("12.50", version=1, end=at(15)), price("10.00", version=2, start=at(15))], tenant="a")

    pieces = cut(Span(at(14, 22), at(15, 1)), prices.changes())
    amounts = [
        worth(Meter.CARD_HOUR, 8 * CARD * piece.seconds, prices.price_at(Meter.CARD_HOUR, "h100", piece.start))
        for piece in pieces
    ]

    assert amounts == [200, 80]


def test_an_hour_in_slices_of_one_second_costs_one_hour() -> None:
    """B05."""
    standing = price("12.50")
    slices = [worth(Meter.CARD_HOUR, CARD, standing) for _ in range(HOUR)]

    assert round_money(sum(slices, Fraction(0)), "CNY") == Decimal("12.50")
    assert sum(round_money(amount, "CNY") for amount in slices) == Decimal("0.00"), "what rounding early would bill"


@pytest.mark.parametrize(
    ("prices", "want"),
    [
        pytest.param([price("12.50"), price("9.00", version=2, tenant="a")], "9.00", id="the tenant's own price wins"),
        pytest.param(
            [price("12.50"), price("9.00", version=2, tenant="b")], "12.50", id="another tenant's price is not seen"
        ),
        pytest.param(
            [price("5.00", flavor=""), price("12.50", version=2)],
            "12.50",
            id="a price for the flavor wins over one for any",
        ),
        pytest.param([price("5.00", flavor="")], "5.00", id="a price for any flavor"),
        pytest.param(
            [price("9.00", tenant="a", flavor=""), price("12.50", version=2)], "9.00", id="tenant goes before flavor"
        ),
        pytest.param(
            [price("9.00", tenant="a", end=at(3)), price("12.50", version=2)],
            "12.50",
            id="the general price where the tenant's has ended",
        ),
        pytest.param(
            [price("1.00", end=at(5)), price("2.00", version=2, start=at(5))],
            "2.00",
            id="the boundary belongs to the later price",
        ),
    ],
)
def test_which_price_stands(prices: list[Price], want: str) -> None:
    found = PriceList(prices, tenant="a").price_at(Meter.CARD_HOUR, "h100", at(5))

    assert found.amount == Decimal(want)


def test_borrowed_hours_cost_what_card_hours_cost_unless_priced() -> None:
    plain = PriceList([price("12.50")], tenant="a")
    priced = PriceList([price("12.50"), price("8.00", version=2, meter=Meter.BORROWED_CARD_HOUR)], tenant="a")

    assert plain.price_at(Meter.BORROWED_CARD_HOUR, "h100", at(5)).amount == Decimal("12.50")
    assert priced.price_at(Meter.BORROWED_CARD_HOUR, "h100", at(5)).amount == Decimal("8.00")


@pytest.mark.parametrize(
    "prices",
    [
        pytest.param([], id="no price at all"),
        pytest.param([price("12.50", flavor="a100")], id="only another flavor"),
        pytest.param([price("12.50", end=at(5))], id="a price that ended"),
        pytest.param([price("12.50", start=at(6))], id="a price that starts later"),
        pytest.param([price("12.50", start=at(5), end=at(5))], id="a price that was withdrawn before it stood"),
        pytest.param([price("0.00", meter=Meter.CPU_CORE_HOUR, flavor="")], id="only another meter"),
    ],
)
def test_a_missing_price_is_named(prices: list[Price]) -> None:
    """B38."""
    with pytest.raises(MissingPriceError, match=r"card_hour of h100 for a at 2026-04-05T00:00:00\+00:00"):
        PriceList(prices, tenant="a").price_at(Meter.CARD_HOUR, "h100", at(5))


def test_every_meter_counts_in_its_own_unit() -> None:
    assert units(Meter.CARD_HOUR, 8 * CARD * HOUR) == 8
    assert units(Meter.CPU_CORE_HOUR, 64_000 * HOUR) == 64
    assert units(Meter.MEMORY_GIB_HOUR, 512 * 1024 * HOUR) == 512
    assert worth(Meter.CPU_CORE_HOUR, 64_000 * HOUR, price("0.10", meter=Meter.CPU_CORE_HOUR)) == Fraction("6.40")
