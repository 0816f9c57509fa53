"""Calls of clusters made side by side, in threads that end with them and leave no connection of the database behind.

No thread may write to the database: what was learnt is recorded by the loop itself, under its epoch.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

from django.db import connections

from berth.common import clock
from scheduling.cluster.port import ClusterPort

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


class Telling(Generic[Found]):
    """All of `work` at once, each in a thread from now on, telling what it finds as it finds it."""

    def __init__(self, work: Sequence[Callable[[Callable[[Found], None]], None]]) -> None:
        self._told: SimpleQueue[Found] = SimpleQueue()
        self._pool = ThreadPoolExecutor(len(work) or 1, thread_name_prefix="cluster")
        self._threads = [
            self._pool.submit(copy_context().run, _without_traces, partial(each, self._told.put)) for each in work
        ]

    def batches(self, *, every_s: float) -> Iterator[list[Found]]:
        """What was told meanwhile, at least every `every_s` even if that is nothing. Raises at the end what one of them raised."""
        going_on = set(self._threads)
        while going_on:
            going_on = wait(going_on, timeout=every_s).not_done
            yield [self._told.get() for _ in range(self._told.qsize())]
        for thread in self._threads:
            thread.result()

    def wait(self) -> None:
        """Until all have ended."""
        self._pool.shutdown()


def run_by_port(work: Sequence[tuple[ClusterPort, Callable[[], Found]]], *, until: float) -> list[Found | None]:
    """Each call in threads of its own cluster, as many as that one takes: one that stalls takes nobody else's.

    Results in order; None where the monotonic clock passed `until` before the call was begun.
    """
    results: list[Found | None] = [None] * len(work)
    queues: dict[str, tuple[ClusterPort, deque[tuple[int, Callable[[], Found]]]]] = {}
    for at, (port, call) in enumerate(work):
        queues.setdefault(port.name, (port, deque()))[1].append((at, call))

    def drain(queue: deque[tuple[int, Callable[[], Found]]]) -> None:
        while clock.monotonic() < until:
            try:
                at, call = queue.popleft()
            except IndexError:
                return
            results[at] = call()

    threaded, here = [], []
    for port, queue in queues.values():
        at_once = port.capabilities().at_once
        if at_once > 1:
            threaded += [partial(drain, queue)] * min(at_once, len(queue))
        else:
            here.append(partial(drain, queue))
    run_side_by_side(threaded, at_once=len(threaded) + 1, here=here)
    return results


def _without_traces(work: Callable[[], Found]) -> Found:
    try:
        return work()
    finally:
        # The clock may have asked for its anchor.
        connections.close_all()
