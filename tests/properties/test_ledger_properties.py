"""Whatever was held and however it arrived: the ledger has each second once, and a statement is the sum of the ledger."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth.common import clock
from berth.common.money import round_money
from billing.models import LedgerEntry
from tests.integration.money_world import MoneyWorld, row

START = datetime(2026, 3, 30, tzinfo=UTC)

holdings = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(1, 40 * 3600 * 1000), st.booleans(), st.sampled_from(["", ":1/7", ":250"])
    ),
    min_size=1,
    max_size=12,
)


def rows_of(held: list[tuple[int, int, bool, str]]) -> list[str]:
    """Each card's holders one after the other, each starting where the one before ended, to the millisecond."""
    ends = dict.fromkeys(range(4), START)
    rows = []
    for number, (card, milliseconds, borrowed, share) in enumerate(held):
        start, ends[card] = ends[card], ends[card] + timedelta(milliseconds=milliseconds)
        rows.append(
            row(
                start.isoformat(),
                ends[card].isoformat(),
                card=f"{card}{share}",
                job=str(number),
                borrowed=borrowed,
                event=f"e{number}",
            )
        )
    return rows


@pytest.mark.django_db
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(holdings, st.randoms(use_true_random=False))
def test_the_ledger_has_each_second_once_and_bills_are_its_sum(held: list[tuple[int, int, bool, str]], random) -> None:
    """B05, B11, B15, B17."""
    with transaction.atomic(), clock.frozen_at(datetime(2026, 6, 10, tzinfo=UTC)):
        world = MoneyWorld().with_prices()
        rows = rows_of(held)
        shuffled = [*rows, *rows[: len(rows) // 2]]
        random.shuffle(shuffled)
        cut = random.randint(0, len(shuffled))
        world.load(*shuffled[:cut])
        world.load(*shuffled[cut:])

        want = sum(seconds_held(held))
        entries = list(LedgerEntry.objects.all())
        bills = [world.close(month) for month in ("2026-03", "2026-04", "2026-05")]

        assert sum(entry.seconds * entry.cards_u7000 for entry in entries) == want
        assert sum(line.quantity for bill in bills for line in bill.lines.all()) == want
        exact = {
            bill.pk: sum(
                (Fraction(line.quantity) * Fraction("12.5") / 7000 / 3600 for line in bill.lines.all()), Fraction(0)
            )
            for bill in bills
        }
        assert all(bill.total == round_money(exact[bill.pk], "CNY") for bill in bills)
        assert all(bill.total == sum((line.amount for line in bill.lines.all()), Decimal(0)) for bill in bills)
        transaction.set_rollback(True)


def seconds_held(held: list[tuple[int, int, bool, str]]) -> list[int]:
    """1/7000 card × whole seconds of each holding, both ends floored."""
    units = {"": 7000, ":1/7": 1000, ":250": 1750}
    ends = dict.fromkeys(range(4), 0)
    found = []
    for card, milliseconds, _borrowed, share in held:
        start, ends[card] = ends[card], ends[card] + milliseconds
        found.append((ends[card] // 1000 - start // 1000) * units[share])
    return found
