"""Bodies are not guessed at: a value of another kind, or a text that hides something, is refused by the name of its field."""

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

from berth.common.bodies import InstantField, StrictSerializer
from tenants.models import Tenant
from tests.api.conftest import ClientFor
from tests.api.problems import wrong_fields
from tests.factories import a_finance_user, a_platform_admin, a_tenant
from tests.integration.money_world import MoneyWorld

pytestmark = pytest.mark.django_db

HIDDEN = ["a\u202eb", "a\u200bb", "\u200b", "a\u2066b", "a\x1bb", "a\u0085b", "a\ufeffb", "a\u2028b", "a\nb"]


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    return MoneyWorld()


@pytest.mark.parametrize("value", [1e308, 1.5, 7, True, ["a"], {"a": "b"}, "", "no such book", "１"])
def test_a_rate_names_its_book_by_a_whole_number_or_a_name(
    world: MoneyWorld, client_for: ClientFor, value: object
) -> None:
    body = {"price_book": value, "meter": "card_hour", "flavor": "h100", "price": "1", "from": "2026-05-01T00:00:00Z"}

    answer = client_for(a_finance_user()).post("/api/v1/rates", body)

    assert set(wrong_fields(answer)) == {"price_book"}


@pytest.mark.parametrize(
    "value", ["1_000", " 5 ", "٥", "５", "1e3", "+1", ".5", "5.", "", "NaN", "Infinity", "0x10", True, [], {}]
)
def test_money_is_written_one_way(world: MoneyWorld, client_for: ClientFor, value: object) -> None:
    client = client_for(a_finance_user())
    rate = {"price_book": "list", "meter": "card_hour", "flavor": "h100", "from": "2026-05-01T00:00:00Z"}

    adjusted = client.post("/api/v1/adjustments", {"tenant": "algo", "amount": value, "reason": "why"})
    priced = client.post("/api/v1/rates", rate | {"price": value})

    assert set(wrong_fields(adjusted)) == {"amount"}
    assert set(wrong_fields(priced)) == {"price"}


@pytest.mark.parametrize("value", ["-5", "5.25", 5, -5.5])
def test_money_is_a_decimal_text_or_a_number(world: MoneyWorld, client_for: ClientFor, value: object) -> None:
    body = {"tenant": "algo", "amount": value, "reason": "two\nlines"}

    assert client_for(a_finance_user()).post("/api/v1/adjustments", body).status_code == 201


@pytest.mark.parametrize("value", ["\u200b", "\u200d", "a\u202eb", "a\x00b", 5, 1e308])
def test_a_reason_can_be_read(world: MoneyWorld, client_for: ClientFor, value: object) -> None:
    body = {"tenant": "algo", "amount": "5", "reason": value}

    assert set(wrong_fields(client_for(a_finance_user()).post("/api/v1/adjustments", body))) == {"reason"}


@pytest.mark.parametrize("value", [5, 1e308, True, ["a"], *HIDDEN])
def test_names_are_texts_that_show_what_they_say(client_for: ClientFor, value: object) -> None:
    a_tenant("algo")
    admin, finance = client_for(a_platform_admin()), client_for(a_finance_user())

    tenant = admin.patch("/api/v1/tenants/algo", {"name": value, "cost_centre": value})
    token = admin.post("/api/v1/tokens", {"name": value})
    book = finance.post("/api/v1/price-books", {"name": value, "currency": "CNY"})

    assert set(wrong_fields(tenant)) == {"name", "cost_centre"}
    assert set(wrong_fields(token)) == set(wrong_fields(book)) == {"name"}
    if value == "a\u202eb":
        assert tenant.json()["errors"][0]["detail"] == "Holds a character that cannot be seen, U+202E."


@pytest.mark.parametrize("name", ["算法一组", "می\u200cخواهم", "👩\u200d💻", "Équipe №1"])
def test_names_of_every_script_are_taken(client_for: ClientFor, name: str) -> None:
    a_tenant("algo")

    assert client_for(a_platform_admin()).patch("/api/v1/tenants/algo", {"name": name}).json()["name"] == name
    assert Tenant.objects.get().name == name


def test_every_instant_of_a_body_is_read_by_the_one_rule() -> None:
    loose = {
        f"{body.__name__}.{name}"
        for body in bodies(StrictSerializer)
        for name, field in body().get_fields().items()
        if isinstance(field, serializers.DateTimeField) and not isinstance(field, InstantField)
    }

    assert loose == set()


def bodies(above: type[Any]) -> Iterator[type[Any]]:
    for each in above.__subclasses__():
        yield each
        yield from bodies(each)
