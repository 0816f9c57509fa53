"""Whatever the amounts and cuts: parts add up, order does not matter, and no second is lost or doubled."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from berth.common.money import EXPONENTS, round_document, round_in_groups, round_money
from berth.common.units import UNITS_PER_CARD
from billing.metering import CardTime, Span, account, cut, span
from billing.rating import Meter, Price, worth

START = datetime(2026, 4, 1, tzinfo=UTC)

currencies = st.sampled_from(sorted(EXPONENTS))
exact_amounts = st.fractions(min_value=-10_000, max_value=10_000, max_denominator=3600 * 7000)
documents = st.dictionaries(st.integers(1, 10_000), exact_amounts, max_size=30)
microseconds = st.integers(0, 40 * 24 * 3600 * 10**6)


def instant(microsecond: int) -> datetime:
    return START + timedelta(microseconds=microsecond)


@given(documents, currencies)
def test_the_lines_of_any_document_add_up_to_its_rounded_total(exact: dict[int, Fraction], currency: str) -> None:
    """B01, B02."""
    lines = round_document(exact, currency)

    assert sum(lines.values(), Decimal(0)) == round_money(sum(exact.values(), Fraction(0)), currency)


@given(documents, currencies)
def test_a_credited_document_is_the_mirror_of_the_charge(exact: dict[int, Fraction], currency: str) -> None:
    """B07."""
    lines = round_document(exact, currency)
    mirror = round_document({line: -amount for line, amount in exact.items()}, currency)

    assert all(lines[line] + mirror[line] == 0 for line in exact)


@given(documents, currencies, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(exact: dict[int, Fraction], currency: str, random) -> None:
    """B03."""
    shuffled = list(exact.items())
    random.shuffle(shuffled)

    assert round_document(dict(shuffled), currency) == round_document(exact, currency)


@given(documents, currencies)
def test_no_line_moves_by_a_whole_unit(exact: dict[int, Fraction], currency: str) -> None:
    unit = Fraction(1, 10 ** EXPONENTS[currency])
    lines = round_document(exact, currency)

    assert all(abs(Fraction(lines[line]) - amount) < unit for line, amount in exact.items())
    assert all(Fraction(lines[line]) * amount >= 0 for line, amount in exact.items())


@given(documents, st.integers(1, 5), currencies)
def test_groups_of_lines_keep_within_a_unit_of_their_exact_sums(
    exact: dict[int, Fraction], groups: int, currency: str
) -> None:
    """B02, BIL-06: the document is rounded once; neither a line nor a group of lines moves by a whole unit."""
    unit = Fraction(1, 10 ** EXPONENTS[currency])
    lines = round_in_groups(exact, lambda line: line % groups, currency)

    assert sum(lines.values(), Decimal(0)) == round_money(sum(exact.values(), Fraction(0)), currency)
    assert all(abs(Fraction(lines[line]) - amount) < unit for line, amount in exact.items())
    for group in range(groups):
        inside = [line for line in exact if line % groups == group]
        assert abs(sum((Fraction(lines[line]) - exact[line] for line in inside), Fraction(0))) < unit


@given(documents, st.integers(1, 5), currencies, st.randoms(use_true_random=False))
def test_neither_order_nor_sign_changes_what_groups_get(
    exact: dict[int, Fraction], groups: int, currency: str, random
) -> None:
    """B03, B07."""
    shuffled = list(exact.items())
    random.shuffle(shuffled)
    lines = round_in_groups(exact, lambda line: line % groups, currency)
    mirror = round_in_groups({line: -amount for line, amount in exact.items()}, lambda line: line % groups, currency)

    assert round_in_groups(dict(shuffled), lambda line: line % groups, currency) == lines
    assert all(lines[line] + mirror[line] == 0 for line in exact)


@given(microseconds, microseconds, st.lists(microseconds, max_size=20))
def test_cutting_loses_no_second(first: int, last: int, cuts: list[int]) -> None:
    """B11, B24."""
    whole = span(instant(min(first, last)), instant(max(first, last)))
    if whole is None:
        return
    pieces = cut(whole, [instant(each) for each in cuts])

    assert sum(piece.seconds for piece in pieces) == whole.seconds
    assert pieces[0].start == whole.start
    assert pieces[-1].end == whole.end
    assert all(earlier.end == later.start for earlier, later in pairwise(pieces))


@given(st.lists(microseconds, min_size=2, max_size=20))
def test_consecutive_holders_of_a_card_share_no_second(edges: list[int]) -> None:
    """B12, B24."""
    ordered = [instant(edge) for edge in sorted(edges)]
    pieces = [span(start, end) for start, end in pairwise(ordered)]
    whole = span(ordered[0], ordered[-1])

    assert sum(piece.seconds for piece in pieces if piece) == (whole.seconds if whole else 0)


@given(
    st.integers(1, UNITS_PER_CARD),
    st.integers(2, 10**7),
    st.lists(st.integers(1, 10**7), max_size=20),
    st.decimals("0", "999", places=6),
)
def test_attempts_cost_what_one_run_costs(share: int, seconds: int, cuts: list[int], amount: Decimal) -> None:
    """B05."""
    standing = Price(1, Meter.CARD_HOUR, "h100", "", amount, "CNY", START, None)
    whole = Span(START, START + timedelta(seconds=seconds))
    pieces = cut(whole, [START + timedelta(seconds=each) for each in cuts])

    in_pieces = sum((worth(Meter.CARD_HOUR, share * piece.seconds, standing) for piece in pieces), Fraction(0))

    assert in_pieces == worth(Meter.CARD_HOUR, share * seconds, standing)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), max_size=8), st.integers(1, 500))
def test_every_second_of_a_card_is_allocated_down_or_idle(pairs: list[tuple[int, int]], length: int) -> None:
    """B11, B56."""
    present = Span(START, START + timedelta(seconds=length))
    spans = [Span(START + timedelta(seconds=a), START + timedelta(seconds=b)) for a, b in pairs if a < b <= length]
    held = [(piece, UNITS_PER_CARD // 8) for piece in spans]

    found = account([present], held, spans[::2])

    assert found.total == present.seconds * UNITS_PER_CARD
    assert found.allocated == sum(piece.seconds * units for piece, units in held)
    assert min(found.allocated, found.down, found.idle) >= 0
    assert found + CardTime(0, 0, 0) == found
