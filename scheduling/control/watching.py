"""The observer's life: look every second, and lead when no cycle finished for two periods, so that a dead broker stops nothing.

Who leads also sweeps and keeps tenants' namespaces, which runs are sent to: otherwise nothing of a new tenant would start.
The one place besides tasks that outlives errors: a database that restarts is waited for, never a reason to end (F15).
"""

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import FrameType

from django.db import close_old_connections, connections

from berth.common import clock
from scheduling.control.lock import seconds_since_cycle
from scheduling.control.loop import Loop
from scheduling.control.observe import Observer
from scheduling.control.simulated_nodes import furnish_simulated_clusters
from scheduling.control.sweep import sweep
from scheduling.control.tenant_spaces import reconcile_tenants

logger = logging.getLogger(__name__)
PERIOD_S = 1.0
QUIET_PERIODS = 2
SWEEP_EVERY_S = 10.0


@dataclass(slots=True)
class Watcher:
    """One observer process. `step` is one second of its life."""

    observer: Observer = field(default_factory=Observer)
    loop: Loop = field(default_factory=Loop)
    _swept_at: float = 0.0
    _leads: bool = False
    _aside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="tenants"))
    _tenants: Future[None] | None = None

    def step(self) -> None:
        """Look; then turn the loop if nobody else did for two periods, and sweep while leading."""
        self._guarded(self._look)
        self._guarded(self._lead_if_quiet)

    def _look(self) -> None:
        self.observer.observe_all()
        clock.heartbeat()

    def _lead_if_quiet(self) -> None:
        quiet = seconds_since_cycle()
        mine = self._leads and quiet is not None and quiet < QUIET_PERIODS * PERIOD_S
        self._leads = quiet is None or quiet >= QUIET_PERIODS * PERIOD_S or mine
        if not self._leads:
            return
        turn = self.loop.turn()
        self._leads = turn is not None
        if clock.monotonic() - self._swept_at >= SWEEP_EVERY_S:
            self._swept_at = clock.monotonic()
            sweep()
            self._keep_tenants()

    def _keep_tenants(self) -> None:
        """Aside: a pass over a slow cluster takes longer than a step may."""
        if self._tenants is None or self._tenants.done():
            self._tenants = self._aside.submit(self._guarded, _reconcile_apart)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            logger.exception("watch step failed")
            close_old_connections()


def watch(tell: Callable[[str], object]) -> None:
    """Until SIGTERM or SIGINT; the step in hand is finished first."""
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ask_to_stop)
    watcher = Watcher()
    watcher._guarded(_furnish)
    tell("watching")
    while not stop.is_set():
        began = clock.monotonic()
        watcher.step()
        stop.wait(max(0.05, PERIOD_S - (clock.monotonic() - began)))
    tell("stopped watching")


def _reconcile_apart() -> None:
    """In a thread of its own, which keeps no connection to the database."""
    try:
        reconcile_tenants()
    finally:
        connections.close_all()


def _furnish() -> None:
    furnish_simulated_clusters()
