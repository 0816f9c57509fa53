"""Processes of the loop that die at a named point, in the middle of what they do to a real API server."""

import os
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper

from berth.common import crash_points
from scheduling.control.loop import Loop
from scheduling.control.watching import Watcher
from scheduling.models import SchedulerEpoch

DEADLINE_S = 120.0
_kept: list[Any] = []


def worker() -> Callable[[], object]:
    """A worker's part: turns of the loop."""
    return Loop(holder="worker").turn


def watcher() -> Callable[[], object]:
    """The watch process's part: it looks, and leads where nobody else does."""
    return Watcher().step


def die_at(point: str, role: Callable[[], Callable[[], object]]) -> None:
    """A process of that role leads at once and works until it dies at the point; what it led is free again.

    Forked, as a worker's children are. One cycle may end before it dies: on a busy machine a slice can be over before the API server
    has answered.
    """
    SchedulerEpoch.objects.update(lease_until=None, turn="", last_cycle_at=None)
    with warnings.catch_warnings():
        # Threads of this process that wait for work are no concern of the child's.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _live(point, role)
    deadline, ended = time.monotonic() + DEADLINE_S, (0, 0)
    while ended == (0, 0):
        ended = os.waitpid(pid, os.WNOHANG)
        if ended == (0, 0) and time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"nobody came to {point} in {DEADLINE_S:.0f} s")
        time.sleep(0.05)
    assert os.waitstatus_to_exitcode(ended[1]) == -signal.SIGKILL, f"it did not die at {point}"
    SchedulerEpoch.objects.update(lease_until=None)


def _live(point: str, role: Callable[[], Callable[[], object]]) -> None:
    """In the child, with connections of its own: those of its parent are left to the parent, unclosed."""
    try:
        pools: dict[str, Any] = vars(DatabaseWrapper)["_connection_pools"]
        _kept.extend(pools.values())
        pools.clear()
        for each in connections.all(initialized_only=True):
            _kept.append(each.connection)
            each.connection = None
        crash_points.arm(point)
        work = role()
        while True:
            work()
            time.sleep(0.2)
    finally:
        os._exit(1)
