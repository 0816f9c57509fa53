"""Errors as the whole API answers them: RFC 9457, both languages, nothing that ends in a 500."""

import json
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tenants.models import Tenant
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_member_of, a_platform_admin, a_tenant, an_admin_of
from tests.factories.worlds import a_world

pytestmark = pytest.mark.django_db

MEBIBYTE = 1024 * 1024


def _post(client: APIClient, body: str | bytes, content_type: str = "application/json") -> Any:
    # The stubs know text only.
    return client.generic("POST", "/api/v1/tenants", body, content_type=content_type)  # type: ignore[arg-type]


def test_a_problem_has_the_members_of_rfc_9457_and_a_code(client_for: ClientFor) -> None:
    answer = client_for(a_platform_admin()).get("/api/v1/tenants/nobody")

    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:berth:problem:not-found",
        "title": "Not found",
        "status": 404,
        "code": "not-found",
        "detail": "Not found, or not visible to you.",
    }


def test_a_wrong_field_is_told_by_pointer_and_by_name(client_for: ClientFor) -> None:
    answer = client_for(a_platform_admin()).post("/api/v1/tenants", {"slug": "ok", "name": "ok", "weight": 1e12})

    [wrong] = answer.json()["errors"]
    assert wrong["location"] == "body"
    assert wrong["pointer"] == "/weight"
    assert wrong["field"] == "weight"
    assert wrong["code"] == "out-of-range"
    assert "from 0 to 1000" in wrong["detail"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="open"),
        pytest.param("nonsense", id="nonsense"),
        pytest.param('{"slug": NaN}', id="nan"),
        pytest.param('{"a": Infinity}', id="infinity"),
        pytest.param('{"weight": 1e400}', id="beyond-a-double"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(b"\xff\xfe", id="no-utf-8"),
        pytest.param('{"slug": "a",}', id="trailing-comma"),
    ],
)
def test_what_is_no_json_is_400(client_for: ClientFor, body: str | bytes) -> None:
    """W33."""
    assert code_of(_post(client_for(a_platform_admin()), body)) in {(400, "malformed"), (400, "invalid")}


@pytest.mark.parametrize("body", ["[]", '"text"', "17", "null", "true"])
def test_json_that_is_no_object_is_400(client_for: ClientFor, body: str) -> None:
    assert code_of(_post(client_for(a_platform_admin()), body)) == (400, "invalid")


@pytest.mark.parametrize("text", ["a\\u0000b", "\\ud800", "\\udc00x"])
def test_text_that_cannot_be_stored_is_told_by_field(client_for: ClientFor, text: str) -> None:
    answer = _post(client_for(a_platform_admin()), f'{{"slug": "ok", "name": "{text}"}}')

    assert wrong_fields(answer) == {"name": "invalid"}


def test_a_name_of_a_member_that_cannot_be_stored_is_400(client_for: ClientFor) -> None:
    assert code_of(_post(client_for(a_platform_admin()), '{"\\u0000": 1}')) == (400, "invalid")


def test_a_body_that_is_too_large_is_413(client_for: ClientFor) -> None:
    """W33."""
    body = json.dumps({"slug": "x", "name": "x" * 2 * MEBIBYTE})

    assert code_of(_post(client_for(a_platform_admin()), body)) == (413, "too-large")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_that_does_not_say_json_is_415(client_for: ClientFor, kind: str) -> None:
    """W24."""
    answer = _post(client_for(a_platform_admin()), '{"slug": "x", "name": "x"}', content_type=kind)

    assert code_of(answer) == (415, "unsupported-media-type")


@pytest.mark.parametrize(
    "path", ["/api/v1/tenants/%00", "/api/v1/tokens/99999999999999999999", "/api/v1/nothing", "/api/nothing"]
)
def test_an_address_that_leads_nowhere_is_a_problem_too(client_for: ClientFor, path: str) -> None:
    answer = client_for(a_platform_admin()).get(path)

    assert code_of(answer) == (404, "not-found")
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_nul_in_a_query_is_told_by_name(client_for: ClientFor) -> None:
    answer = client_for(a_platform_admin()).get("/api/v1/quota-requests?tenant=a%00b")

    assert wrong_fields(answer) == {"tenant": "invalid"}


