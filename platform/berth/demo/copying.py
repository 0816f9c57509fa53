"""Loads model instances by COPY: history has tens of thousands of rows, and inserts would be most of the demo's start-up."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models


def copy_rows(model: type[models.Model], rows: Iterable[models.Model]) -> int:
    """COPY `rows`, whose primary keys are set, into the table of `model`; its id sequence goes on after them. Returns the count."""
    fields: Sequence[Any] = model._meta.concrete_fields
    columns = ", ".join(f'"{field.column}"' for field in fields)
    table = model._meta.db_table
    count = 0
    with connection.cursor() as cursor:
        with cursor.copy(f'COPY "{table}" ({columns}) FROM STDIN') as copy:
            for row in rows:
                copy.write_row([field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields])
                count += 1
        key = model._meta.pk.column if model._meta.pk is not None else "id"
        cursor.execute(
            f"SELECT setval(pg_get_serial_sequence(%s, %s), greatest((SELECT max({key}) FROM {table}), 1))",  # noqa: S608
            [table, key],
        )
    return count
