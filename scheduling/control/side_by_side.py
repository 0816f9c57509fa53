"""Calls of clusters made side by side, in threads that end with them and leave no connection of the database behind.

No thread may write to the database: what was learnt is recorded by the loop itself, under its epoch.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from django.db import connections

Found = TypeVar("Found")


def run_side_by_side(
    work: Sequence[Callable[[], Found]], *, at_once: int, here: Sequence[Callable[[], Found]] = ()
) -> list[Found]:
    """All of `work`, at most `at_once` at a time, and meanwhile, one by one in the caller's own thread, all of `here`.

    Results in order, those of `here` last. Each finds the caller's clock. What one raises is raised, after all have ended.
    """
    if at_once <= 1 or (len(work) <= 1 and not here):
        return [each() for each in (*work, *here)]
    with ThreadPoolExecutor(at_once, thread_name_prefix="cluster") as pool:
        under_way = [pool.submit(copy_context().run, _without_traces, each) for each in work]
        own = [each() for each in here]
    return [*(future.result() for future in under_way), *own]


def _without_traces(work: Callable[[], Found]) -> Found:
    try:
        return work()
    finally:
        # The clock may have asked for its anchor.
        connections.close_all()
