"""How soon the loop may turn again: rings come as events do, cycles only as often as they are worth. Decides nothing else."""

from typing import Final

from django.db import connection

from scheduling.models import Cycle, SchedulerEpoch
from scheduling.transitions import EPOCH_NAME

SHORTEST_REST_S: Final = 0.2
LONGEST_REST_S: Final = 0.8
"""Below a period, so that the watch never takes a rest for a loop that stands still."""


def is_rested() -> bool:
    """Whether a ring is worth a turn now (wall time, by the database's clock).

    Between two turns lies as long as the last one took: a burst of submits is planned together, and the loop leaves half a core to
    those who submit. A ring that falls into the rest is not lost work: the periodic one comes within a second.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM now() - lead.last_cycle_at),"  # noqa: S608 - own tables
            f' (SELECT duration_ms FROM "{Cycle._meta.db_table}" ORDER BY id DESC LIMIT 1)'
            f' FROM "{SchedulerEpoch._meta.db_table}" lead WHERE lead.name = %s',
            [EPOCH_NAME],
        )
        row = cursor.fetchone()
    if row is None or row[0] is None:
        return True
    took_s = float(row[1] or 0) / 1000
    return float(row[0]) >= min(max(took_s, SHORTEST_REST_S), LONGEST_REST_S)
