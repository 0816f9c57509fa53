"""Answers for probes: alive, ready, and what the parts say. Every look has a deadline, and only the database can fail it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import Any

import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.backoff import NoBackoff
from redis.retry import Retry

from scheduling.selectors.loop_health import loop_health

PROBE_S = 0.5
_OK = "ok"
_NO_ANSWER = "no answer"

# A probe of a stalled service keeps its thread until the service answers; later probes then wait in line and report it too.
_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="probe")


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """Alive: the process answers. Asks nobody else, so that no dead neighbour gets this process restarted."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> HttpResponse:
    """200 while pages and API can work, which takes the database alone; what else is down is told in the body."""
    found = _look({"database": _database, "broker": _broker, "loop": _loop})
    ready = found["database"] == _OK
    return JsonResponse({"ready": ready, **found}, status=200 if ready else 503)


def _look(probes: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """What each probe answered within PROBE_S, asked at the same time."""
    asked: dict[str, Future[Any]] = {name: _threads.submit(probe) for name, probe in probes.items()}
    wait(asked.values(), timeout=PROBE_S)
    return {name: _answer(future) for name, future in asked.items()}


def _answer(future: Future[Any]) -> Any:
    if not future.done():
        future.cancel()
        return _NO_ANSWER
    error = future.exception()
    return f"down: {type(error).__name__}" if error is not None else future.result()


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()
    return _OK


def _loop() -> dict[str, Any]:
    """The leader and how long ago a cycle finished and each cluster answered."""
    try:
        return asdict(loop_health())
    finally:
        connection.close()


def _broker() -> str:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=PROBE_S,
        socket_connect_timeout=PROBE_S,
        retry=Retry(NoBackoff(), 0),
    )
    with client:
        client.ping()
    return _OK
