"""Puts nodes that come and go into quarantine: they keep what they run and start nothing new, until they stay (F26).

An administrator may end a quarantine before its time; what was counted is forgotten then.
"""

from datetime import datetime, timedelta

from berth.common import clock
from scheduling.models import Node

FLAP_WINDOW_WALL = timedelta(minutes=10)
MOST_FLAPS = 3
"""So often may a node go within the window, and come back; then it has to prove that it stays."""
QUARANTINE_WALL = timedelta(minutes=10)
FORGIVEN: dict[str, object] = {"flaps": 0, "went_at": [], "quarantined_until": None}


def gone_at(node: Node, now: datetime) -> dict[str, object]:
    """What changes about a node that ceases to be ready at `now`. The limits are wall time, as those of heartbeats are."""
    return {"went_at": [*_lately(node, now), now]}


def quarantine_of(node: Node, now: datetime) -> dict[str, object]:
    """What changes about a node that is ready again: nothing, or how often it went and until when it is not trusted.

    Each return during a quarantine begins it anew.
    """
    flaps = len(_lately(node, now))
    if flaps < MOST_FLAPS:
        return {}
    return {"flaps": flaps, "quarantined_until": now + QUARANTINE_WALL * clock.scale()}


def _lately(node: Node, now: datetime) -> list[datetime]:
    return [at for at in node.went_at if at >= now - FLAP_WINDOW_WALL * clock.scale()]
