"""Keeps the time partitions of transitions, observations and samples: some months ahead, and no longer than they are kept."""

from django.db import connection, transaction

from berth.common import clock
from scheduling.partitions import drop_expired, ensure_partitions


@transaction.atomic
def maintain_partitions() -> tuple[list[str], list[str]]:
    """Names of the partitions that were made and of those that were dropped; by business time, which rows are stamped with."""
    now = clock.now()
    with connection.cursor() as cursor:
        return ensure_partitions(cursor, now=now), drop_expired(cursor, now=now)
