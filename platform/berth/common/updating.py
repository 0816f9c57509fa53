"""Many rows written at once, each with values of its own."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)
BATCH = 1_000


def update_rows(rows: Collection[Row], columns: Sequence[str]) -> None:
    """Write `columns` of these rows, which were read from the database and stand there still; nothing else of them is written.

    As `bulk_update`, in a thirtieth of its time: that one builds an expression for each value (450 pods with nine columns: 1.5 s).
    The insert part always meets the row of the same id.
    """
    if rows:
        model = type(next(iter(rows)))
        model._default_manager.bulk_create(
            list(rows), BATCH, update_conflicts=True, unique_fields=["id"], update_fields=list(columns)
        )
