"""`manage.py create_token`."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from tests.factories import a_member_of, a_tenant

pytestmark = pytest.mark.django_db


def test_the_printed_token_opens_the_api_with_the_scopes_asked_for() -> None:
    user = a_member_of(a_tenant())
    out = StringIO()

    call_command(
        "create_token",
        "--user",
        user.username,
        "--name",
        "ci",
        "--scope",
        "jobs:read",
        "--scope",
        "usage:read",
        stdout=out,
    )

    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {out.getvalue().strip()}")
    assert client.get("/api/v1/me").json()["scopes"] == ["jobs:read", "usage:read"]


@pytest.mark.parametrize("wrong", [["--user", "nobody"], ["--user", "someone", "--scope", "billing:write"]])
def test_a_wrong_user_or_scope_is_bad_usage(wrong: list[str]) -> None:
    type(a_member_of(a_tenant())).objects.update(username="someone")

    with pytest.raises(CommandError) as refused:
        call_command("create_token", *wrong, "--name", "ci")

    assert refused.value.returncode == 2
