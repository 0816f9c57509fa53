"""One turn of the control loop.

The ideal: read what was observed, decide on one consistent picture, make the decision true in one transaction, tell the clusters.
Departures, and why: observations are taken in by a transaction of their own, so that a plan that fails never holds up what has
already happened; clusters are told after commit in slices, since no cluster may be waited for inside a transaction; a turn that
finds another leader goes away at once, since the next ring is a second off.
"""

import logging
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from berth.common import clock
from scheduling.control.absorb import Absorbed, absorb_observations
from scheduling.control.apply import Applied, apply_plan
from scheduling.control.apply_waits import WaitMemory
from scheduling.control.cycle_store import CycleStore
from scheduling.control.dispatch import Dispatcher
from scheduling.control.draining import drain_nodes
from scheduling.control.limits import enforce_limits
from scheduling.control.lock import Leadership, holder_name, leader_name, note_finished_cycle, rest, take_lead
from scheduling.control.planning import Planned, plan_cycle
from scheduling.control.pod_release import PodRelease
from scheduling.control.retrying import retry_broken_off
from scheduling.control.take_down import TakeDown
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Snapshot
from scheduling.models import Cycle
from scheduling.selectors.snapshot import load_snapshot
from scheduling.selectors.snapshot_rows import to_ms
from scheduling.transitions import StaleEpochError

