"""`GET /me`."""

import pytest

from tests.api.conftest import ClientFor
from tests.factories import a_finance_user, a_member_of, a_tenant

pytestmark = pytest.mark.django_db


def test_me_tells_user_roles_tenants_and_scopes(client_for: ClientFor) -> None:
    tenant = a_tenant("algo-a")
    member = a_member_of(tenant)

    answer = client_for(member, scopes=["jobs:read"]).get("/api/v1/me")

    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["user"] == member.username
    assert body["roles"] == ["tenant-member"]
    assert body["tenants"] == [{"slug": "algo-a", "name": "algo-a", "role": "tenant-member"}]
    assert body["scopes"] == ["jobs:read"]
    assert answer.headers["RateLimit"].startswith('"tenant";r=99;t=1')


def test_me_of_finance_has_a_platform_role_and_no_tenant(client_for: ClientFor) -> None:
    body = client_for(a_finance_user()).get("/api/v1/me").json()

    assert body["roles"] == ["finance"]
    assert body["tenants"] == []


def test_me_without_a_token_is_401_with_a_challenge(client_for: ClientFor) -> None:
    answer = client_for(None).get("/api/v1/me")

    assert answer.status_code == 401
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "unauthenticated"
    assert "RateLimit" in answer.headers


def test_a_slash_at_the_end_means_the_same_address(client_for: ClientFor) -> None:
    client = client_for(a_member_of(a_tenant()))

    assert client.get("/api/v1/me/").json() == client.get("/api/v1/me").json()
    assert client.get("/api/v1/tenants/?limit=1").status_code == 200
    assert client.get("/api/v1/").status_code == 404
