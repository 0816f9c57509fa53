"""What API tests start from: clients that come in by token, one per user."""

from collections.abc import Callable, Sequence

import pytest
from rest_framework.test import APIClient

from tenants.models import User
from tests.factories import a_token

ClientFor = Callable[..., APIClient]


@pytest.fixture
def client_for() -> ClientFor:
    """A function from a user (and the scopes of the token) to a client with that token; None = not signed in."""

    def make(user: User | None, scopes: Sequence[str] | None = None) -> APIClient:
        client = APIClient(raise_request_exception=False)
        if user is not None:
            client.credentials(HTTP_AUTHORIZATION=f"Bearer {a_token(user, scopes=scopes)}")
        client.default_format = "json"
        return client

    return make
