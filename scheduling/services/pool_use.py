"""SCH-15 in the books: what cards' samples say of whole nodes and of pools that grant more than they have.

What nobody measured is unknown, never idle. Must not decide who leaves: that is the engine's.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from berth.common import clock
from scheduling.engine.units import ONE_PPM
from scheduling.engine.watermark import Busy, NodeUse, how_busy
from scheduling.models import PoolUse
from tenants.models import Pool

SAMPLE_WALL: Final = timedelta(seconds=15)
"""How often clusters are asked what their cards do."""
_MEASURE: Final = """
    UPDATE scheduling_node n SET measured_ppm = x.measured
      FROM (SELECT c.node_id,
                   CASE WHEN n.cluster_id = ANY(%(clusters)s) AND count(s.card) * 10 >= count(held.card_id) * 9
                        THEN least(1000000, div(coalesce(sum(s.busy), 0), greatest(count(*) FILTER (WHERE c.health = 'ok'), 1))::bigint)
                   END AS measured
              FROM scheduling_card c
              JOIN scheduling_node n ON n.id = c.node_id
              LEFT JOIN (SELECT DISTINCT card_id FROM scheduling_lease WHERE closed_at IS NULL AND card_id IS NOT NULL) held
                ON held.card_id = c.id
              LEFT JOIN unnest(%(cards)s::bigint[], %(busy)s::bigint[]) AS s(card, busy)
                ON s.card = c.id AND held.card_id IS NOT NULL
             GROUP BY c.node_id, n.cluster_id) x
     WHERE n.id = x.node_id AND n.measured_ppm IS DISTINCT FROM x.measured
"""
"""A card that nobody holds does nothing; of those held, nine in ten need a sample, or the node counts as not measured."""
_POOLS: Final = """
    SELECT p.id, n.id, coalesce(n.measured_ppm, -1),
           (SELECT count(*) FROM scheduling_card c WHERE c.node_id = n.id AND c.health = 'ok'),
           coalesce((SELECT sum(l.quantity) FROM scheduling_lease l
                      WHERE l.node_id = n.id AND l.closed_at IS NULL AND l.card_id IS NOT NULL), 0)
      FROM tenants_pool p JOIN scheduling_node n ON n.pool_id = p.id
     WHERE p.factor_ppm > %s AND n.state <> 'lost' ORDER BY p.id, n.id
"""
UNITS_A_MILLI: Final = 7


def note_use(busy_of: Mapping[int, int], clusters: Collection[int], *, now: datetime) -> None:
    """One sample: `busy_of` is ppm by card, as the clusters of these ids just told. Nodes and over-committed pools learn from it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('scheduling.utilisation'))")
        values = {"clusters": sorted(clusters), "cards": list(busy_of), "busy": list(busy_of.values())}
        cursor.execute(_MEASURE, values)
        cursor.execute(_POOLS, [ONE_PPM])
        by_pool: dict[int, list[NodeUse]] = defaultdict(list)
        for pool, _node, measured_ppm, cards, units in cursor.fetchall():
            by_pool[pool].append(NodeUse(cards * 1000, int(units) // UNITS_A_MILLI, measured_ppm))
        pools = Pool.objects.in_bulk(by_pool)
        for pool_id, rows in by_pool.items():
            _note_pool(pools[pool_id], how_busy(rows), now)


def _note_pool(pool: Pool, busy: Busy, now: datetime) -> None:
    row, _ = PoolUse.objects.select_for_update().get_or_create(pool=pool)
    if row.sampled_at is not None and now - row.sampled_at < SAMPLE_WALL * clock.scale() / 2:
        return
    row.samples_above = row.samples_above + 1 if busy.is_above(pool.high_ppm) else 0
    row.used_ppm = busy.used_m * ONE_PPM // max(1, busy.total_m)
    row.measured, row.sampled_at = busy.measured, now
    row.save(update_fields=["samples_above", "used_ppm", "measured", "sampled_at"])


def note_relieved(pools: Iterable[int], *, now: datetime) -> None:
    """Somebody had to leave these pools for their use: samples count anew, since it takes a while until they show it."""
    for pool in sorted(set(pools)):
        PoolUse.objects.update_or_create(pool_id=pool, defaults={"samples_above": 0, "relieved_at": now})
