"""Since when a node says nothing: by changes of its Lease as we see them, since clocks of nodes are not ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from scheduling.cluster.port import NodeLease

SILENT_AFTER = timedelta(seconds=15)
"""A kubelet renews every ten seconds: one renewal may be late, more than that is silence."""


@dataclass(slots=True)
class _Beat:
    renewed_at: datetime
    seen_at: datetime


@dataclass(slots=True)
class Silence:
    """Fed with each list of Leases. A node that was never seen renewing is not called silent: nothing is known of it."""

    now: Callable[[], datetime]
    _beats: dict[str, _Beat] = field(default_factory=dict)

    def note(self, leases: Sequence[NodeLease], *, at: datetime) -> None:
        """A list of Leases, asked for at `at`."""
        for lease in leases:
            beat = self._beats.get(lease.node)
            if beat is None or beat.renewed_at != lease.renewed_at:
                self._beats[lease.node] = _Beat(lease.renewed_at, at)

    def since(self, node: str) -> datetime | None:
        """When the node was last seen renewing, if that is too long ago."""
        beat = self._beats.get(node)
        if beat is None or self.now() - beat.seen_at < SILENT_AFTER:
            return None
        return beat.seen_at
