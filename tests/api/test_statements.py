"""Statements by REST: their own tenant's people and finance read them, finance closes and corrects, others see nothing (B56)."""

import csv
import io
from decimal import Decimal
from typing import Any, cast

import pytest

from tenants.models import AuditEvent
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_finance_user, a_member_of, an_admin_of
from tests.integration.money_world import MoneyWorld, cards, row

pytestmark = pytest.mark.django_db

URL = "/api/v1/statements"


@pytest.fixture
def world(frozen_clock) -> MoneyWorld:
    frozen_clock("2026-05-02T00:00:00Z")
    world = MoneyWorld().with_prices()
    world.add_tenant("beta")
    world.load(
        *cards(8, "2026-04-10T10:00:00Z", "2026-04-10T11:00:00Z", job="=1+1"),
        *cards(8, "2026-04-10T12:00:00Z", "2026-04-10T12:22:00Z", job="l", reason="node-lost", last_alive="2026-04-10T12:17:00Z"),
        row("2026-04-10T14:00:00Z", "2026-04-10T15:00:00Z", tenant="beta"),
    )  # fmt: skip
    return world


def test_a_member_reads_drafts_of_the_own_tenant_only(world: MoneyWorld, client_for: ClientFor) -> None:
    """B56."""
    client = client_for(a_member_of(world.tenant))

    found = client.get(URL, {"period": "2026-04"}).json()["results"]

    assert [(each["number"], each["state"], each["total"], each["currency"]) for each in found] == [
        ("draft-algo-2026-04", "draft", "128.33", "CNY")
    ]
    assert (found[0]["from"], found[0]["to"]) == ("2026-03-31T16:00:00Z", "2026-04-30T16:00:00Z")
    assert client.get(f"{URL}/draft-algo-2026-04").json()["total"] == "128.33"


@pytest.mark.parametrize("path", ["", "/lines", "/download", "/breakdown?by=job"])
def test_an_outsider_finds_nothing(world: MoneyWorld, client_for: ClientFor, path: str) -> None:
    """B56: 404, as for what does not exist."""
    client = client_for(a_member_of(world.tenant))

    assert code_of(client.get(f"{URL}/draft-beta-2026-04{path}")) == (404, "not-found")
    assert code_of(client.get(f"{URL}/draft-none-2026-04{path}")) == (404, "not-found")


def test_lines_say_what_was_charged_and_what_was_not(world: MoneyWorld, client_for: ClientFor) -> None:
    """B14."""
    client = client_for(a_member_of(world.tenant))

    lines = client.get(f"{URL}/draft-algo-2026-04/lines").json()["results"]

    seen = [
        (line["kind"], line["flavor"], line["borrowed"], line["card_seconds"], line["unit_price"], line["amount"])
        for line in lines
    ]
    assert seen == [
        ("usage", "h100", False, 28_800, "12.50", "100.00"),
        ("excluded", "h100", False, 2_400, "12.50", "0.00"),
        ("usage", "h100", False, 8_160, "12.50", "28.33"),
    ]
    assert (lines[0]["quantity"], lines[0]["unit"], lines[0]["job_name"]) == (8, "card-hour", "=1+1")
    assert (lines[1]["reason"], lines[1]["worth"]) == ("platform-fault", "8.33")
    narrowed = client.get(f"{URL}/draft-algo-2026-04/lines", {"kind": "excluded"}).json()["results"]
    assert [line["id"] for line in narrowed] == [lines[1]["id"]]


def test_a_line_leads_to_what_the_cluster_ran(world: MoneyWorld, client_for: ClientFor) -> None:
    """B50, BIL-08."""
    client = client_for(a_member_of(world.tenant))
    line = client.get(f"{URL}/draft-algo-2026-04/lines").json()["results"][0]

    sources = client.get(f"{URL}/draft-algo-2026-04/lines/{line['id']}/sources").json()["results"]

    assert {(source["node"], source["card"], source["seconds"], source["cards"]) for source in sources} == {
        ("c1/n000", card, 3600, 1) for card in range(8)
    }


