"""`/tokens`, and what a token may do at most."""

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from berth.common import clock
from tenants.models import ApiToken, AuditEvent, IdempotencyKey
from tests.api.conftest import ClientFor
from tests.api.problems import code_of, wrong_fields
from tests.factories import a_member_of, a_tenant, a_token, an_admin_of

pytestmark = pytest.mark.django_db

URL = "/api/v1/tokens"


def _with(secret: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def test_a_new_token_works_and_its_secret_is_shown_once(client_for: ClientFor) -> None:
    client = client_for(a_member_of(a_tenant()))

    made = client.post(URL, {"name": "nightly", "scopes": ["jobs:read", "jobs:write"]})

    assert made.status_code == 201, made.content
    secret = made.json()["secret"]
    assert secret.startswith(made.json()["prefix"])
    assert _with(secret).get("/api/v1/me").json()["scopes"] == ["jobs:read", "jobs:write"]
    listed = client.get(f"{URL}/{made.json()['id']}").json()
    assert listed["name"] == "nightly"
    assert listed["last_used"] is not None
    assert "secret" not in listed
    assert secret not in str(list(AuditEvent.objects.values())) + str(list(ApiToken.objects.values()))


def test_a_revoked_token_is_refused_from_the_next_request_on(client_for: ClientFor) -> None:
    client = client_for(a_member_of(a_tenant()))
    made = client.post(URL, {"name": "nightly"}).json()
    theirs = _with(made["secret"])
    assert theirs.get("/api/v1/me").status_code == 200

    assert client.delete(f"{URL}/{made['id']}").status_code == 204

    assert code_of(theirs.get("/api/v1/me")) == (401, "unauthenticated")
    assert made["id"] not in [row["id"] for row in client.get(URL).json()["results"]]


def test_an_expired_token_is_refused(client_for: ClientFor) -> None:
    client = client_for(a_member_of(a_tenant()))
    made = client.post(URL, {"name": "short", "expires": (clock.wall_now() + timedelta(hours=1)).isoformat()}).json()
    theirs = _with(made["secret"])
    assert theirs.get("/api/v1/me").status_code == 200

    ApiToken.objects.filter(pk=made["id"]).update(expiry=clock.wall_now() - timedelta(seconds=1))

    assert theirs.get("/api/v1/me").status_code == 401


def test_a_token_of_a_disabled_user_is_refused() -> None:
    """W07."""
    user = a_member_of(a_tenant())
    client = _with(a_token(user))
    assert client.get("/api/v1/me").status_code == 200

    type(user).objects.filter(pk=user.pk).update(is_active=False)

    assert client.get("/api/v1/me").status_code == 401


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer nonsense", "Bearer \x81", "Basic YTpi", "Token x"])
def test_a_header_that_is_no_token_of_ours_is_401(header: str) -> None:
    client = APIClient()

    answer = client.get("/api/v1/me", HTTP_AUTHORIZATION=header)

    assert code_of(answer) == (401, "unauthenticated")


def test_scopes_narrow_the_role(client_for: ClientFor) -> None:
    """W32."""
    tenant = a_tenant("algo-a")
    reader = client_for(an_admin_of(tenant), scopes=["jobs:read"])

    assert reader.get("/api/v1/tenants").status_code == 200
    assert code_of(reader.get("/api/v1/tenants/algo-a/members")) == (403, "forbidden")
    assert code_of(reader.get(URL)) == (403, "forbidden")
    assert code_of(reader.post(URL, {"name": "x"})) == (403, "forbidden")


def test_a_token_cannot_make_a_wider_one(client_for: ClientFor) -> None:
    client = client_for(an_admin_of(a_tenant()), scopes=["admin"])

    assert code_of(client.post(URL, {"name": "x", "scopes": ["jobs:write"]})) == (403, "forbidden")
    assert client.post(URL, {"name": "x"}).json()["scopes"] == ["admin"]


def test_scopes_beyond_the_role_are_told(client_for: ClientFor) -> None:
    answer = client_for(a_member_of(a_tenant())).post(URL, {"name": "x", "scopes": ["billing:write"]})

    assert wrong_fields(answer) == {"scopes": "unknown"}
    assert "jobs:write" in answer.json()["errors"][0]["detail"]


def test_wrong_bodies_are_told_by_field(client_for: ClientFor) -> None:
    body = {"scopes": ["root"], "expires": "soon", "user": "admin"}

    assert wrong_fields(client_for(a_member_of(a_tenant())).post(URL, body)) == {
        "name": "required",
        "scopes[0]": "invalid-choice",
        "expires": "invalid",
        "user": "unknown-field",
    }


def test_tokens_of_others_are_not_found(client_for: ClientFor) -> None:
    tenant = a_tenant()
    made = client_for(a_member_of(tenant)).post(URL, {"name": "mine"}).json()
    colleague = client_for(an_admin_of(tenant))

    assert code_of(colleague.get(f"{URL}/{made['id']}")) == (404, "not-found")
    assert code_of(colleague.delete(f"{URL}/{made['id']}")) == (404, "not-found")


def test_a_replayed_creation_does_not_show_the_secret_again(client_for: ClientFor) -> None:
    """Q03 for tokens: one token, and no secret kept anywhere."""
    client = client_for(a_member_of(a_tenant()))

    first = client.post(URL, {"name": "x"}, HTTP_IDEMPOTENCY_KEY="k1").json()
    second = client.post(URL, {"name": "x"}, HTTP_IDEMPOTENCY_KEY="k1").json()

    assert second == {**first, "secret": None}
    assert first["secret"] not in str(list(IdempotencyKey.objects.values()))


def test_the_list_takes_the_same_queries_for_any_number_of_tokens(
    client_for: ClientFor, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = a_member_of(a_tenant())
    for _number in range(10):
        a_token(user)
    client = client_for(user)
    client.get(URL)

    with django_assert_num_queries(2):
        client.get(URL)
