"""`Idempotency-Key`: one effect per key (Q03)."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from rest_framework.test import APIClient

from berth.common import clock
from tenants.models import IdempotencyKey, Tenant
from tenants.services.idempotency import Answer, KeyInFlightError, do_once
from tenants.tasks import forget_idempotency_keys
from tests.api.conftest import ClientFor
from tests.api.problems import code_of
from tests.factories import a_platform_admin, a_token

URL = "/api/v1/tenants"
DEADLINE_S = 30


@pytest.mark.django_db
def test_the_same_key_and_body_get_the_same_answer_and_one_effect(client_for: ClientFor) -> None:
    client = client_for(a_platform_admin())

    first = client.post(URL, {"slug": "algo-a", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")
    second = client.post(URL, {"name": "A", "slug": "algo-a"}, HTTP_IDEMPOTENCY_KEY="k1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == first.json()
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert Tenant.objects.count() == 1


@pytest.mark.django_db
def test_the_same_key_with_another_body_or_address_is_409(client_for: ClientFor) -> None:
    client = client_for(a_platform_admin())
    client.post(URL, {"slug": "algo-a", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")

    other_body = client.post(URL, {"slug": "algo-b", "name": "B"}, HTTP_IDEMPOTENCY_KEY="k1")
    other_address = client.post("/api/v1/tokens", {"slug": "algo-a", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")

    assert code_of(other_body) == code_of(other_address) == (409, "idempotency-key-reused")
    assert Tenant.objects.count() == 1


@pytest.mark.django_db
def test_two_users_may_use_the_same_key(client_for: ClientFor) -> None:
    one, other = client_for(a_platform_admin()), client_for(a_platform_admin())

    first = one.post(URL, {"slug": "algo-a", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")
    second = other.post(URL, {"slug": "algo-b", "name": "B"}, HTTP_IDEMPOTENCY_KEY="k1")

    assert (first.status_code, second.status_code) == (201, 201)
    assert Tenant.objects.count() == 2


@pytest.mark.django_db
def test_a_refused_request_leaves_its_key_free(client_for: ClientFor) -> None:
    client = client_for(a_platform_admin())

    refused = client.post(URL, {"slug": "NOT A SLUG", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")
    corrected = client.post(URL, {"slug": "algo-a", "name": "A"}, HTTP_IDEMPOTENCY_KEY="k1")

    assert (refused.status_code, corrected.status_code) == (400, 201)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", "k" * 201, "caf\u00e9", "a\tb"])
def test_a_key_that_is_no_key_is_told_by_the_header(client_for: ClientFor, key: str) -> None:
    answer = client_for(a_platform_admin()).post(URL, {"slug": "a", "name": "A"}, HTTP_IDEMPOTENCY_KEY=key)

    assert answer.status_code == 400
    [wrong] = answer.json()["errors"]
    assert (wrong["location"], wrong["field"]) == ("header", "Idempotency-Key")


@pytest.mark.django_db
def test_keys_are_forgotten_after_a_day(client_for: ClientFor) -> None:
    client = client_for(a_platform_admin())
    for key, slug in (("old", "algo-a"), ("new", "algo-b")):
        client.post(URL, {"slug": slug, "name": slug}, HTTP_IDEMPOTENCY_KEY=key)
    IdempotencyKey.objects.filter(key="old").update(created_at=clock.wall_now() - timedelta(hours=25))

    forget_idempotency_keys()

    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["new"]


def _at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """What the calls answered, all begun at the same instant in threads of their own."""
    barrier = threading.Barrier(len(calls), timeout=DEADLINE_S)
    answers: list[Any] = [None] * len(calls)

    def run(index: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait()
            answers[index] = call()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index, call)) for index, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert not any(thread.is_alive() for thread in threads)
    return answers


@pytest.mark.django_db(transaction=True)
def test_concurrent_twins_have_one_effect_and_one_answer() -> None:
    """Q03, in real threads on connections of their own."""
    admin = a_platform_admin()
    secret = a_token(admin)

    def submit() -> Any:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}", HTTP_IDEMPOTENCY_KEY="twin")
        return client.post(URL, {"slug": "algo-a", "name": "A"}, format="json")

    answers = _at_once([submit] * 4)

    assert [answer.status_code for answer in answers] == [201] * 4
    assert len({answer.content for answer in answers}) <= 2, "the first answer and its replay"
    assert len({str(sorted(answer.json().items())) for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 3
    assert Tenant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_twin_does_the_work_when_the_first_one_fails() -> None:
    """Q03: the second waits; the first rolls back; the key is free again."""
    admin = a_platform_admin()
    begun = threading.Event()
    effects: list[str] = []

    def fails() -> Answer:
        begun.set()
        effects.append("failed")
        return Answer(409, {"code": "conflict"})

    def works() -> Answer:
        effects.append("worked")
        return Answer(201, {"id": 1})

    def first() -> Answer:
        return _once(admin, fails)

    def second() -> Answer:
        assert begun.wait(DEADLINE_S)
        return _once(admin, works)

    answers = _at_once([first, second])

    assert [answer.status for answer in answers] == [409, 201]
    assert effects == ["failed", "worked"]
    assert IdempotencyKey.objects.get(user=admin).status == 201


@pytest.mark.django_db(transaction=True)
def test_a_twin_of_a_request_that_hangs_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenants.services.idempotency.WAIT_S", 1)
    admin = a_platform_admin()
    begun, told = threading.Event(), threading.Event()

    def hangs() -> Answer:
        begun.set()
        assert told.wait(DEADLINE_S)
        return Answer(201, {})

    def second() -> str:
        assert begun.wait(DEADLINE_S)
        try:
            return str(_once(admin, lambda: Answer(201, {})).status)
        except KeyInFlightError as error:
            return error.code
        finally:
            told.set()

    assert _at_once([lambda: _once(admin, hangs).status, second]) == [201, "idempotency-key-in-flight"]


@pytest.mark.django_db(transaction=True)
def test_the_wait_for_locks_is_as_long_as_before_within_the_effect() -> None:
    def ask() -> Answer:
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            return Answer(200, cursor.fetchone()[0])

    assert _once(a_platform_admin(), ask).body == "0"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone()[0] == "0"


def _once(user: Any, effect: Callable[[], Answer]) -> Answer:
    return do_once(user=user, key="twin", method_path="POST /x", request_hash="same", effect=effect)
