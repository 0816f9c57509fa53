"""Limits: how many requests, told on every answer, open when Valkey is away (LIM-01, LIM-03)."""

import socket
import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tenants.models import Tenant, User
from tenants.services.rate_limit import TIMEOUT_S, Bucket, breaker, take_one
from tests.api.conftest import ClientFor
from tests.factories import a_finance_user, a_member_of, a_tenant, unique

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _closed_breaker() -> Iterator[None]:
    breaker.reset()
    yield
    breaker.reset()


def _bucket(rate: int, name: str = "user") -> Bucket:
    return Bucket(name, f"test:{unique('holder')}:{time.time_ns()}", rate, "ordinary")


@pytest.fixture
def used_up(monkeypatch: pytest.MonkeyPatch) -> User:
    """A user whose bucket, of one a second instead of a hundred, is empty: no machine is slow enough to see it fill."""
    monkeypatch.setattr("tenants.access.limits.ORDINARY", 1)
    user = a_member_of(a_tenant())
    take_one([Bucket("user", f"user:{user.pk}", 1, "ordinary")])
    return user


def test_a_burst_of_the_rate_passes_and_the_next_one_waits() -> None:
    bucket = _bucket(5)

    decisions = [take_one([bucket]) for _request in range(6)]

    assert [decision.refused_by for decision in decisions] == [None] * 5 + [bucket]
    assert [decision.left[0].remaining for decision in decisions] == [4, 3, 2, 1, 0, 0]
    assert 0 < decisions[-1].retry_after_s <= 0.2


def test_a_refusal_takes_nothing_from_the_other_buckets() -> None:
    tenant, user = _bucket(100, "tenant"), _bucket(1)
    take_one([tenant, user])

    refused = [take_one([tenant, user]) for _request in range(5)]

    assert all(decision.refused_by == user for decision in refused)
    assert take_one([tenant, _bucket(1)]).left[0].remaining >= 98


def test_the_429_says_which_limit_why_and_when_to_come_back(client_for: ClientFor, used_up: User) -> None:
    answer = client_for(used_up).get("/api/v1/me")

    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "1"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert '"user";r=0' in answer.headers["RateLimit"]
    body = answer.json()
    assert (body["code"], body["reason"]) == ("rate-limited", "ordinary")
    assert body["params"] == {"limit": 1, "retry_after": 1}


def test_a_priority_tenant_has_the_higher_limit(client_for: ClientFor) -> None:
    tenant = a_tenant(service_tier=Tenant.ServiceTier.PRIORITY)

    policy = client_for(a_member_of(tenant)).get("/api/v1/me").headers["RateLimit-Policy"]

    assert policy == ", ".join(f'"{name}";q=200;w=1;reason="priority-tenant"' for name in ("tenant", "token", "user"))


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/me", "/api/v1/tenants", "/api/v1/tenants/nobody", "/api/v1/tokens/1"),
        *("/api/v1/nothing-here", "/api/schema/", "/api/docs/"),
    ],
)
def test_every_answer_tells_the_limits_in_force(client_for: ClientFor, path: str) -> None:
    for client in (client_for(a_finance_user()), client_for(None)):
        answer = client.get(path)

        assert answer.headers["RateLimit-Policy"].startswith('"')
        assert ";r=" in answer.headers["RateLimit"]


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never answers: a stalled Valkey."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_stalled_valkey_lets_requests_through_and_is_not_asked_again_for_a_while(
    client_for: ClientFor, settings: Settings, silent_port: int
) -> None:
    client = client_for(a_member_of(a_tenant()))
    client.get("/api/v1/me")
    settings.REDIS_URL = f"redis://127.0.0.1:{silent_port}/0"

    first = take_one([_bucket(1)])
    begun = time.monotonic()
    more = [take_one([_bucket(1)]) for _request in range(50)]
    took = time.monotonic() - begun

    assert (first.refused_by, first.known) == (None, False)
    assert not any(decision.known for decision in more)
    assert took < TIMEOUT_S, "nobody waited a second time"
    answer = client.get("/api/v1/me")
    assert answer.status_code == 200
    assert 'reason="limiter-unavailable"' in answer.headers["RateLimit-Policy"]


def test_a_dead_valkey_lets_requests_through(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"

    assert take_one([_bucket(1)]).known is False


def test_limits_can_be_switched_off_to_measure(client_for: ClientFor, settings: Settings, used_up: User) -> None:
    settings.BERTH_RATE_LIMITS = False

    assert client_for(used_up).get("/api/v1/me").status_code == 200