def test_views_and_files_add_up_to_the_total(world: MoneyWorld, client_for: ClientFor) -> None:
    """B02, B55; downloads are in the audit trail."""
    client = client_for(a_member_of(world.tenant))
    number = "draft-algo-2026-04"

    for by in ("job", "user", "project", "queue", "flavor", "kind", "meter", "day"):
        parts = client.get(f"{URL}/{number}/breakdown", {"by": by}).json()
        assert sum(Decimal(part["amount"]) for part in parts) == Decimal("128.33"), by
    text = b"".join(cast(Any, client.get(f"{URL}/{number}/download", {"format": "csv"})).streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    document = client.get(f"{URL}/{number}/download", {"format": "json"}).json()

    assert sum(Decimal(line["amount"]) for line in rows) == Decimal("128.33")
    assert {line["job_name"] for line in rows} == {"'=1+1", "l"}
    assert document["total"] == "128.33"
    assert AuditEvent.objects.filter(action="statement.download").count() == 2


def test_finance_closes_and_closing_again_answers_the_same(world: MoneyWorld, client_for: ClientFor) -> None:
    """B48."""
    client = client_for(a_finance_user())

    first = client.post("/api/v1/periods/2026-04/close", {})
    second = client.post("/api/v1/periods/2026-04/close", {"tenant": "algo"})

    assert first.status_code == second.status_code == 200
    issued = {each["tenant"]: (each["number"], each["total"]) for each in first.json()["statements"]}
    assert issued == {"algo": ("000001", "128.33"), "beta": ("000002", "12.50")}
    assert [each["number"] for each in second.json()["statements"]] == ["000001"]
    assert client.get(f"{URL}/000001").json()["state"] == "issued"


def test_what_stops_a_close_is_named(world: MoneyWorld, client_for: ClientFor) -> None:
    """B38, BIL-07."""
    client = client_for(a_finance_user())
    world.flavors["new"] = type(world.flavors["h100"]).objects.create(name="new", pool=world.pool)
    world.load(row("2026-04-11T10:00:00Z", "2026-04-11T11:00:00Z", flavor="new"))

    missing = client.post("/api/v1/periods/2026-04/close", {"tenant": "algo"})
    early = client.post("/api/v1/periods/2026-05/close", {"tenant": "algo"})

    assert code_of(missing) == (409, "price-missing")
    assert "card_hour of new for algo at 2026-04-11T10:00:00Z" in missing.json()["detail"]
    assert code_of(early) == (409, "period-not-ended")
    assert code_of(client.post("/api/v1/periods/2026-13/close", {})) == (404, "not-found")
    assert code_of(client.post("/api/v1/periods/1999-01/close", {})) == (404, "not-found")
    assert wrong_fields(client.post("/api/v1/periods/2026-04/close", {"tenant": "none"}))


@pytest.mark.parametrize("role", [a_member_of, an_admin_of])
def test_a_tenant_does_not_close(world: MoneyWorld, client_for: ClientFor, role) -> None:
    client = client_for(role(world.tenant))

    assert code_of(client.post("/api/v1/periods/2026-04/close", {"tenant": "algo"})) == (403, "forbidden")
    assert code_of(client.post("/api/v1/adjustments", {})) == (403, "forbidden")


def test_an_adjustment_is_on_the_next_statement(world: MoneyWorld, client_for: ClientFor) -> None:
    """B45; the same key and body post once."""
    client = client_for(a_finance_user())
    client.post("/api/v1/periods/2026-04/close", {})
    body = {
        "tenant": "algo",
        "period": "2026-05",
        "refers_to": "000001",
        "amount": "-28.33",
        "reason": "our node was slow",
    }

    answers = [client.post("/api/v1/adjustments", body, headers={"Idempotency-Key": "k1"}) for _ in range(2)]
    late = client.post("/api/v1/adjustments", {**body, "period": "2026-04"})

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert code_of(late) == (409, "period-closed")
    lines = client.get(f"{URL}/draft-algo-2026-05/lines").json()["results"]
    assert [(line["kind"], line["amount"], line["charged_period"]) for line in lines] == [
        ("adjustment", "-28.33", "2026-04")
    ]


def test_every_wrong_field_of_an_adjustment_is_listed(world: MoneyWorld, client_for: ClientFor) -> None:
    client = client_for(a_finance_user())

    wrong = client.post("/api/v1/adjustments", {"tenant": "none", "period": "05-2026", "amount": "x", "colour": 1})
    fine = client.post("/api/v1/adjustments", {"tenant": "algo", "amount": "0.001", "currency": "USD", "reason": "x"})

    assert set(wrong_fields(wrong)) == {"tenant", "period", "amount", "reason", "colour"}
    assert set(wrong_fields(fine)) == {"amount", "currency"}


def test_lists_cost_a_constant_number_of_queries(
    world: MoneyWorld, client_for: ClientFor, django_assert_max_num_queries
) -> None:
    client = client_for(a_finance_user())
    client.get(URL)

    with django_assert_max_num_queries(8):
        client.get(URL)
    with django_assert_max_num_queries(8):
        client.get(f"{URL}/draft-algo-2026-04/lines")
