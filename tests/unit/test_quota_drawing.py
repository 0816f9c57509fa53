"""The quota bar: own, lent, remaining | nominal | borrowed, can borrow | limit, on one scale and in one order for ever."""

import pytest

from berth.pages.drawing import draw_quota, draw_strip


def kinds(**amounts: int | None) -> list[tuple[str, str, str]]:
    asked = {"nominal": 64, "own": 0, "lent": 0, "remaining": 64, "borrowed": 0, "can_borrow": 0, "limit": 96} | amounts
    return [(bar.kind, bar.x, bar.width) for bar in draw_quota(**asked).bars]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amounts", "want"),
    [
        pytest.param(
            {"own": 32, "lent": 16, "remaining": 16, "can_borrow": 32},
            [
                ("own", "0%", "33.333%"),
                ("lent", "33.333%", "16.667%"),
                ("remaining", "50%", "16.667%"),
                ("can", "66.667%", "33.333%"),
            ],
            id="inside nominal, with room to borrow up to the limit",
        ),
        pytest.param(
            {"own": 64, "remaining": 0, "borrowed": 24, "can_borrow": 8},
            [("own", "0%", "66.667%"), ("borrowed", "66.667%", "25%"), ("can", "91.667%", "8.333%")],
            id="borrowing starts at the nominal tick",
        ),
        pytest.param(
            {"own": 40, "remaining": 0, "nominal": 40, "borrowed": 24, "limit": 40},
            [("own", "0%", "62.5%"), ("borrowed", "62.5%", "37.5%")],
            id="over after a cut: what is held beyond the limit is still drawn",
        ),
    ],
)
def test_parts_touch_in_their_order(amounts: dict[str, int], want: list[tuple[str, str, str]]) -> None:
    assert kinds(**amounts) == want


def test_without_a_limit_the_track_has_an_open_end() -> None:
    drawing = draw_quota(nominal=64, own=64, lent=0, remaining=0, borrowed=16, can_borrow=None, limit=None)

    assert drawing.limit_at is None
    assert (drawing.nominal_at, drawing.open_from) == ("64%", "80%")


def test_a_line_of_nothing_draws_nothing_and_divides_by_nothing() -> None:
    assert draw_quota(nominal=0, own=0, lent=0, remaining=0, borrowed=0, can_borrow=0, limit=0).bars == ()


def test_a_strip_merges_equal_neighbours() -> None:
    bars = draw_strip([("neutral", 30), ("neutral", 30), ("blue", 60), ("amber", 0)])

    assert [(bar.kind, bar.x, bar.width) for bar in bars] == [("neutral", "0%", "50%"), ("blue", "50%", "50%")]
