"""The API's only body parser: strict JSON of limited size, with everything refused here that the database could not hold."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.settings import api_settings

MAX_BODY_BYTES = 1024 * 1024


class TooLarge(APIException):
    """The body is larger than this API reads."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too-large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(_("The body may have at most %(limit)s bytes.") % {"limit": limit_bytes})
        self.members = {"limit_bytes": limit_bytes}


class StrictJSONParser(BaseParser):
    """`application/json` in UTF-8 only; no NaN, no number beyond a double, no NUL or half a surrogate pair in any text."""

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
            text = raw.decode("utf-8")
            found = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise ParseError(_("The body is not valid JSON: %(why)s") % {"why": _why(error)}) from error
        if not isinstance(found, dict):
            raise ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [_("Give a JSON object.")]})
        if "\\u" in text:
            problems = list(_unstorable(found, ()))
            if problems:
                raise ValidationError(_nested(problems))
        return found


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


def _nested(paths: list[tuple[str, ...]]) -> dict[str, Any]:
    message = _("This text holds a character that cannot be stored.")
    return {".".join(path) or "body": [message] for path in paths}
