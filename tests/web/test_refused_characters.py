"""A NUL in an address, a form or a cookie is a wrong request, on every page and below the API; never an error of ours."""

import pytest
from django.test import Client

from tests.factories import a_platform_admin

pytestmark = pytest.mark.django_db

ADDRESSES = (
    *(
        f"/jobs/?{name}=%00"
        for name in ("q", "user", "queue", "flavor", "node", "reason", "project", "label", "tenant")
    ),
    *("/?tenant=%00", "/?%00=1", "/quota/?tenant=%00", "/statements/?tenant=a%00b", "/statements/%00/", "/jobs/%00/"),
    *("/admin/tenants/tenant/?state__exact=%00", "/admin/tenants/tenant/?q=%00", "/admin/login/?next=%00"),
    *("/accounts/login/?next=%00", "/submit/?clone=%00", "/%00", "/static/%00"),
    *("/api/v1/jobs?q=%00", "/api/v1/jobs?tenant=%00", "/api/v1/usage?by=%00", "/api/v1/schema?a%00=1"),
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_nul_in_an_address_is_refused(client: Client, address: str) -> None:
    client.force_login(a_platform_admin())
    client.raise_request_exception = False

    answer = client.get(address)

    assert answer.status_code == 400
    if address.startswith("/api/"):
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "invalid"
        assert answer.json()["errors"][0]["location"] == "query"
    else:
        assert "This request cannot be read" in answer.content.decode()


@pytest.mark.parametrize("address", ["/accounts/login/", "/submit/", "/submit/preview/", "/preferences/"])
def test_a_nul_in_a_form_is_refused(client: Client, address: str) -> None:
    client.force_login(a_platform_admin())
    client.raise_request_exception = False

    assert client.post(address, {"name": "a\x00b"}).status_code == 400


def test_a_nul_in_a_cookie_is_refused(client: Client) -> None:
    client.raise_request_exception = False
    client.cookies["sessionid"] = "abcdefgh\x00"

    assert client.get("/").status_code == 400