logger = logging.getLogger(__name__)
ALARM_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did: ids and wall milliseconds."""

    cycle_id: int
    epoch: int
    started: tuple[int, ...]
    evicted: tuple[int, ...]
    ended: tuple[int, ...]
    waiting: int
    dispatched: int
    load_ms: int
    plan_ms: int
    apply_ms: int
    duration_ms: int


@dataclass(slots=True)
class Loop:
    """The loop of one process (or of one test): it remembers only what makes it polite, never what is true."""

    holder: str = field(default_factory=leader_name)
    process: str = field(default_factory=holder_name)
    policy: Policy = PRESETS["default"]
    _dispatcher: Dispatcher = field(default_factory=Dispatcher)
    _take_down: TakeDown = field(default_factory=TakeDown)
    _pod_release: PodRelease = field(default_factory=PodRelease)
    _told: WaitMemory = field(default_factory=WaitMemory)
    _store: CycleStore = field(default_factory=CycleStore)
    _alarm_again_at: float = 0.0
    _planning: tuple[Snapshot, datetime] | None = None

    def turn(self) -> Turn | None:
        """One turn; None when another leads, now or by the end. Raises what the planner or the database raised, written down."""
        leadership = take_lead(self.holder, turn=self.process)
        if leadership is None:
            return None
        try:
            return self._turn(leadership)
        except StaleEpochError:
            logger.warning("lead lost epoch=%s holder=%s", leadership.epoch, leadership.holder)
            return None
        except Exception as error:
            logger.exception("cycle failed epoch=%s", leadership.epoch)
            self._keep_picture(_record_failure(leadership, error))
            raise
        finally:
            self._planning = None
            rest(leadership)

    def _turn(self, leadership: Leadership) -> Turn:
        began = clock.monotonic()
        absorbed = retry_broken_off(partial(absorb_observations, leadership, clock.now()))
        self._alarm_of_held(absorbed.held_nodes)
        retry_broken_off(partial(enforce_limits, leadership, clock.now()))
        retry_broken_off(partial(drain_nodes, leadership, self.policy, clock.now()))
        now = clock.now()
        snapshot = load_snapshot(now, self.policy)
        loaded = clock.monotonic()
        self._planning = snapshot, now
        planned = plan_cycle(snapshot, self.policy, to_ms(now))
        self._planning = None
        decided = clock.monotonic()
        applied = retry_broken_off(partial(self._apply, planned, leadership, now))
        done = clock.monotonic()
        self._renew(leadership)
        dispatched = self._dispatcher.dispatch(leadership, partial(self._renew, leadership))
        self._take_down.take_down(leadership, self._take_down.logs.keep(absorbed.ended))
        self._pod_release.release(leadership, self._take_down.logs)
        note_finished_cycle(leadership)
        turn = Turn(
            cycle_id=applied.cycle_id,
            epoch=leadership.epoch,
            started=tuple(applied.started),
            evicted=tuple(applied.evicted),
            ended=tuple(absorbed.ended),
            waiting=len(planned.plan.waits),
            dispatched=dispatched,
            load_ms=_ms(loaded - began),
            plan_ms=_ms(decided - loaded),
            apply_ms=_ms(done - decided),
            duration_ms=_ms(clock.monotonic() - began),
        )
        _record_times(turn)
        self._store.keep(turn.cycle_id, snapshot, self.policy, to_ms(now), planned)
        _log(turn, absorbed, applied)
        return turn

    def _apply(self, planned: Planned, leadership: Leadership, now: datetime) -> Applied:
        """What was written is remembered only once it is committed."""
        memory = WaitMemory(self._told.told)
        applied = apply_plan(planned, now=now, leadership=leadership, memory=memory)
        self._told = memory
        return applied

    def _keep_picture(self, failed: int | None) -> None:
        """Of a cycle whose planning raised, what it was planning on: it can be replayed."""
        if failed is not None and self._planning is not None:
            snapshot, now = self._planning
            self._store.keep(failed, snapshot, self.policy, to_ms(now), None)

    def _alarm_of_held(self, nodes: list[str]) -> None:
        """Once a minute while it lasts: most likely it is our own network that fails (F27)."""
        if nodes and clock.monotonic() >= self._alarm_again_at:
            self._alarm_again_at = clock.monotonic() + ALARM_EVERY_S
            logger.error(
                "more nodes show no life than may be lost at once: nothing is ended on nodes=%s", ",".join(nodes)
            )

    def _renew(self, leadership: Leadership) -> None:
        """Keep the lease through a long turn. Raises StaleEpochError when it was lost meanwhile."""
        if take_lead(self.holder, turn=self.process) != leadership:
            raise StaleEpochError


def plan_now(policy: Policy = PRESETS["default"]) -> tuple[Planned, datetime]:
    """What a turn would decide now, without doing it."""
    now = clock.now()
    return plan_cycle(load_snapshot(now, policy), policy, to_ms(now)), now


def _record_times(turn: Turn) -> None:
    Cycle.objects.filter(pk=turn.cycle_id).update(
        load_ms=turn.load_ms, plan_ms=turn.plan_ms, apply_ms=turn.apply_ms, duration_ms=turn.duration_ms
    )


def _record_failure(leadership: Leadership, error: Exception) -> int | None:
    """A failed cycle is kept, if the database is there to keep it; its number."""
    try:
        failed = Cycle.objects.create(
            epoch=leadership.epoch,
            at=clock.now(),
            wall_at=clock.wall_now(),
            failed=True,
            error=f"{type(error).__name__}: {error}"[:2000],
        )
    except Exception:
        logger.exception("failed cycle could not be recorded")
        return None
    return int(failed.pk)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _log(turn: Turn, absorbed: Absorbed, applied: Applied) -> None:
    facts: dict[str, Any] = {
        "cycle": turn.cycle_id,
        "observed": absorbed.observations,
        "began": len(absorbed.started),
        "ended": len(turn.ended),
        "started": len(turn.started),
        "evicted": len(turn.evicted),
        "resized": len(applied.resized),
        "waiting": turn.waiting,
        "stale": len(applied.stale),
        "faulty": len(applied.faulty),
        "dispatched": turn.dispatched,
        "load_ms": turn.load_ms,
        "plan_ms": turn.plan_ms,
        "apply_ms": turn.apply_ms,
    }
    busy = any(
        facts[key] for key in ("began", "ended", "started", "evicted", "resized", "stale", "faulty", "dispatched")
    )
    text = " ".join(f"{key}={value}" for key, value in facts.items())
    logger.log(logging.INFO if busy else logging.DEBUG, "cycle %s", text)
