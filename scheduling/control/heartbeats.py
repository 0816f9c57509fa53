"""Tells which nodes fell silent, from changes of their heartbeats seen on our own monotonic clock (section 6).

A node's clock is never compared with ours. Time in which we could not list does not count against anybody.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from scheduling.cluster.port import NodeLease, NodeObservation

SILENT_AFTER_S = 24.0
NOT_READY_AFTER_S = 15.0
LONGEST_GAP_S = 10.0
"""Lists further apart than this prove nothing about the time between them: all counting starts anew."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A node that must be taken for lost: why, and the business time of the last sign of life that we saw."""

    node: str
    why: str
    last_sign: datetime


@dataclass(slots=True)
class _Beat:
    renewed_at: datetime
    seen_mono: float
    seen_at: datetime
    not_ready_mono: float | None = None
    ready_at: datetime | None = None


@dataclass(slots=True)
class Heartbeats:
    """One cluster's beats as this process has seen them. `note` only after a list of leases and of nodes succeeded."""

    _beats: dict[str, _Beat] = field(default_factory=dict)
    _last_mono: float | None = None

    def note(
        self, leases: Iterable[NodeLease], nodes: Iterable[NodeObservation], *, mono: float, at: datetime
    ) -> tuple[Loss, ...]:
        """Take in one pair of lists. `mono` is monotonic seconds, `at` business time. Returns nodes lost by now, by name."""
        if self._last_mono is None or mono - self._last_mono > LONGEST_GAP_S:
            self._forget_waiting(mono)
        self._last_mono = mono
        ready = {node.name: node.ready is True for node in nodes}
        renewed = {lease.node: lease.renewed_at for lease in leases}
        self._beats = {name: beat for name, beat in self._beats.items() if name in renewed}
        for name, renewed_at in renewed.items():
            self._note_one(name, renewed_at, is_ready=ready.get(name, False), mono=mono, at=at)
        losses = (self._loss(name, self._beats[name], mono) for name in sorted(self._beats))
        return tuple(loss for loss in losses if loss is not None)

    def _forget_waiting(self, mono: float) -> None:
        for beat in self._beats.values():
            beat.seen_mono = mono
            beat.not_ready_mono = None if beat.not_ready_mono is None else mono

    def _note_one(self, name: str, renewed_at: datetime, *, is_ready: bool, mono: float, at: datetime) -> None:
        beat = self._beats.get(name)
        if beat is None:
            beat = self._beats[name] = _Beat(renewed_at, mono, at)
        elif renewed_at != beat.renewed_at:
            beat.renewed_at, beat.seen_mono, beat.seen_at = renewed_at, mono, at
        if is_ready:
            beat.not_ready_mono, beat.ready_at = None, at
        elif beat.not_ready_mono is None:
            beat.not_ready_mono = mono

    def _loss(self, name: str, beat: _Beat, mono: float) -> Loss | None:
        if mono - beat.seen_mono >= SILENT_AFTER_S:
            return Loss(name, "silent", beat.seen_at)
        if beat.not_ready_mono is not None and mono - beat.not_ready_mono >= NOT_READY_AFTER_S:
            return Loss(name, "not-ready", beat.ready_at or beat.seen_at)
        return None
