"""Ways to read one document: every view has the same total, lines lead to their sources, files survive a round trip."""

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest

from billing.api.download import download
from billing.models import LedgerEntry, Rate, Statement, StatementLine
from billing.selectors.documents import VIEWS, view_of
from scheduling.models import LeaseSegment
from tests.integration.money_world import MoneyWorld, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def statement(frozen_clock) -> Statement:
    """Seven jobs of odd lengths, three projects, two flavors, two users, own and borrowed, one correction by hand."""
    frozen_clock("2026-05-02T00:00:00Z")
    world = MoneyWorld().with_prices()
    rows = [
        row(
            f"2026-04-{10 + job}T15:{job:02d}:11Z",
            f"2026-04-{11 + job}T03:0{job}:07Z",
            job=f"=1+{job}",
            card=f"{job}:1/7" if job % 2 else str(job),
            flavor="h100" if job % 3 else "a100",
            user="ann" if job % 2 else "bob",
            borrowed=job == 5,
        )
        for job in range(7)
    ]
    world.load(*rows)
    for number, line in enumerate(world.draft("2026-04").lines.order_by("job_id")):
        StatementLine.objects.filter(pk=line.pk).update(project_name="xyz"[number % 3])
    return world.close("2026-04")


@pytest.mark.parametrize("by", VIEWS)
def test_every_view_has_the_same_total(statement: Statement, by: str) -> None:
    """B02."""
    parts = view_of(statement, by)

    assert sum(part.amount for part in parts) == statement.total
    assert len(parts) >= {"job": 7, "project": 3, "user": 2, "flavor": 2, "day": 8}.get(by, 1)
    assert all(part.amount == round(part.amount, 2) for part in parts)


def test_the_json_file_is_the_document(statement: Statement) -> None:
    """B02, B55."""
    document = json.loads(b"".join(download(statement, "json")))

    assert document["total"] == f"{statement.total:.2f}"
    assert sum(Decimal(line["amount"]) for line in document["lines"]) == statement.total
    assert sum(line["amount"] != "0.00" for line in document["lines"]) == 7


def test_the_csv_file_survives_a_round_trip_and_is_inert(statement: Statement) -> None:
    """B55: the same sum to the cent; a job named =1+1 stays text."""
    text = b"".join(download(statement, "csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text)))

    assert sum(Decimal(line["amount"]) for line in rows) == statement.total
    assert "'=1+1" in {line["job_name"] for line in rows}
    assert not any(cell.startswith(("=", "+", "@", "-")) for line in rows for cell in line.values())


def test_the_csv_file_says_what_was_held_in_whole_card_seconds(statement: Statement) -> None:
    """B55: as the JSON file does; the columns before stay where they were."""
    rows = list(csv.DictReader(io.StringIO(b"".join(download(statement, "csv")).decode())))
    document = json.loads(b"".join(download(statement, "json")))

    assert list(rows[0])[-1] == "card_seconds"
    assert [float(each["card_seconds"] or 0) for each in rows] == [
        each["card_seconds"] or 0 for each in document["lines"]
    ]


@pytest.mark.parametrize("wanted", ["csv", "json"])
def test_a_file_of_many_lines_is_read_and_sent_in_few_pieces(
    statement: Statement, wanted: str, django_assert_max_num_queries: Any
) -> None:
    """BIL-09: neither a query nor a piece of the answer a line."""
    with django_assert_max_num_queries(2):
        response: Any = download(statement, wanted)
        pieces = list(response)

    assert len(pieces) < statement.lines.count()


def test_every_line_can_be_recomputed_from_the_segments(statement: Statement) -> None:
    """B50: an independent sum over what the cluster reported, to the cent after one rounding."""
    exact = Decimal(0)
    for segment in LeaseSegment.objects.select_related("lease__flavor"):
        price = Rate.objects.get(flavor=segment.lease.flavor).price
        seconds = int((segment.during.upper - segment.during.lower).total_seconds())
        exact += Decimal(segment.quantity * seconds) * price / 7000 / 3600

    assert abs(exact - statement.total) <= Decimal("0.005")
    for line in statement.lines.all():
        mine = LedgerEntry.objects.filter(job=line.job)
        assert sum(entry.seconds * entry.cards_u7000 for entry in mine) == line.quantity
        assert abs(line.quantity * (line.unit_price or 0) / 7000 / 3600 - line.amount) < Decimal("0.01")
