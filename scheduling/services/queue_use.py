"""Keeps what queues have used (SCH-06). A segment is counted once: in the transaction that stores it, and never again.

What is held now is in no segment yet: readers add it (selectors/queue_use.py), so nothing here follows open leases.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from scheduling.selectors.queue_use import decay, held

WINDOW: Final = timedelta(days=7)
"""How far back utilisation counts."""
_LATER: Final = "greatest(use.as_of, excluded.as_of)"
_COUNT: Final = f"""
    INSERT INTO scheduling_queueuse AS use (queue_id, decayed_card_ms, as_of, held_units_s, sampled_units_s, busy_units_s)
    SELECT j.queue_id, round(sum({held("lower(s.during)", "upper(s.during)", "%(now)s")})), %(now)s, 0, 0, 0
      FROM scheduling_leasesegment s JOIN scheduling_lease l ON l.id = s.lease_id JOIN scheduling_run r ON r.id = l.run_id
      JOIN scheduling_job j ON j.id = r.job_id JOIN tenants_flavor f ON f.id = l.flavor_id
     WHERE s.kind IN ('billable', 'grace') {{which}}
     GROUP BY j.queue_id ORDER BY j.queue_id
    ON CONFLICT (queue_id) DO UPDATE
       SET as_of = {_LATER},
           decayed_card_ms = round(use.decayed_card_ms * {decay("use.as_of", _LATER)}
                                   + excluded.decayed_card_ms * {decay("excluded.as_of", _LATER)})
"""  # noqa: S608 - constants of this module only
"""Time of the platform's own faults, and after the last sign of life, is no use of the queue's."""
_MEASURE: Final = """
    WITH held AS (
        SELECT j.queue_id, sum(l.quantity * extract(epoch FROM least(coalesce(p.finished_at, l.closed_at, %(now)s), %(now)s)
                                                           - greatest(p.started_at, %(since)s))) AS units_s
          FROM scheduling_lease l JOIN scheduling_pod p ON p.id = l.pod_id JOIN scheduling_run r ON r.id = l.run_id
          JOIN scheduling_job j ON j.id = r.job_id
         WHERE l.card_id IS NOT NULL AND (l.closed_at IS NULL OR l.closed_at > %(since)s)
           AND greatest(p.started_at, %(since)s) < least(coalesce(p.finished_at, l.closed_at, %(now)s), %(now)s)
         GROUP BY j.queue_id
    ), sampled AS (
        SELECT queue_id, sum(sampled_units_s) AS sampled, sum(busy_units_s) AS busy
          FROM scheduling_utilisationhour WHERE hour >= %(since)s GROUP BY queue_id
    )
    INSERT INTO scheduling_queueuse AS use
           (queue_id, decayed_card_ms, as_of, held_units_s, sampled_units_s, busy_units_s, measured_from, measured_at)
    SELECT q.id, 0, %(now)s, round(coalesce(held.units_s, 0)), coalesce(sampled.sampled, 0), coalesce(sampled.busy, 0),
           %(since)s, %(now)s
      FROM tenants_queue q LEFT JOIN held ON held.queue_id = q.id LEFT JOIN sampled ON sampled.queue_id = q.id
     WHERE held.queue_id IS NOT NULL OR sampled.queue_id IS NOT NULL
        OR EXISTS (SELECT 1 FROM scheduling_queueuse old WHERE old.queue_id = q.id)
     ORDER BY q.id
    ON CONFLICT (queue_id) DO UPDATE
       SET held_units_s = excluded.held_units_s, sampled_units_s = excluded.sampled_units_s, busy_units_s = excluded.busy_units_s,
           measured_from = excluded.measured_from, measured_at = excluded.measured_at
"""
"""Held time comes from leases, not from the hours of samples: hours that nobody looked at are held time without samples."""


def count_segments(segments: Sequence[int], *, now: datetime) -> None:
    """Add new segments, by id, to their queues' decayed use. Belongs into the transaction that stores them."""
    _count("AND s.id = ANY(%(ids)s)", segments, now)


def count_segments_of(leases: Sequence[int], *, now: datetime) -> None:
    """The same for all segments of leases that were stored just now."""
    _count("AND s.lease_id = ANY(%(ids)s)", leases, now)


def _count(which: str, ids: Sequence[int], now: datetime) -> None:
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_COUNT.format(which=which), {"now": now, "ids": list(ids)})


def recount(*, now: datetime) -> None:
    """Forget what was counted and count all segments anew: after history was loaded past the services."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE scheduling_queueuse IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute("UPDATE scheduling_queueuse SET decayed_card_ms = 0, as_of = %s", [now])
        cursor.execute(_COUNT.format(which=""), {"now": now})


def measure_use(*, now: datetime) -> None:
    """How busy each queue's cards were in the last 7 days (from a full hour on), and how much of that is known."""
    since = now.replace(minute=0, second=0, microsecond=0) - WINDOW
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('scheduling.queue_use'))")
        cursor.execute(_MEASURE, {"now": now, "since": since})
