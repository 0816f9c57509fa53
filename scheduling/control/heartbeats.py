"""Tells which nodes show no life, from changes of their heartbeats seen on our own monotonic clock (section 6).

A node's clock is never compared with ours. Time in which we could not list does not count against anybody.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scheduling.cluster.port import NodeLease, NodeObservation

SILENT_AFTER_S = 24.0
LATE_AFTER_S = 18.0
"""A kubelet renews every ten seconds. A node this late starts nothing new; what it runs goes on."""
NOT_READY_AFTER_S = 15.0
ABSENT_AFTER_S = 15.0
"""A node that is in no list any more was deleted. One list may be stale (F20)."""
STEADY_AFTER_S = 15.0
"""How long a node that was lost shows life without a break before it is believed (F26)."""
LONGEST_GAP_S = 10.0
"""Lists further apart than this prove nothing about the time between them: all counting starts anew."""


@dataclass(frozen=True, slots=True)
class Ailment:
    """A node that shows no life: why, since the business time of the last sign that we saw, and whether it must be taken for lost."""

    node: str
    why: str
    last_sign: datetime
    lost: bool


@dataclass(frozen=True, slots=True)
class Vitals:
    """`ailing` by name; `settling` are nodes that were lost and show life again, not long enough to be believed."""

    ailing: Mapping[str, Ailment]
    settling: frozenset[str]


@dataclass(slots=True)
class _Beat:
    seen_mono: float
    seen_at: datetime
    renewed_at: datetime | None = None
    not_ready_mono: float | None = None
    ready_at: datetime | None = None
    absent_mono: float | None = None
    there_at: datetime | None = None
    well_mono: float | None = None
    was_lost: bool = False


@dataclass(slots=True)
class Heartbeats:
    """One cluster's beats as this process has seen them. `note` only after a list of leases and of nodes succeeded."""

    _beats: dict[str, _Beat] = field(default_factory=dict)
    _last_mono: float | None = None

    def note(
        self,
        leases: Iterable[NodeLease],
        nodes: Iterable[NodeObservation],
        *,
        mono: float,
        at: datetime,
        expected: Collection[str] = (),
    ) -> Vitals:
        """Take in one pair of lists, asked for at `mono` (monotonic seconds) and `at` (business time).

        `expected` names nodes that were there once, whoever saw them. A node without a lease is judged by its readiness alone.
        """
        if self._last_mono is None or mono - self._last_mono > LONGEST_GAP_S:
            self._forget_waiting(mono)
        self._last_mono = mono
        ready = {node.name: node.ready is True for node in nodes}
        renewed = {lease.node: lease.renewed_at for lease in leases}
        for name in ready.keys() | set(expected):
            self._beats.setdefault(name, _Beat(mono, at))
        ailing: dict[str, Ailment] = {}
        for name in sorted(self._beats):
            beat = self._beats[name]
            _note_lease(beat, renewed.get(name), mono, at)
            _note_readiness(beat, ready.get(name), mono, at)
            ailment = _ailment(name, beat, mono)
            _note_health(beat, ailment, mono)
            if ailment is not None:
                ailing[name] = ailment
        self._beats = {name: beat for name, beat in self._beats.items() if name in ready or name in expected}
        return Vitals(ailing, frozenset(name for name, beat in self._beats.items() if beat.was_lost))

    def _forget_waiting(self, mono: float) -> None:
        for beat in self._beats.values():
            beat.seen_mono = mono
            beat.not_ready_mono = None if beat.not_ready_mono is None else mono
            beat.absent_mono = None if beat.absent_mono is None else mono
            beat.well_mono = None


def _note_lease(beat: _Beat, renewed_at: datetime | None, mono: float, at: datetime) -> None:
    if renewed_at is None:
        # Never renewed, or gone with its node: its silence says nothing.
        beat.seen_mono = mono
    elif renewed_at != beat.renewed_at:
        beat.renewed_at, beat.seen_mono, beat.seen_at = renewed_at, mono, at


def _note_readiness(beat: _Beat, is_ready: bool | None, mono: float, at: datetime) -> None:
    """`is_ready` None: the node is in no list."""
    if is_ready is None:
        beat.absent_mono = mono if beat.absent_mono is None else beat.absent_mono
        return
    beat.absent_mono, beat.there_at = None, at
    if is_ready:
        beat.not_ready_mono, beat.ready_at = None, at
    elif beat.not_ready_mono is None:
        beat.not_ready_mono = mono


def _ailment(name: str, beat: _Beat, mono: float) -> Ailment | None:
    if beat.absent_mono is not None:
        sign = min(beat.seen_at, beat.there_at or beat.seen_at)
        return Ailment(name, "deleted", sign, mono - beat.absent_mono >= ABSENT_AFTER_S)
    silent_s = mono - beat.seen_mono
    if silent_s >= SILENT_AFTER_S:
        return Ailment(name, "silent", beat.seen_at, lost=True)
    if beat.not_ready_mono is not None:
        sign = beat.ready_at or beat.seen_at
        return Ailment(name, "not-ready", sign, mono - beat.not_ready_mono >= NOT_READY_AFTER_S)
    if silent_s >= LATE_AFTER_S:
        return Ailment(name, "silent", beat.seen_at, lost=False)
    return None


def _note_health(beat: _Beat, ailment: Ailment | None, mono: float) -> None:
    """Lost until it has been well for long enough, without a break."""
    if ailment is not None:
        beat.well_mono = None
        beat.was_lost = beat.was_lost or ailment.lost
        return
    beat.well_mono = mono if beat.well_mono is None else beat.well_mono
    if mono - beat.well_mono >= STEADY_AFTER_S:
        beat.was_lost = False
