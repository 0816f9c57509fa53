"""Which cycles can be replayed (SCH-22): all with a fault, and of the others as many as cost next to nothing.

What was stored is thinned by the sweep: the newest ones, one in some of the older, and all with a fault stay as long as their cycle.
"""

import logging
from dataclasses import dataclass
from typing import Final

from django.db.models import F

from berth.common import clock
from scheduling.control.planning import Planned
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.stored import StoredCycle, store
from scheduling.models import Cycle

logger = logging.getLogger(__name__)
NEWEST: Final = 50
"""So many of the latest cycles keep what was stored of them."""
ONE_IN: Final = 20
"""Of older cycles without a fault those keep it whose number is divisible by this."""
REST_SHARE: Final = 50
"""For this many times as long as storing one took, only cycles with a fault are stored: at most a fiftieth of the loop's time."""


@dataclass(slots=True)
class CycleStore:
    """Of one loop: it remembers only when it may store again."""

    _rests_until: float = 0.0

    def keep(self, cycle_id: int, snapshot: Snapshot, policy: Policy, now_ms: int, planned: Planned | None) -> bool:
        """Store what the cycle decided on and what it decided (None: planning raised); whether it was stored. Raises nothing."""
        began = clock.monotonic()
        faulty = planned is None or bool(planned.faulty)
        if not faulty and began < self._rests_until:
            return False
        try:
            plan = None if planned is None else planned.plan
            Cycle.objects.filter(pk=cycle_id).update(snapshot=store(StoredCycle(snapshot, policy, now_ms, plan)))
        except Exception:
            logger.exception("cycle not stored for replay cycle=%s", cycle_id)
            return False
        ended = clock.monotonic()
        self._rests_until = ended + REST_SHARE * (ended - began)
        return True


def thin_stored_cycles(newest: int) -> int:
    """Forget what is stored of older cycles without a fault, but for one in some; how many were forgotten."""
    old = Cycle.objects.filter(pk__lte=newest - NEWEST, failed=False, dropped=0, snapshot__isnull=False)
    return old.annotate(rest=F("pk") % ONE_IN).exclude(rest=0).update(snapshot=None)
