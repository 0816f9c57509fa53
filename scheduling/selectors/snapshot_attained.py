"""Service that jobs have had before: card time of their earlier runs, from what those held (SCH-27)."""

from collections.abc import Mapping

from scheduling.selectors.snapshot_rows import fetch

_EARLIER = """SELECT r.job_id, floor(sum(l.quantity * extract(epoch FROM
        coalesce(l.closed_at, r.ended_at) - l.opened_at)) / 7)::bigint
    FROM scheduling_job j JOIN scheduling_run r ON r.job_id = j.id AND r.state = 'ended'
    JOIN scheduling_lease l ON l.run_id = r.id
    WHERE j.ended_at IS NULL AND j.runs_count > CASE WHEN j.state = 'queued' THEN 0 ELSE 1 END GROUP BY r.job_id"""
"""Quantities are in 1/7000 card, so a seventh of quantity x seconds is card-milliseconds. Jobs in their first run are left out."""


def read_attained() -> Mapping[int, int]:
    """Card-milliseconds of ended runs, by job that has not ended; jobs without any are not in it."""
    return {job: max(0, int(card_ms or 0)) for job, card_ms in fetch(_EARLIER)}
