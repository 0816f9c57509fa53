"""Start ranges of all waiting jobs: worked out beside the loop when something changed, stored where they moved, scored when a job starts.

Never in the path of a request, and never part of a cycle: a slow forecast delays nobody.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from berth.common import clock
from scheduling.control.planning import plan_cycle
from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import Id
from scheduling.models import Forecast, Job
from scheduling.selectors.snapshot import load_snapshot
from scheduling.selectors.snapshot_rows import fetch, to_ms
from scheduling.simulator.eta import CannotTell, Estimate, estimate_starts
from scheduling.states import JobState

LOCK: Final = 7_302_114
"""Advisory: one forecast at a time on the platform, whoever is second goes away."""
BATCH: Final = 2_000
SAME_WITHIN: Final = timedelta(seconds=60)
SAME_SHARE: Final = 20
"""A bound that moved by less than a minute, and by less than a twentieth of the time until it, has not moved."""
SCORE_TOLERANCE: Final = timedelta(seconds=2)
"""Ranges are told to the second and cycles come every second: what ends between two of them has held. Wall time."""
REST_SHARE: Final = 19
"""A forecast of thousands takes seconds: for this many times as long as the last one took nobody makes another."""
STALE_AFTER: Final = timedelta(seconds=30)
"""Ranges of overdue jobs move although nothing happens: looked at again after this much wall time."""

_VERSION: Final = """
    SELECT (SELECT cycle_id FROM scheduling_cycleorder WHERE id = 1), count(*), max(id), coalesce(sum(id) FILTER (WHERE state = 'stopping'), 0)
      FROM scheduling_run WHERE state IN ('admitted', 'starting', 'running', 'stopping')
"""
_NEWEST: Final = """
    SELECT DISTINCT ON (f.job_id) f.job_id, f.earliest, f.likely, f.latest, f.why_not FROM scheduling_forecast f
      JOIN scheduling_job j ON j.id = f.job_id AND j.state = 'queued' ORDER BY f.job_id, f.id DESC
"""
_SCORE: Final = """
    UPDATE scheduling_forecast f
       SET started_at = r.admitted_at, held = r.admitted_at BETWEEN f.earliest - make_interval(secs => %s) AND f.latest + make_interval(secs => %s)
      FROM scheduling_run r
     WHERE r.id > %s AND r.job_id = f.job_id AND f.held IS NULL AND f.earliest IS NOT NULL AND f.at <= r.admitted_at
       AND NOT EXISTS (SELECT 1 FROM scheduling_run p WHERE p.job_id = r.job_id AND p.number < r.number AND p.admitted_at >= f.at)
"""


class Forecaster:
    """Of one process. It remembers what it last looked at, never what is true."""

    def __init__(self, policy: Policy = PRESETS["default"]) -> None:
        self._policy = policy
        self._seen: tuple[Any, ...] | None = None
        self._looked = 0.0
        self._rests_until = 0.0
        self._scored_run = -1

    def forecast_if_changed(self) -> int:
        """Score what has started, then store new ranges if anything changed; how many were stored."""
        with transaction.atomic():
            if not fetch("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])[0][0]:
                return 0
            self.score()
            version = fetch(_VERSION)[0]
            began = clock.monotonic()
            fresh = began - self._looked < STALE_AFTER.total_seconds()
            if (version == self._seen and fresh) or began < self._rests_until:
                return 0
            stored = self._store_all(clock.now())
            self._seen, self._looked = version, clock.monotonic()
            self._rests_until = self._looked + REST_SHARE * (self._looked - began)
            return stored

    def score(self) -> int:
        """Tell of every range shown for a job that has started since whether it held; how many."""
        tolerance = SCORE_TOLERANCE * clock.scale()
        newest = fetch("SELECT coalesce(max(id), 0) FROM scheduling_run")[0][0]
        with connection.cursor() as cursor:
            cursor.execute(_SCORE, [tolerance.total_seconds(), tolerance.total_seconds(), self._scored_run])
            scored = int(cursor.rowcount)
        # Runs get their ids in order but may commit out of order: look back a little each time.
        self._scored_run = max(self._scored_run, newest - BATCH)
        return scored

    def _store_all(self, now: datetime) -> int:
        snapshot = load_snapshot(now, self._policy)
        if not len(snapshot.pending):
            return 0
        plan = plan_cycle(snapshot, self._policy, to_ms(now)).plan
        starting = {start.job for start in plan.starts}
        estimates = {
            job: estimate
            for job, estimate in estimate_starts(snapshot, plan, self._policy, to_ms(now)).items()
            if job not in starting
        }
        return store_forecasts(estimates, now)


def store_forecasts(estimates: Mapping[Id, Estimate], now: datetime) -> int:
    """A row for each job whose range moved, or became known or unknown; how many."""
    newest = {row[0]: row[1:] for row in fetch(_NEWEST)}
    rows = [_row(int(job), estimate, now) for job, estimate in sorted(estimates.items(), key=lambda pair: int(pair[0]))]
    moved = [row for row in rows if _has_moved(newest.get(row.job_id), row, now)]
    queued = set(
        Job.objects.filter(pk__in=[row.job_id for row in moved], state=JobState.QUEUED.value).values_list(
            "pk", flat=True
        )
    )
    Forecast.objects.bulk_create([row for row in moved if row.job_id in queued], BATCH)
    return len(queued)


def _row(job: int, estimate: Estimate, now: datetime) -> Forecast:
    if isinstance(estimate, CannotTell):
        return Forecast(job_id=job, at=now, why_not=estimate.why)
    return Forecast(
        job_id=job,
        at=now,
        earliest=_instant(estimate.earliest_ms),
        likely=_instant(estimate.likely_ms),
        latest=_instant(estimate.latest_ms),
    )


def _instant(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _has_moved(old: Sequence[Any] | None, new: Forecast, now: datetime) -> bool:
    if old is None:
        return True
    *bounds, why_not = old
    if why_not != new.why_not:
        return True
    pairs = zip(bounds, (new.earliest, new.likely, new.latest), strict=True)
    return any(not _is_same(before, after, now) for before, after in pairs)


def _is_same(before: datetime | None, after: datetime | None, now: datetime) -> bool:
    if before is None or after is None:
        return before is after
    return abs(after - before) <= max(SAME_WITHIN, abs(after - now) / SAME_SHARE)
