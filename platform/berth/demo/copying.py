"""Loads model instances by COPY: history has tens of thousands of rows, and inserts would be most of the demo's start-up."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models

_AS_THEY_ARE = (
    models.BigAutoField, models.BooleanField, models.CharField, models.DateTimeField, models.ForeignKey, models.IntegerField,
    models.TextField,
)  # fmt: skip
"""Fields whose Python values the driver writes as they are, aware instants among them: most of what history has."""


def copy_rows(model: type[models.Model], rows: Iterable[models.Model]) -> int:
    """COPY `rows`, whose primary keys are set, into the table of `model`; its id sequence goes on after them. Returns the count."""
    fields: Sequence[Any] = model._meta.concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    table = model._meta.db_table
    count = 0
    with connection.cursor() as cursor:
        with cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
            plain = [(field.attname, None if isinstance(field, _AS_THEY_ARE) else field) for field in fields]
            for row in rows:
                values = row.__dict__
                copy.write_row(
                    [
                        values[name] if field is None else field.get_db_prep_save(values[name], connection)
                        for name, field in plain
                    ]
                )
                count += 1
        key = model._meta.pk.column if model._meta.pk is not None else "id"
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence(%s, %s), greatest((SELECT max({key}) FROM {table}), 1))",  # noqa: S608
            [table, key],
        )
    return count
