"""INSERTs of many rows without what `bulk_create` builds anew each time: the statement's text is made once a model and form.

For the paths that are measured (a submit); everything else uses the manager.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models

BATCH = 500


def insert_rows(rows: Iterable[models.Model]) -> None:
    """Store new rows of one model, in order; those without a primary key get one. Either all have one or none.

    No signals, no generated columns; related rows must be stored already. Raises IntegrityError as `bulk_create` does.
    """
    found = list(rows)
    for start in range(0, len(found), BATCH):
        _insert(found[start : start + BATCH])


def _insert(rows: Sequence[models.Model]) -> None:
    with_key = rows[0].pk is not None
    fields, head, line, tail = _statement(type(rows[0]), with_key)
    params = [field.get_db_prep_save(field.pre_save(row, True), connection) for row in rows for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(f"{head}{', '.join([line] * len(rows))}{tail}", params)
        keys = [row.pk for row in rows] if with_key else [key for (key,) in cursor.fetchall()]
    for row, key in zip(rows, keys, strict=True):
        row.pk = key
        row._state.adding, row._state.db = False, connection.alias


@cache
def _statement(model: type[models.Model], with_key: bool) -> tuple[tuple[Any, ...], str, str, str]:
    """The columns' fields, and the text before, of and after one row's values."""
    key: Any = model._meta.pk
    fields = tuple(field for field in model._meta.concrete_fields if with_key or field is not key)
    columns = ", ".join(f'"{field.column}"' for field in fields)
    line = ", ".join(_placeholder(field) for field in fields)
    tail = "" if with_key else f' RETURNING "{key.column}"'
    head = f'INSERT INTO "{model._meta.db_table}" ({columns}) VALUES '  # noqa: S608 - own table
    return fields, head, f"({line})", tail


def _placeholder(field: Any) -> str:
    """Arrays say their type, or an empty one would have none."""
    return str(field.get_placeholder(None, None, connection)) if hasattr(field, "get_placeholder") else "%s"
