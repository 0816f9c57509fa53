"""Sends admitted runs to their clusters after commit, in slices of at most two seconds, outside any transaction (section 6, step 5).

Names are deterministic, so sending twice makes one gang. Clusters, their runs and the runs' pods are sent side by side. A create that
may have happened is read before it is repeated; a refusal sends the job back with the cluster's own words and blocks nobody else.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from berth.common import clock
from scheduling.cluster.port import ResultKind
from scheduling.control.clusters import port_of
from scheduling.control.dispatch_lane import SLICE_S, Answer, Lane
from scheduling.control.dispatch_record import record_answers
from scheduling.control.lock import Leadership
from scheduling.control.run_specs import read_run_specs
from scheduling.control.side_by_side import run_side_by_side
from scheduling.control.space_gate import SpaceGate
from scheduling.models import Run
from scheduling.states import RunState

logger = logging.getLogger(__name__)
BATCH = 200
"""Runs of one cluster that are read for one slice."""
BUDGET_S = 3 * SLICE_S
"""Of one turn: between two turns nodes are looked after and other jobs planned, however much waits to be sent."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class _Pause:
    """Left alone until then, by the monotonic clock, after so many failures in a row."""

    until: float = 0.0
    failures: int = 0

    def longer(self, *, free: int = 0, asked_s: float = 0.0) -> "_Pause":
        """After one more failure; the first `free` of them cost nothing."""
        again = self.failures - free
        pause = 0.0 if again < 0 else min(FIRST_PAUSE_S * 2.0**again, LONGEST_PAUSE_S)
        return _Pause(clock.monotonic() + max(pause, asked_s), self.failures + 1)


@dataclass(slots=True)
class Dispatcher:
    """One process's memory between slices: clusters and runs to leave alone for a while, runs whose create may have happened."""

    _clusters: dict[int, _Pause] = field(default_factory=dict)
    _runs: dict[int, _Pause] = field(default_factory=dict)
    _unsure: set[int] = field(default_factory=set)
    _gate: SpaceGate = field(default_factory=SpaceGate)

    def dispatch(self, leadership: Leadership, renew: Callable[[], None]) -> int:
        """Send admitted runs; returns how many were answered. `renew` is called between slices and raises if the lead is gone."""
        answered, deadline = 0, clock.monotonic() + BUDGET_S
        tried: set[int] = set()
        while lanes := self._lanes(tried):
            final: list[Answer] = []
            for lane, answers in zip(lanes, _send_slice(lanes), strict=True):
                self._note(lane, answers)
                final += [answer for answer in answers if answer.is_final]
                tried |= {answer.run.pk for answer in answers if not answer.is_unfinished}
            record_answers(final, leadership)
            answered += len(final)
            renew()
            if clock.monotonic() >= deadline:
                break
        return answered

    def _lanes(self, tried: set[int]) -> list[Lane]:
        """What is to be sent now, by cluster. What was tried in this turn waits for the next one."""
        now = clock.monotonic()
        self._runs = {pk: pause for pk, pause in self._runs.items() if pause.until > now - LONGEST_PAUSE_S}
        resting = tried | {pk for pk, pause in self._runs.items() if pause.until > now}
        admitted = Run.objects.filter(state=RunState.ADMITTED.value).exclude(pk__in=resting)
        found: list[Lane] = []
        for cluster_id in sorted(set(admitted.order_by().values_list("cluster_id", flat=True))):
            if self._clusters.get(cluster_id, _Pause()).until > now:
                continue
            rows = admitted.filter(cluster_id=cluster_id).select_related("job__tenant", "job__queue", "cluster")
            runs = list(rows.order_by("pk")[:BATCH])
            specs = read_run_specs(runs)
            queue = deque((run, specs[run.pk]) for run in runs)
            if runs:
                found.append(Lane(cluster_id, port_of(runs[0].cluster), queue, frozenset(self._unsure), self._gate))
        return found

    def _note(self, lane: Lane, answers: Sequence[Answer]) -> None:
        """Remember what is unsure; leave a cluster alone that does not answer or asks for it, and runs that it does not answer."""
        for answer in answers:
            self._unsure.discard(answer.run.pk)
            if answer.is_final:
                self._runs.pop(answer.run.pk, None)
            elif answer.may_have_happened:
                self._unsure.add(answer.run.pk)
        silent = [answer for answer in answers if answer.has(ResultKind.UNKNOWN) and not answer.is_final]
        for answer in silent:
            self._runs[answer.run.pk] = self._runs.get(answer.run.pk, _Pause()).longer(free=1)
        throttled = [found.retry_after_s or 0 for answer in answers if (found := answer.throttled) is not None]
        cut_off = any(answer.has(ResultKind.UNREACHABLE) for answer in answers)
        mute = bool(silent) and not any(answer.was_heard for answer in answers)
        if throttled or cut_off or mute:
            pause = self._clusters.get(lane.cluster_id, _Pause()).longer(asked_s=float(max(throttled, default=0)))
            self._clusters[lane.cluster_id] = pause
            rest = pause.until - clock.monotonic()
            logger.warning("cluster paused cluster=%s seconds=%.1f runs=%s", lane.port.name, rest, len(answers))
        elif any(answer.was_heard for answer in answers):
            self._clusters.pop(lane.cluster_id, None)


def _send_slice(lanes: Sequence[Lane]) -> list[list[Answer]]:
    """Every cluster's part, in the order of `lanes`; one that stalls takes nobody else's time."""
    threaded = [lane for lane in lanes if lane.at_once > 1]
    alone = [lane for lane in lanes if lane.at_once <= 1]
    sent = run_side_by_side(
        [lane.send for lane in threaded], at_once=len(threaded) + 1, here=[lane.send for lane in alone]
    )
    by_cluster = dict(zip([lane.cluster_id for lane in (*threaded, *alone)], sent, strict=True))
    return [by_cluster[lane.cluster_id] for lane in lanes]
