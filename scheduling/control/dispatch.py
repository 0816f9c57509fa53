"""Sends admitted runs to their clusters after commit, each in at most two seconds, outside any transaction (section 6, step 5).

Names are deterministic, so sending twice makes one gang. Clusters, their runs and the runs' pods are sent side by side, and what came
of the first is recorded while the next are sent. A create that may have happened is read before it is repeated; a refusal sends the
job back with the cluster's own words and blocks nobody else.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.db.models import Exists, OuterRef, Q, QuerySet

from berth.common import clock
from scheduling.cluster.port import ResultKind
from scheduling.control.clusters import port_of
from scheduling.control.dispatch_lane import SLICE_S, Answer, Lane
from scheduling.control.dispatch_record import record_answers
from scheduling.control.lock import Leadership
from scheduling.control.run_specs import read_run_specs
from scheduling.control.side_by_side import Telling
from scheduling.control.space_gate import SpaceGate
from scheduling.models import Pod, Run
from scheduling.states import RunState

logger = logging.getLogger(__name__)
BATCH = 200
"""Runs of one cluster that are read at a time."""
BUDGET_S = 3 * SLICE_S
"""Of one turn: between two turns nodes are looked after and other jobs planned, however much waits to be sent."""
HERE_S = 1.0
"""Of it, for clusters that take one call at a time, before the others' answers are recorded."""
RECORD_EVERY_S = 0.5
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
            for sent in _send(lanes, until=deadline - SLICE_S):
                for lane, answers in sent:
                    self._note(lane, answers)
                every = [answer for _lane, answers in sent for answer in answers]
                final = [answer for answer in every if answer.is_final]
                tried |= {answer.run.pk for answer in every if not answer.is_unfinished}
                record_answers(final, leadership)
                answered += len(final)
                renew()
            if clock.monotonic() >= deadline - SLICE_S:
                break
        return answered

    def _lanes(self, tried: set[int]) -> list[Lane]:
        """What is to be sent now, by cluster. What was tried in this turn waits for the next one."""
        now = clock.monotonic()
        self._runs = {pk: pause for pk, pause in self._runs.items() if pause.until > now - LONGEST_PAUSE_S}
        resting = tried | {pk for pk, pause in self._runs.items() if pause.until > now}
        due = _to_be_sent().exclude(pk__in=resting)
        found: list[Lane] = []
        for cluster_id in sorted(set(due.order_by().values_list("cluster_id", flat=True))):
            if self._clusters.get(cluster_id, _Pause()).until > now:
                continue
            rows = due.filter(cluster_id=cluster_id).select_related("job__tenant", "job__queue", "cluster")
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
            if answer.is_final and answer.is_joining and not answer.is_whole:
                self._runs[answer.run.pk] = self._runs.get(answer.run.pk, _Pause()).longer()
            elif answer.is_final:
                self._runs.pop(answer.run.pk, None)
            elif answer.may_have_happened:
                self._unsure.add(answer.run.pk)
        silent = [answer for answer in answers if answer.has(ResultKind.UNKNOWN) and not answer.is_final]
        for answer in silent:
            self._runs[answer.run.pk] = self._runs.get(answer.run.pk, _Pause()).longer(free=1)
        throttled = [found.retry_after_s or 0 for answer in answers if (found := answer.throttled) is not None]
        cut_off = any(answer.has(ResultKind.UNREACHABLE) for answer in answers)
        mute = bool(silent) and not lane.heard
        if throttled or cut_off or mute:
            pause = self._clusters.get(lane.cluster_id, _Pause()).longer(asked_s=float(max(throttled, default=0)))
            self._clusters[lane.cluster_id] = pause
            rest = pause.until - clock.monotonic()
            logger.warning("cluster paused cluster=%s seconds=%.1f runs=%s", lane.port.name, rest, len(answers))
        elif any(answer.was_heard for answer in answers):
            self._clusters.pop(lane.cluster_id, None)


def _to_be_sent() -> "QuerySet[Run]":
    """Runs that were admitted, and begun ones that some pods joined."""
    joined = Pod.objects.filter(run=OuterRef("pk"), released_at__isnull=True, phase=Pod.Phase.PLANNED, uid="")
    begun = Q(state__in=(RunState.STARTING.value, RunState.RUNNING.value))
    return Run.objects.filter(Q(state=RunState.ADMITTED.value) | begun & Exists(joined))


def _send(lanes: Sequence[Lane], *, until: float) -> Iterator[list[tuple[Lane, list[Answer]]]]:
    """What came of it, as it comes, perhaps nothing. Lanes that take several calls at once go on by themselves, and one that stalls
    takes nobody else's time; the others have their turn meanwhile."""
    threaded = [lane for lane in lanes if lane.at_once > 1]
    sending = Telling(
        [partial(_tell, lane, until) for lane in threaded for _ in range(min(lane.at_once, len(lane.queue)))]
    )
    try:
        yield [(lane, _send_here(lane, until)) for lane in lanes if lane.at_once <= 1]
        for told in sending.batches(every_s=RECORD_EVERY_S):
            yield [(lane, [answer for whose, answer in told if whose is lane]) for lane in threaded]
    finally:
        for lane in threaded:
            lane.close()
        sending.wait()


def _send_here(lane: Lane, until: float) -> list[Answer]:
    answers: list[Answer] = []
    lane.send(answers.append, min(clock.monotonic() + HERE_S, until))
    return answers


def _tell(lane: Lane, until: float, tell: Callable[[tuple[Lane, Answer]], None]) -> None:
    lane.send(lambda answer: tell((lane, answer)), until)
