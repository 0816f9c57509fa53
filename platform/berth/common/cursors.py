"""What a cursor says, checked before the database sees it: it belongs to one ordering, and its position is a value of that field."""

import binascii
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from django.core.exceptions import ValidationError
from django.db import models
from rest_framework.pagination import Cursor

LONGEST: Final = 2000
"""Characters of a cursor: far above what any ordering makes."""
FARTHEST: Final = 10**9
"""Rows of one position that an offset may pass over."""
ORDERING_TOKEN: Final = "s"  # noqa: S105 - a name
BIGINT: Final = 2**63


class CursorError(Exception):
    """Not a cursor of this list in this ordering."""


def read_cursor(text: str, ordering: str, field: "models.Field[Any, Any] | None") -> Cursor:
    """The cursor that `text` stands for; `ordering` and `field` are what the list is ordered by. Raises CursorError."""
    tokens = _tokens(text)
    if tokens.pop(ORDERING_TOKEN, None) != ordering or not tokens.keys() <= {"o", "r", "p"}:
        raise CursorError
    offset, reverse, position = tokens.get("o", "0"), tokens.get("r", "0"), tokens.get("p")
    if not (offset.isascii() and offset.isdigit() and len(offset) <= len(str(FARTHEST))) or reverse not in {"0", "1"}:
        raise CursorError
    if position is not None and not _is_value(position, field):
        raise CursorError
    return cursor_at(position, offset=int(offset), reverse=reverse == "1")


def cursor_at(position: str | None, *, offset: int = 0, reverse: bool = False) -> Cursor:
    """A cursor `offset` rows behind the first row at `position`. The framework's stubs take positions for numbers."""
    place: Any = position
    return Cursor(offset=offset, reverse=reverse, position=place)


def write_cursor(cursor: Cursor, ordering: str) -> str:
    """The text that `read_cursor` reads in the same ordering."""
    tokens = {ORDERING_TOKEN: ordering}
    if cursor.offset:
        tokens["o"] = str(cursor.offset)
    if cursor.reverse:
        tokens["r"] = "1"
    if cursor.position is not None:
        tokens["p"] = str(cursor.position)
    return b64encode(urlencode(tokens).encode("ascii")).decode("ascii")


def _tokens(text: str) -> dict[str, str]:
    if len(text) > LONGEST:
        raise CursorError
    try:
        plain = b64decode(text.encode("ascii"), validate=True).decode("ascii")
        tokens = parse_qs(plain, keep_blank_values=True, strict_parsing=True, errors="strict")
    except (binascii.Error, ValueError) as error:
        raise CursorError from error
    if any(len(values) != 1 for values in tokens.values()):
        raise CursorError
    return {name: values[0] for name, values in tokens.items()}


def _is_value(text: str, field: "models.Field[Any, Any] | None") -> bool:
    """Whether the database can compare the field with `text`; texts of annotations (no field) are taken as text."""
    if "\x00" in text:
        return False
    if isinstance(field, models.IntegerField):
        digits = text.removeprefix("-")
        return digits.isascii() and digits.isdigit() and len(digits) <= 19 and -BIGINT <= int(text) < BIGINT
    try:
        value: Any = text if field is None else field.to_python(text)
    except (ValidationError, ValueError, OverflowError):
        return False
    if isinstance(value, datetime):
        return value.tzinfo is not None
    return not isinstance(field, models.DecimalField) or value.is_finite()
