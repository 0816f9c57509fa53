"""Usage by REST: charged card-seconds, own and borrowed, and what was not charged, in any grouping."""

import pytest

from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_finance_user, a_member_of
from tests.integration.money_world import MoneyWorld, row

pytestmark = pytest.mark.django_db

URL = "/api/v1/usage"
APRIL = {"from": "2026-04-01T00:00:00+08:00", "to": "2026-05-01T00:00:00+08:00"}


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    world = MoneyWorld().with_prices()
    world.add_tenant("beta")
    world.load(
        row("2026-04-10T15:00:00Z", "2026-04-10T17:00:00Z", user="ann"),
        row("2026-04-12T15:00:00Z", "2026-04-12T16:00:00Z", job="2", user="bob", flavor="a100", borrowed=True),
        row("2026-04-13T10:00:00Z", "2026-04-13T10:22:00Z", job="3", reason="node-lost", last_alive="2026-04-13T10:17:00Z"),
        row("2026-04-14T10:00:00Z", "2026-04-14T11:00:00Z", tenant="beta"),
    )  # fmt: skip
    return world


def rows_of(answer) -> list[tuple[str, float, float, float, float]]:
    assert answer.status_code == 200, answer.content
    return [
        (row["key"], row["card_seconds"], row["own"], row["borrowed"], row["excluded"])
        for row in answer.json()["results"]
    ]


def test_card_seconds_are_own_and_borrowed(world: MoneyWorld, client_for: ClientFor) -> None:
    """B14: 1,020 seconds were charged, 300 were not."""
    client = client_for(a_member_of(world.tenant))

    assert rows_of(client.get(URL, {"tenant": "algo", **APRIL})) == [("", 11_820, 8_220, 3_600, 300)]
    assert rows_of(client.get(URL, {**APRIL, "group_by": "day"})) == [
        ("2026-04-10", 3_600, 3_600, 0, 0),
        ("2026-04-11", 3_600, 3_600, 0, 0),
        ("2026-04-12", 3_600, 0, 3_600, 0),
        ("2026-04-13", 1_020, 1_020, 0, 300),
    ]
    assert rows_of(client.get(URL, {**APRIL, "group_by": "flavor,user"})) == [
        ("a100/bob", 3_600, 0, 3_600, 0),
        ("h100/ann", 8_220, 8_220, 0, 300),
    ]


def test_the_sum_over_tenants_is_the_whole(world: MoneyWorld, client_for: ClientFor) -> None:
    """B56."""
    client = client_for(a_finance_user())

    whole = rows_of(client.get(URL, APRIL))[0][1]
    parts = [rows_of(client.get(URL, {"tenant": slug, **APRIL}))[0][1] for slug in ("algo", "beta")]

    assert whole == sum(parts) == 15_420


def test_a_window_cuts_what_it_meets(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_member_of(world.tenant))
    window = {"from": "2026-04-10T15:30:00Z", "to": "2026-04-10T16:30:00Z"}

    assert rows_of(client.get(URL, window)) == [("", 3_600, 3_600, 0, 0)]


def test_an_outsider_finds_nothing(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_member_of(world.tenant))

    assert code_of(client.get(URL, {"tenant": "beta"})) == (404, "not-found")
    assert code_of(client_for(None).get(URL)) == (401, "unauthenticated")


def test_every_wrong_parameter_is_named(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_member_of(world.tenant))

    wrong = client.get(URL, {"from": "x", "to": "2026-04-31", "group_by": "moon"})

    assert set(wrong_fields(wrong)) == {"from", "to", "group_by"}
    assert set(wrong_fields(client.get(URL, {"colour": "red"}))) == {"colour"}


def test_a_day_stands_for_its_first_instant_and_groups_may_be_repeated(
    world: MoneyWorld, client_for: ClientFor
) -> None:
    client = client_for(a_member_of(world.tenant))
    days = {"from": "2026-04-12", "to": "2026-04-13"}

    assert rows_of(client.get(URL, days)) == [("", 3_600, 0, 3_600, 0)]
    assert rows_of(client.get(f"{URL}?from=2026-04-12&to=2026-04-13&group_by=flavor&group_by=user")) == [
        ("a100/bob", 3_600, 0, 3_600, 0)
    ]
    assert set(wrong_fields(client.get(URL, {"from": "2026-04-31"}))) == {"from"}


def test_a_report_is_whole_unless_a_limit_is_given(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_member_of(world.tenant))

    whole = client.get(URL, {**APRIL, "group_by": "day"}).json()
    first = client.get(URL, {**APRIL, "group_by": "day", "limit": "3"}).json()
    last = client.get(first["next"]).json()

    assert whole["next"] is None
    assert first["results"] + last["results"] == whole["results"]
    assert (len(first["results"]), last["next"]) == (3, None)
