"""What queues have used until now, for effective weights (SCH-06): stored use decayed on, and what is held at this moment."""

from datetime import datetime
from typing import Final

from django.db import connection

from berth.common.units import PPM
from scheduling.engine.weights import HALF_LIFE_MS, Usage

UNITS: Final = 7000
_LEAST_POWER: Final = -200
"""What is so old counts nothing; PostgreSQL refuses powers that are too small for a float."""


def decay(since: str, to: str) -> str:
    """SQL: what is left at `to` of one unit that stood at `since`."""
    age = f"extract(epoch FROM {to} - {since})::float8 * 1000 / {HALF_LIFE_MS}"
    return f"power(2.0::float8, greatest({_LEAST_POWER}, -({age})))"


def held(start: str, end: str, now: str) -> str:
    """SQL: card-equivalent ms, decayed to `now`, of a lease `l` of flavor `f` from `start` to `end`: the integral of its decay."""
    rate = f"l.quantity / {UNITS}.0::float8 * f.weight_ppm / {PPM}.0::float8"
    return f"({rate} * {HALF_LIFE_MS} / ln(2.0::float8) * ({decay(end, now)} - {decay(start, now)}))"


_END: Final = "least(p.finished_at, %(now)s)"
_USE: Final = f"""
    WITH held AS (
        SELECT j.queue_id, sum({held("p.started_at", _END, "%(now)s")}) AS card_ms
          FROM scheduling_lease l JOIN scheduling_pod p ON p.id = l.pod_id JOIN scheduling_run r ON r.id = l.run_id
          JOIN scheduling_job j ON j.id = r.job_id JOIN tenants_flavor f ON f.id = l.flavor_id
         WHERE l.closed_at IS NULL AND r.state <> 'ended' AND p.started_at < {_END}
         GROUP BY j.queue_id
    )
    SELECT coalesce(use.queue_id, held.queue_id),
           round(coalesce(use.decayed_card_ms * {decay("use.as_of", "greatest(use.as_of, %(now)s)")}, 0)
                 + coalesce(held.card_ms, 0))::bigint,
           coalesce(use.held_units_s, 0), coalesce(use.sampled_units_s, 0), coalesce(use.busy_units_s, 0)
      FROM scheduling_queueuse use FULL JOIN held ON held.queue_id = use.queue_id
"""  # noqa: S608 - constants of this module only
"""Leases of ended runs that are still open are in segments already: counting them here would count them twice."""


def usage_of_queues(now: datetime) -> dict[int, Usage]:
    """By queue id, in one query; queues that never used anything are left out."""
    with connection.cursor() as cursor:
        cursor.execute(_USE, {"now": now})
        rows = cursor.fetchall()
    return {
        queue: Usage(
            decayed_card_ms=decayed,
            utilisation_ppm=busy * PPM // sampled if sampled else None,
            coverage_ppm=min(PPM, sampled * PPM // held_units) if held_units else 0,
            held_card_ms=held_units * 1000 // UNITS,
        )
        for queue, decayed, held_units, sampled, busy in rows
    }