@pytest.mark.parametrize("method", ["put", "delete"])
def test_a_method_without_a_declared_action_is_405(client_for: ClientFor, method: str) -> None:
    a_tenant("algo-a")

    answer = getattr(client_for(a_platform_admin()), method)("/api/v1/tenants/algo-a", {})

    assert code_of(answer) == (405, "method-not-allowed")
    assert "GET" in answer.headers["Allow"]


def test_html_is_not_had_and_the_refusal_is_a_problem(client_for: ClientFor) -> None:
    answer = client_for(a_platform_admin()).get("/api/v1/tenants", HTTP_ACCEPT="text/html")

    assert code_of(answer) == (406, "not-acceptable")


def test_problems_speak_the_language_asked_for(client_for: ClientFor) -> None:
    answer = client_for(a_platform_admin()).get("/api/v1/tenants/nobody", HTTP_ACCEPT_LANGUAGE="zh-hans")

    assert answer.json()["code"] == "not-found"
    assert answer.headers["Content-Language"] == "zh-hans"


def test_a_session_needs_its_csrf_token_to_write_and_a_token_does_not(client_for: ClientFor) -> None:
    """W22."""
    admin = a_platform_admin()
    page = Client(enforce_csrf_checks=True)
    page.force_login(admin)
    body = {"slug": "by-page", "name": "by page"}

    refused = page.post("/api/v1/tenants", json.dumps(body), content_type="application/json")
    page.get("/api/v1/me")
    read = page.get("/api/v1/tenants")
    allowed = client_for(admin).post("/api/v1/tenants", {"slug": "by-token", "name": "by token"})

    assert refused.status_code == 403
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert read.status_code == 200
    assert allowed.status_code == 201
    assert [tenant.slug for tenant in Tenant.objects.all()] == ["by-token"]


def test_a_wrong_bearer_header_is_not_rescued_by_a_session() -> None:
    page = Client()
    page.force_login(a_member_of(a_tenant()))

    assert page.get("/api/v1/me", HTTP_AUTHORIZATION="Bearer nonsense").status_code == 401
    assert page.get("/api/v1/me").status_code == 200


def test_answers_are_not_kept_by_caches(client_for: ClientFor) -> None:
    """W42."""
    answer = client_for(an_admin_of(a_tenant())).get("/api/v1/tenants")

    assert answer.headers["Cache-Control"] == "no-store"


def test_the_schema_and_its_readable_form_are_served() -> None:
    client = Client()

    schema = client.get("/api/schema/")
    page = client.get("/api/docs/")

    assert schema.status_code == 200
    assert page.status_code == 200
    assert b"https://" not in page.content
    assert b"<script>" not in page.content


def test_an_unknown_flavor_is_listed_also_where_the_number_of_cards_is_wrong(client_for: ClientFor) -> None:
    world = a_world()
    body = world.body(tier="gold", roles=[world.role(resources={"gpu": -1, "flavors": ["nope"]})])

    answer = client_for(world.member).post("/api/v1/jobs", body)

    assert set(wrong_fields(answer)) == {"tier", "roles[0].resources.gpu", "roles[0].resources.flavors[0]"}


@pytest.mark.parametrize(
    ("sent", "want"),
    [
        ('{"slug": "a", "slug": "b", "name": "n"}', {"slug"}),
        ('{"slug": "a", "labels": {"x": 1, "x": 1, "y": [{"z": 1, "z": 2}]}}', {"labels.x", "labels.y.0.z"}),
        ('{"\\ud800": 1, "\\ud800": 2}', {"body", ""}),
    ],
)
def test_a_name_that_stands_twice_is_told_and_neither_value_is_taken(
    client_for: ClientFor, sent: str, want: set[str]
) -> None:
    assert set(wrong_fields(_post(client_for(a_platform_admin()), sent))) <= want


@pytest.mark.parametrize(
    "sent", ['{"a": ' * 65 + "1" + "}" * 65, '{"a": ' + "[" * 900 + "]" * 900 + "}", "[" * 100_000]
)
def test_a_body_that_is_nested_too_deep_is_malformed(client_for: ClientFor, sent: str) -> None:
    assert code_of(_post(client_for(a_platform_admin()), sent)) == (400, "malformed")
