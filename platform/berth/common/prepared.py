"""Reads that every request repeats, as prepared statements: planned once a connection instead of each time. No writes."""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db import connection


class _PreparedCursor(psycopg.Cursor[Any]):
    """Django binds parameters on its own side, where nothing can be prepared; this one leaves them to the server."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        return super().execute(query, params, **(options | {"prepare": True}))


def fetch_prepared(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of `statement`, whose text must be one of a few constants: each stays prepared while its connection lives.

    Counted, timed and wrapped like any query of Django's; `json` columns come as text, as Django's cursors give them.
    """
    connection.ensure_connection()
    with connection._prepare_cursor(_PreparedCursor(connection.connection)) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement, params)
        return list(cursor.fetchall())
