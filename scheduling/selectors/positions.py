"""Where waiting jobs stand: place and cards ahead among jobs that accept a same flavor, in the last cycle's order (SCH-21)."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

ORDER = """
    WITH line AS (
        SELECT o.job_id, o.place
          FROM scheduling_cycleorder c CROSS JOIN LATERAL unnest(c.job_ids) WITH ORDINALITY AS o (job_id, place)
         WHERE c.id = 1
    )
    SELECT line.job_id, sum(role.replicas * role.cards_m)::bigint,
           (SELECT array_agg(DISTINCT accepted.flavor_id ORDER BY accepted.flavor_id)
              FROM scheduling_role r JOIN scheduling_roleflavor accepted ON accepted.role_id = r.id
             WHERE r.job_id = line.job_id AND r.cards_m > 0)
      FROM line
      JOIN scheduling_job job ON job.id = line.job_id AND job.state = 'queued'
      JOIN scheduling_role role ON role.job_id = line.job_id
     WHERE line.place <= (SELECT max(place) FROM line WHERE job_id = ANY(%s))
     GROUP BY line.job_id, line.place
     ORDER BY line.place
"""


@dataclass(frozen=True, slots=True)
class Position:
    """`place` counts from 1; `cards_ahead_m` is what the jobs before it ask for together, in milli-cards."""

    place: int
    jobs_ahead: int
    cards_ahead_m: int


def positions_of(job_ids: Collection[int]) -> dict[int, Position]:
    """Positions of those of the jobs that are in line; suspended, running and ended jobs, and newer ones, are absent."""
    wanted = set(job_ids)
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(ORDER, [sorted(wanted)])
        rows: list[tuple[int, int, list[int] | None]] = cursor.fetchall()
    ahead: dict[frozenset[int], list[int]] = defaultdict(lambda: [0, 0])
    found: dict[int, Position] = {}
    for job_id, cards_m, flavors in rows:
        accepts = frozenset(flavors or ())
        if job_id in wanted:
            rivals = [count for kind, count in ahead.items() if kind & accepts or kind == accepts]
            jobs = sum(count for count, _ in rivals)
            found[job_id] = Position(jobs + 1, jobs, sum(cards for _, cards in rivals))
        ahead[accepts][0] += 1
        ahead[accepts][1] += cards_m
    return found
