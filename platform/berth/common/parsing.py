"""The API's only body parser: strict JSON of limited size, with everything refused here that the database could not hold."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.settings import api_settings

MAX_BODY_BYTES = 1024 * 1024
MAX_DEPTH = 64
"""Levels of objects and lists within each other: far more than any body has."""
MOST_REPEATED = 20


class TooLarge(APIException):
    """The body is larger than this API reads."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too-large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(_("The body may have at most %(limit)s bytes.") % {"limit": limit_bytes})
        self.members = {"limit_bytes": limit_bytes}


class StrictJSONParser(BaseParser):
    """`application/json` in UTF-8 only; no NaN, no number beyond a double, no NUL or half a surrogate pair in any text, no name twice."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        raw: bytes = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise TooLarge(MAX_BODY_BYTES)
        try:
            found, problems = read_json(raw.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise ParseError(_("The body is not valid JSON: %(why)s") % {"why": _why(error)}) from error
        if not isinstance(found, dict):
            raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [_("Give a JSON object.")]})
        if problems:
            raise ValidationError({field or "body": [message] for field, message in problems.items()})
        return found


class _Repeating(dict[str, Any]):
    """An object in which some names stood more than once."""

    repeated: tuple[str, ...] = ()


def read_json(text: str) -> tuple[Any, dict[str, str]]:
    """What `text` says, and what is wrong with it by field: names given twice, texts that cannot be stored.

    Raises ValueError where it is no JSON, RecursionError where it is nested deeper than MAX_DEPTH.
    """
    twice: list[_Repeating] = []

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) == len(members):
            return found
        again = _Repeating(found)
        times = Counter(name for name, _value in members)
        again.repeated = tuple(name for name, count in times.items() if count > 1)[:MOST_REPEATED]
        twice.append(again)
        return again

    found = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=pairs)
    _refuse_depth(found)
    problems: dict[str, str] = {}
    if "\\u" in text:
        problems |= dict.fromkeys(unstorable_fields(found), _("This text holds a character that cannot be stored."))
    if twice:
        problems |= dict.fromkeys(map(".".join, _repeated(found, ())), _("Given more than once."))
    return found, problems


def _refuse_depth(found: Any) -> None:
    level = [found]
    for _depth in range(MAX_DEPTH + 1):
        if not level:
            return
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    if level:
        raise RecursionError


def _repeated(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of all names that stand more than once in their object."""
    if isinstance(value, _Repeating):
        for name in value.repeated:
            yield (*path, name if storable(name) else "")
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _repeated(item, (*path, name if storable(name) else ""))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeated(item, (*path, str(index)))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise ValueError(f"{text[:20]} is too large")
    return value


def _why(error: Exception) -> str:
    return "too deep" if isinstance(error, RecursionError) else str(error)[:200]


def storable(text: str) -> bool:
    """Whether PostgreSQL can hold the text: no NUL, nothing that is not Unicode."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def unstorable_fields(value: Any) -> Iterator[str]:
    """Dotted names of all texts that cannot be stored; the object around a name that cannot."""
    return map(".".join, _unstorable(value, ()))


def _unstorable(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of all texts, names of members included, that cannot be stored."""
    if isinstance(value, str):
        if not storable(value):
            yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            if storable(key):
                yield from _unstorable(item, (*path, key))
            else:
                yield path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unstorable(item, (*path, str(index)))
