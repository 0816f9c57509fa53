"""Reading columns for the snapshot: one query, rows as plain tuples, instants as milliseconds. Knows no table."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from django.db import connection
from numpy.typing import NDArray

Kind = TypeVar("Kind", bound=np.generic)


def fetch(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of one query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, list(parameters))
        return cursor.fetchall()


def ms_of(expression: str) -> str:
    """SQL: a timestamp as whole milliseconds since the Unix epoch."""
    return f"(extract(epoch FROM {expression}) * 1000)::bigint"


def to_ms(at: datetime) -> int:
    """An aware instant as whole milliseconds since the Unix epoch."""
    return round(at.timestamp() * 1000)


def columns_of(rows: Sequence[tuple[Any, ...]], count: int) -> list[tuple[Any, ...]]:
    """Rows turned into `count` columns; empty columns where there are no rows."""
    return list(zip(*rows, strict=True)) if rows else [()] * count


def frozen(values: Iterable[Any], kind: type[Kind]) -> NDArray[Kind]:
    """A read-only array of `kind`."""
    array = np.array(values if isinstance(values, (tuple, list)) else list(values), dtype=kind)
    array.setflags(write=False)
    return array


def positions(ids: Sequence[int], sorted_ids: Sequence[int], *, missing: int = -1) -> NDArray[np.int32]:
    """Where each of `ids` stands in `sorted_ids` (ascending); `missing` for None and for what is not there."""
    wanted = np.array([-1 if each is None else each for each in ids], dtype=np.int64)
    known = np.array(sorted_ids, dtype=np.int64)
    if not known.size:
        return frozen(np.full(wanted.shape, missing).tolist(), np.int32)
    at = np.searchsorted(known, wanted)
    at[at == known.size] = 0
    found = np.where(known[at] == wanted, at, missing).astype(np.int32)
    found.setflags(write=False)
    return found
