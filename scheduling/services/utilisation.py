"""Keeps what cards report: raw samples, and their roll-up by run, flavor and hour. What nobody reported is unknown, never idle.

Utilisation never changes a bill (BIL-01); it is for people and for rules that need a wide enough coverage (SCH-06, BIL-11).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection, transaction

from berth.common import clock
from scheduling.models import UtilisationSample

BATCH: Final = 5_000
HOUR: Final = timedelta(hours=1)
LEAST_GAP: Final = timedelta(minutes=3)
WALL_GAP: Final = timedelta(seconds=45)
_ROLL_UP: Final = """
    WITH sampled AS (
        SELECT run_id, card_id, busy_ppm, vram_mib, at,
               greatest(coalesce(lag(at) OVER (PARTITION BY run_id, card_id ORDER BY at), at - %(gap)s), at - %(gap)s) AS since
          FROM scheduling_utilisationsample
         WHERE at >= %(from)s - %(gap)s * 2 AND at < %(until)s + %(gap)s AND run_id IS NOT NULL
    ), held AS (
        SELECT l.id, l.run_id, l.card_id, l.flavor_id, l.quantity, greatest(p.started_at, %(from)s) AS since,
               least(coalesce(p.finished_at, l.closed_at, %(now)s), %(until)s) AS upto
          FROM scheduling_lease l JOIN scheduling_pod p ON p.id = l.pod_id
         WHERE l.card_id IS NOT NULL AND p.started_at < %(until)s
           AND l.run_id IN (
               SELECT id FROM scheduling_run WHERE state IN ('admitted', 'starting', 'running', 'stopping')
               UNION SELECT run_id FROM sampled)
    ), covered AS (
        SELECT h.id, sum(part.s) AS s, sum(part.s * sampled.busy_ppm) / 1000000 AS busy, max(sampled.vram_mib) AS peak
          FROM held h JOIN sampled ON sampled.run_id = h.run_id AND sampled.card_id = h.card_id
         CROSS JOIN LATERAL (
               SELECT extract(epoch FROM least(sampled.at, h.upto) - greatest(sampled.since, h.since)) AS s) AS part
         WHERE part.s > 0 GROUP BY h.id
    )
    INSERT INTO scheduling_utilisationhour
           (hour, tenant_id, queue_id, run_id, flavor_id, held_units_s, sampled_units_s, busy_units_s, peak_vram_mib)
    SELECT %(from)s, j.tenant_id, j.queue_id, h.run_id, h.flavor_id,
           round(sum(h.quantity * extract(epoch FROM h.upto - h.since))), round(sum(h.quantity * coalesce(c.s, 0))),
           round(sum(h.quantity * coalesce(c.busy, 0))), max(c.peak)
      FROM held h JOIN scheduling_run r ON r.id = h.run_id JOIN scheduling_job j ON j.id = r.job_id
      LEFT JOIN covered c ON c.id = h.id
     WHERE h.upto > h.since AND h.flavor_id IS NOT NULL
     GROUP BY j.tenant_id, j.queue_id, h.run_id, h.flavor_id
    ON CONFLICT (hour, run_id, flavor_id) DO UPDATE
       SET held_units_s = excluded.held_units_s, sampled_units_s = excluded.sampled_units_s,
           busy_units_s = excluded.busy_units_s, peak_vram_mib = excluded.peak_vram_mib
"""

_PEAKS: Final = """
    WITH told AS (SELECT unnest(%s::bigint[]) AS id, unnest(%s::bigint[]) AS peak), higher AS (
        SELECT r.id, told.peak FROM scheduling_run r JOIN told ON told.id = r.id
         WHERE told.peak > coalesce(r.peak_vram_mib, -1) ORDER BY r.id FOR UPDATE OF r SKIP LOCKED)
    UPDATE scheduling_run r SET peak_vram_mib = higher.peak FROM higher WHERE r.id = higher.id
"""
"""A run that the loop is just writing is passed over: the next sample tells its peak again."""


@dataclass(frozen=True, slots=True)
class CardSample:
    """One card at an instant: utilisation in ppm, VRAM in MiB, and the run that held it."""

    card_id: int
    run_id: int
    rank: int
    at: datetime
    busy_ppm: int
    vram_mib: int | None


def longest_gap() -> timedelta:
    """A sample speaks for the time since the card's last one, at most for so long; time before that stays without samples.

    One for all sources, since an hour's roll-up does not know them: exporters tell once a minute, the simulated cluster is asked every
    15 s of wall time.
    """
    return max(LEAST_GAP, WALL_GAP * clock.scale())


def lock_samples() -> None:
    """One writer at a time, until the transaction ends: two never put the same hour's rows in another order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('scheduling.utilisation'))")


def record_samples(samples: Sequence[CardSample], *, now: datetime) -> None:
    """Store samples and bring the hours up to date that they belong to, and the last two. An hour is worked out anew each time."""
    hour = _hour(now)
    hours = {hour - HOUR, hour} | {begin for one in samples for begin in (_hour(one.at), _hour(one.at - longest_gap()))}
    with transaction.atomic():
        lock_samples()
        UtilisationSample.objects.bulk_create(
            [
                UtilisationSample(
                    at=one.at,
                    card_id=one.card_id,
                    run_id=one.run_id,
                    rank=one.rank,
                    busy_ppm=one.busy_ppm,
                    vram_mib=one.vram_mib,
                )
                for one in samples
            ],
            BATCH,
        )
        with connection.cursor() as cursor:
            for begin in sorted(hours):
                values: dict[str, Any] = {"from": begin, "until": begin + HOUR, "now": now, "gap": longest_gap()}
                cursor.execute(_ROLL_UP, values)
            peaks = _peaks(samples)
            cursor.execute(_PEAKS, [list(peaks), list(peaks.values())])


def _peaks(samples: Sequence[CardSample]) -> dict[int, int]:
    """The most VRAM in use on one card, by run (SCH-26)."""
    found: dict[int, int] = {}
    for one in samples:
        if one.vram_mib is not None:
            found[one.run_id] = max(one.vram_mib, found.get(one.run_id, 0))
    return found


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)
