"""Names and bounds of time partitions, and the SQL that keeps enough of them ahead. Must know tables only, no models."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

MONTHS_BEHIND: Final = 2
MONTHS_AHEAD: Final = 3


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table partitioned by month of `at`; partitions wholly older than `keep` are dropped, None keeps all."""

    name: str
    keep: timedelta | None


TABLES: Final = (
    PartitionedTable("scheduling_transition", None),
    PartitionedTable("scheduling_observation", timedelta(days=7)),
    PartitionedTable("scheduling_utilisationsample", timedelta(days=90)),
)


def month_start(at: datetime, months: int = 0) -> datetime:
    """First instant (UTC) of the month `months` after the one of `at`."""
    index = at.year * 12 + at.month - 1 + months
    return datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)


def partition_name(table: str, start: datetime) -> str:
    return f"{table}_{start:%Y_%m}"


def ensure_partitions(cursor: Any, *, now: datetime) -> list[str]:
    """Create the missing months around `now`; rows already in the default partition move to theirs. Returns new names."""
    made = []
    for table in TABLES:
        for offset in range(-MONTHS_BEHIND, MONTHS_AHEAD + 1):
            start, end = month_start(now, offset), month_start(now, offset + 1)
            name = partition_name(table.name, start)
            cursor.execute("SELECT to_regclass(%s)", [name])
            if cursor.fetchone()[0] is None:
                _create(cursor, table.name, name, start, end)
                made.append(name)
    return made


def drop_expired(cursor: Any, *, now: datetime) -> list[str]:
    """Drop months that lie wholly before the retention of their table (DESIGN section 4). Returns their names."""
    dropped = []
    for table in TABLES:
        if table.keep is None:
            continue
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [table.name])
        for (name,) in cursor.fetchall():
            suffix = name.removeprefix(f"{table.name}_")
            if suffix == "default":
                continue
            year, month = (int(part) for part in suffix.split("_"))
            if month_start(datetime(year, month, 1, tzinfo=UTC), 1) <= now - table.keep:
                cursor.execute(f'DROP TABLE "{name}"')
                dropped.append(name)
    return dropped


def _create(cursor: Any, table: str, name: str, start: datetime, end: datetime) -> None:
    """Make one month. Rows of that month in the default partition would make ATTACH fail, so they move first."""
    cursor.execute(f'CREATE TABLE "{name}" (LIKE "{table}" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)')
    cursor.execute(f'ALTER TABLE "{table}_default" DISABLE TRIGGER USER')
    cursor.execute(
        f'WITH moved AS (DELETE FROM "{table}_default" WHERE at >= %s AND at < %s RETURNING *) '  # noqa: S608 - own names
        f'INSERT INTO "{name}" SELECT * FROM moved',
        [start, end],
    )
    cursor.execute(f'ALTER TABLE "{table}_default" ENABLE TRIGGER USER')
    cursor.execute(f'ALTER TABLE "{table}" ATTACH PARTITION "{name}" FOR VALUES FROM (%s) TO (%s)', [start, end])
