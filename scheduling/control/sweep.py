"""What a lost ring, a crash or a quiet night forgot: run every ten seconds, safe to repeat, in any number of processes."""

from dataclasses import dataclass

from berth.common import clock
from berth.common.alarm import ring
from scheduling.control.cycle_store import thin_stored_cycles
from scheduling.control.reconcile import Drift, reconcile_clusters
from scheduling.control.simulated_nodes import furnish_simulated_clusters
from scheduling.models import Cycle
from scheduling.services.pod_logs import drop_beyond_room

KEPT_CYCLES = 1_000


@dataclass(frozen=True, slots=True)
class Swept:
    """What the sweep found."""

    furnished: int
    drift: Drift
    cycles_dropped: int
    logs_dropped: int


def sweep() -> Swept:
    """One sweep. It also rings the loop: a job whose ring was lost waits no longer than this (Q04, F12)."""
    clock.heartbeat()
    furnished = furnish_simulated_clusters()
    drift = reconcile_clusters()
    dropped = _drop_old_cycles()
    logs = drop_beyond_room()
    ring("scheduling.cycle")
    return Swept(furnished, drift, dropped, logs)


def _drop_old_cycles() -> int:
    """The last 1,000 are kept, and every failed one (DESIGN section 4); what is stored of them for replay of fewer."""
    newest = Cycle.objects.order_by("-pk").values_list("pk", flat=True).first()
    if newest is None:
        return 0
    thin_stored_cycles(newest)
    old = Cycle.objects.filter(pk__lte=newest - KEPT_CYCLES, failed=False)
    return int(old._raw_delete(old.db))
