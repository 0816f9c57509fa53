"""What a probe hears: alive, ready, what is down, and never later than its patience lasts."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from berth import health
from scheduling.models import SchedulerEpoch
from tenants.models import Cluster

PATIENCE_S = 3.0
"""The probes' own half second, with room for a busy machine."""
TRIES = 20
"""On a busy machine the database, too, may take longer than that once."""


@pytest.fixture
def silent_address() -> Iterator[str]:
    """A port that takes connections and never answers, as a stalled server does."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def test_alive_asks_nobody(client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    answer = client.get("/healthz")

    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db(transaction=True)
def test_ready_tells_of_the_leader_and_of_each_cluster(client: Client) -> None:
    SchedulerEpoch.objects.create(name="scheduler", epoch=3, holder="here:1")
    Cluster.objects.create(name="c1")

    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "database": "ok",
        "broker": "ok",
        "loop": {"leader": None, "epoch": 3, "cycle_age_s": None, "clusters": {"c1": None}},
    }


@pytest.mark.django_db(transaction=True)
def test_a_dead_broker_is_told_and_stops_nothing(client: Client, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["broker"]) == (200, "down: ConnectionError")


@pytest.mark.django_db(transaction=True)
def test_a_stalled_broker_holds_the_probe_no_longer_than_its_patience(
    client: Client, settings: Any, silent_address: str
) -> None:
    settings.REDIS_URL = silent_address

    for _attempt in range(TRIES):
        started = time.monotonic()
        answer = client.get("/readyz")
        assert time.monotonic() - started < PATIENCE_S
        if answer.json()["database"] == "ok":
            break

    assert answer.status_code == 200
    assert answer.json()["broker"] in ("no answer", "down: TimeoutError")


def test_without_the_database_nothing_is_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> str:
        raise ConnectionRefusedError

    monkeypatch.setattr(health, "_database", refused)
    monkeypatch.setattr(health, "_loop", refused)

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["database"]) == (503, "down: ConnectionRefusedError")


def test_metrics_are_in_prometheus_form(client: Client) -> None:
    answer = client.get("/metrics")

    assert answer.status_code == 200
    assert b"# TYPE django_http_requests_total_by_method_total counter" in answer.content
