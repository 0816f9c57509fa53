"""INSERTs of rows that belong together in one trip to the database, by statements whose text is made once a model.

For the paths that are measured (a submit); everything else uses the manager.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models

BATCH = 500
"""Rows of one trip: some more hardly cost less."""


def next_keys(*wanted: tuple[type[models.Model], int]) -> list[list[int]]:
    """Primary keys to come, ascending: as many of each model as wanted, in one query."""
    keys = ", ".join(
        ["ARRAY(SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s))"] * len(wanted)
    )
    params = [part for model, count in wanted for part in (model._meta.db_table, model._meta.pk.column, count)]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {keys}", params)
        return [sorted(of_model) for of_model in cursor.fetchone()]


def insert_rows(*groups: Iterable[models.Model]) -> None:
    """Store new rows, each group of one model; later groups may point at earlier ones. Rows without a primary key get one in the
    database and are not told which.

    No signals, no generated columns. Raises IntegrityError as `bulk_create` does. More than one trip is not atomic by itself.
    """
    texts: list[str] = []
    params: list[Any] = []
    rows_so_far = 0
    for rows in map(list, groups):
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            text, more = _statement(batch)
            texts.append(text)
            params += more
            rows_so_far += len(batch)
            if rows_so_far >= BATCH:
                _send(texts, params)
                texts, params, rows_so_far = [], [], 0
    if texts:
        _send(texts, params)


def _send(texts: Sequence[str], params: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("; ".join(texts), params)


def _statement(rows: Sequence[models.Model]) -> tuple[str, list[Any]]:
    fields, head, line = _parts(type(rows[0]), rows[0].pk is not None)
    params = [field.get_db_prep_save(field.pre_save(row, True), connection) for row in rows for field in fields]
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return head + ", ".join([line] * len(rows)), params


@cache
def _parts(model: type[models.Model], with_key: bool) -> tuple[tuple[Any, ...], str, str]:
    """The columns' fields, the text before all values, and the text of one row's."""
    fields = tuple(field for field in model._meta.concrete_fields if with_key or not field.primary_key)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    head = f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES '  # noqa: S608 - own table
    return fields, head, f"({', '.join(map(_placeholder, fields))})"


def _placeholder(field: Any) -> str:
    """Arrays say their type, or an empty one would have none."""
    return str(field.get_placeholder(None, None, connection)) if hasattr(field, "get_placeholder") else "%s"
