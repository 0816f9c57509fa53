"""Token buckets in Valkey by GCRA: one atomic call decides over all buckets of a request (LIM-01). Fails open, and fast, without Valkey."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from berth.common import clock

logger = logging.getLogger(__name__)

TIMEOUT_S: Final = 0.04
"""To connect, and again to answer: together below the 0.1 s that a dead Valkey may add to a request."""

OPEN_S: Final = 5.0
"""How long nobody asks a Valkey that did not answer."""

HEAVY_AN_HOUR: Final = 36_000
"""Requests within the clock hour above which a bucket's burst is halved: a tenth of the ordinary rate, all the time."""

SCRIPT: Final = """
local now = redis.call("TIME")
now = (now[1] - 1735660800) + now[2] / 1000000
local refused, wait, answer, tats = 0, 0, {}, {}
for i = 1, #KEYS - 1 do
    local interval, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
    if i == #KEYS - 1 and tonumber(redis.call("GET", KEYS[#KEYS]) or 0) > tonumber(ARGV[#ARGV]) then
        burst = math.floor(burst / 2)
    end
    local tat = math.max(now, tonumber(redis.call("GET", KEYS[i]) or now))
    local left = math.floor(burst - (tat - now) / interval - 1 + 1e-6)
    if left < 0 and refused == 0 then
        refused, wait = i, tat + interval - burst * interval - now
    end
    tats[i] = tat + interval
    answer[i] = {math.max(left, 0), tostring(tat + interval - now)}
end
if refused == 0 then
    for i = 1, #KEYS - 1 do
        redis.call("SET", KEYS[i], string.format("%.6f", tats[i]), "PX", math.ceil((tats[i] - now) * 1000) + 1)
    end
    if redis.call("INCR", KEYS[#KEYS]) == 1 then redis.call("EXPIRE", KEYS[#KEYS], 3600) end
end
return {refused, tostring(wait), answer}
"""
"""KEYS: one per bucket, the user's last, then the hour's counter. Nothing is taken from any bucket when one of them refuses."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """`rate` requests a second with bursts of as many, for the holder `key`; `reason` says why this rate is in force."""

    name: str
    key: str
    rate: int
    reason: str


@dataclass(frozen=True, slots=True)
class Left:
    """What a bucket still holds, and in how many seconds it is full again."""

    bucket: Bucket
    remaining: int
    reset_s: float


@dataclass(frozen=True, slots=True)
class Decision:
    """`refused_by` None = go on. `known` is false where Valkey could not be asked."""

    left: tuple[Left, ...]
    refused_by: Bucket | None = None
    retry_after_s: float = 0.0
    known: bool = True


class _Breaker:
    """Remembers, per process, until when Valkey is not asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed_at = 0.0

    def open(self) -> bool:
        return clock.monotonic() < self._closed_at

    def trip(self, error: Exception) -> None:
        with self._lock:
            first = not self.open()
            self._closed_at = clock.monotonic() + OPEN_S
        if first:
            logger.warning("rate limits are open valkey=%s for_s=%s", type(error).__name__, OPEN_S)

    def reset(self) -> None:
        self._closed_at = 0.0


breaker: Final = _Breaker()


def take_one(buckets: Sequence[Bucket]) -> Decision:
    """Take one request from each bucket, or from none when one is empty. The last bucket is the one heavy users are counted by."""
    full = tuple(Left(bucket, bucket.rate, 0.0) for bucket in buckets)
    if breaker.open():
        return Decision(full, known=False)
    keys = [f"berth:limit:{bucket.key}" for bucket in buckets]
    arguments = [number for bucket in buckets for number in (1 / bucket.rate, bucket.rate)]
    try:
        refused, wait, rows = _script(settings.REDIS_URL)(
            keys=[*keys, f"{keys[-1]}:hour"], args=[*arguments, HEAVY_AN_HOUR]
        )
    except (redis.RedisError, OSError) as error:
        breaker.trip(error)
        return Decision(full, known=False)
    left = tuple(Left(bucket, int(row[0]), float(row[1])) for bucket, row in zip(buckets, rows, strict=True))
    return Decision(left, buckets[refused - 1] if refused else None, max(float(wait), 0.0))


@lru_cache(maxsize=4)
def _script(url: str) -> Any:
    client = redis.Redis.from_url(
        url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
    )
    return client.register_script(SCRIPT)
