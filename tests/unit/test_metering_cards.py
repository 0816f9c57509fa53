"""Card-time: shares are integers of 1/7000 card, and every second of a card is accounted for once."""

from datetime import UTC, datetime, timedelta

import pytest

from billing.metering import CardTime, Span, account, parse_card

START = datetime(2026, 4, 1, tzinfo=UTC)
HOUR = 3600
CARD = 7000


def hours(first: float, last: float) -> Span:
    return Span(START + timedelta(hours=first), START + timedelta(hours=last))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("3", (3, 7000), id="a whole card"),
        pytest.param("0:250", (0, 1750), id="a quarter in milli-cards"),
        pytest.param("3:1/7", (3, 1000), id="a seventh"),
        pytest.param("3:3/7", (3, 3000), id="a MIG instance of three sevenths"),
        pytest.param("12:1", (12, 7), id="one milli-card"),
        pytest.param("3:1000", (3, 7000), id="all thousand milli-cards"),
    ],
)
def test_cards_and_shares_are_read(text: str, want: tuple[int, int]) -> None:
    """B25."""
    assert parse_card(text) == want


@pytest.mark.parametrize(
    "text", ["", "a", "-1", "3:", "3:0", "3:1001", "3:1/0", "3:8/7", "3:1/3", "3:1/7/2", "3:0.25", "３", "3 ", "1:²"]
)
def test_a_share_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_card(text)


@pytest.mark.parametrize("text", ["9" * 5000, f"3:{'9' * 5000}", f"3:1/{'9' * 5000}"])
def test_a_long_value_is_not_echoed_whole(text: str) -> None:
    with pytest.raises(ValueError, match="characters") as caught:
        parse_card(text)

    assert len(str(caught.value)) < 200


def test_a_month_of_512_cards_is_partitioned() -> None:
    """B11: 1,327,104,000 card-seconds = allocated 900,000,000 + down 10,000,000 + idle 417,104,000."""
    month = hours(0, 720)
    held = [900_000_000 // 512] * 512
    down = [10_000_000 // 512] * 512
    held[0] += 900_000_000 - sum(held)
    down[0] += 10_000_000 - sum(down)

    total = CardTime(0, 0, 0)
    for busy, out in zip(held, down, strict=True):
        busy_until = month.start + timedelta(seconds=busy)
        total += account(
            [month], [(Span(month.start, busy_until), CARD)], [Span(busy_until, busy_until + timedelta(seconds=out))]
        )

    assert total == CardTime(900_000_000 * CARD, 10_000_000 * CARD, 417_104_000 * CARD)
    assert total.total == 1_327_104_000 * CARD


def test_lent_hours_are_counted_once() -> None:
    """B27: of 100 cards × 10 h, A uses 300, B borrows 400, 300 stay idle."""
    day = hours(0, 10)
    cards = [[(day, CARD)] if card < 70 else [] for card in range(100)]

    total = sum((account([day], held, []) for held in cards), CardTime(0, 0, 0))

    assert (total.allocated, total.idle) == (700 * HOUR * CARD, 300 * HOUR * CARD)


def test_shares_of_a_card_leave_the_rest_of_it_idle() -> None:
    found = account([hours(0, 1)], [(hours(0, 1), 1000), (hours(0, 0.5), 1750)], [])

    assert found == CardTime(allocated=1000 * HOUR + 1750 * HOUR // 2, down=0, idle=6000 * HOUR - 1750 * HOUR // 2)


def test_more_than_a_card_cannot_be_held() -> None:
    """B12."""
    with pytest.raises(ValueError, match="held"):
        account([hours(0, 1)], [(hours(0, 1), CARD), (hours(0.5, 1), 7)], [])
    with pytest.raises(ValueError, match="held"):
        account([hours(0, 1)], [(hours(0, 2), CARD)], [])
