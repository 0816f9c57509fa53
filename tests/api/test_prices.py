"""Price books and rates by REST: finance sets them, everybody sees the list and what was agreed with them (BIL-03)."""

import pytest

from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_finance_user, a_member_of
from tests.integration.money_world import MoneyWorld, cards

pytestmark = pytest.mark.django_db

RATES = "/api/v1/rates"


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-20T00:00:00Z")
    return MoneyWorld()


def body(world: MoneyWorld, **fields: object) -> dict[str, object]:
    return {
        "price_book": world.book.pk,
        "meter": "card_hour",
        "flavor": "h100",
        "price": "12.50",
        "from": "2026-05-01T00:00:00Z",
        **fields,
    }


def test_finance_makes_a_book_and_a_rate(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_finance_user())

    book = client.post("/api/v1/price-books", {"name": "2026", "currency": "CNY"})
    rate = client.post(RATES, body(world, price_book=book.json()["id"]))

    assert (book.status_code, rate.status_code) == (201, 201)
    assert rate.json() == {
        "id": rate.json()["id"],
        "price_book": book.json()["id"],
        "meter": "card_hour",
        "flavor": "h100",
        "tenant": None,
        "price": "12.50",
        "currency": "CNY",
        "from": "2026-05-01T00:00:00Z",
        "to": None,
    }


def test_a_price_in_force_can_only_be_ended(world: MoneyWorld, client_for: ClientFor) -> None:
    """B39."""
    client = client_for(a_finance_user())
    rate = client.post(RATES, body(world)).json()

    edited = client.patch(f"{RATES}/{rate['id']}", {"price": "1.00"})
    ended = client.patch(f"{RATES}/{rate['id']}", {"to": "2026-05-15T00:00:00Z"})
    second = client.post(RATES, body(world, price="10.00", **{"from": "2026-05-15T00:00:00Z"}))

    assert set(wrong_fields(edited)) == {"price", "to"}
    assert ended.json()["to"] == "2026-05-15T00:00:00Z"
    assert ended.json()["price"] == "12.50"
    assert second.status_code == 201


def test_overlapping_prices_are_refused(world: MoneyWorld, client_for: ClientFor) -> None:
    """B38."""
    client = client_for(a_finance_user())
    client.post(RATES, body(world))

    assert code_of(client.post(RATES, body(world, price="1"))) == (409, "rate-overlap")


def test_a_corrected_price_re_rates_the_draft(world: MoneyWorld, client_for: ClientFor) -> None:
    """B49: 100.00 becomes 80.00, and the draft before stays readable."""
    client = client_for(a_finance_user())
    rate = client.post(RATES, body(world)).json()
    world.load(*cards(8, "2026-05-10T10:00:00Z", "2026-05-10T11:00:00Z"))
    before = client.get("/api/v1/statements/draft-algo-2026-05").json()

    client.patch(f"{RATES}/{rate['id']}", {"to": rate["from"]})
    client.post(RATES, body(world, price="10.00"))

    after = client.get("/api/v1/statements/draft-algo-2026-05").json()
    (superseded,) = after["superseded"]
    assert (before["total"], after["total"]) == ("100.00", "80.00")
    assert client.get(f"/api/v1/statements/{superseded}").json()["total"] == "100.00"
    listed = client.get("/api/v1/statements", {"period": "2026-05", "superseded": "true"}).json()["results"]
    assert {each["number"] for each in listed} == {"draft-algo-2026-05", superseded}


def test_every_wrong_field_of_a_rate_is_listed(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_finance_user())

    wrong = client.post(RATES, {"price_book": 0, "meter": "moon", "flavor": "none", "price": "-1", "tenant": "x"})
    unnamed = client.post(RATES, body(world, flavor=None, to="2026-04-01T00:00:00Z", currency="USD"))

    assert set(wrong_fields(wrong)) == {"price_book", "meter", "flavor", "price", "tenant", "from"}
    assert set(wrong_fields(unnamed)) == {"flavor", "to", "currency"}


def test_a_member_sees_the_list_and_the_own_prices_only(world: MoneyWorld, client_for: ClientFor) -> None:
    """B56: what was agreed with others is not there."""
    beta, _queue = world.add_tenant("beta")
    world.price("12.50")
    world.price("9.00", tenant=world.tenant)
    agreed = world.price("8.00", tenant=beta)
    client = client_for(a_member_of(world.tenant))

    seen = [(rate["tenant"], rate["price"]) for rate in client.get(RATES).json()["results"]]

    assert seen == [(None, "12.50"), ("algo", "9.00")]
    assert code_of(client.get(f"{RATES}/{agreed.pk}")) == (404, "not-found")
    assert code_of(client.post(RATES, body(world))) == (403, "forbidden")
    assert [book["name"] for book in client.get("/api/v1/price-books").json()["results"]] == ["list"]


def test_a_rate_names_its_book_by_id_or_by_name(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_finance_user())

    rate = client.post(RATES, body(world, price_book=world.book.name))

    assert (rate.status_code, rate.json()["price_book"]) == (201, world.book.pk)
    assert len(client.get(f"{RATES}?currency=CNY").json()["results"]) == 1
    assert wrong_fields(client.post(RATES, body(world, price_book="none"))) == {"price_book": "does-not-exist"}


@pytest.mark.parametrize(
    ("start", "want"),
    [
        ("9999-12-31T00:00:00-23:00", "out-of-range"),
        ("0001-01-01T00:00:00+23:59", "out-of-range"),
        ("2200-01-01T00:00:01Z", "out-of-range"),
        ("2026-05-01T00:00:00", "invalid"),
        (20260501, "invalid"),
    ],
)
def test_a_rate_starts_and_ends_within_the_years_of_bills(
    world: MoneyWorld, client_for: ClientFor, start: object, want: str
) -> None:
    client = client_for(a_finance_user())

    answer = client.post(RATES, body(world) | {"from": start, "to": start})

    assert wrong_fields(answer) == {"from": want, "to": want}
    if want == "out-of-range":
        assert "from 2000-01-01 to 2200-01-01" in answer.json()["errors"][0]["detail"]
