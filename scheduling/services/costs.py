"""The door by which billing puts what it recorded on jobs. Must not compute money: amounts arrive ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.db import connection, transaction

_RECORD: Final = """
    UPDATE scheduling_job
       SET cost_amount = new.amount, cost_currency = new.currency, cost_as_of = %s, cost_final = new.final
      FROM unnest(%s::bigint[], %s::numeric[], %s::text[], %s::boolean[]) AS new (id, amount, currency, final)
     WHERE scheduling_job.id = new.id
       AND (scheduling_job.cost_as_of IS NULL OR scheduling_job.cost_as_of <= %s)
"""


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """What billing recorded for a job; final once nothing more can come. Amount None: looked at, and not known."""

    job_id: int
    amount: Decimal | None
    currency: str
    final: bool


def record_job_cost(costs: Sequence[RecordedCost], *, as_of: datetime) -> int:
    """Put recorded amounts on their jobs; an older recording never overwrites a newer one. Returns how many took."""
    ordered = sorted(costs, key=lambda cost: cost.job_id)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            _RECORD,
            [
                as_of,
                [cost.job_id for cost in ordered],
                [cost.amount for cost in ordered],
                [cost.currency for cost in ordered],
                [cost.final for cost in ordered],
                as_of,
            ],
        )
        return int(cursor.rowcount)
