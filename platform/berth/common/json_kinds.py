"""What kind of JSON value a field of a body takes. REST framework's fields coerce (1.5 to "1.5", "5" to 5, "1_000" to 1000); bodies do not.

A coerced value is a guess at what the sender meant; the sender's mistake is told instead.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from berth.common.texts import is_blank, refused_character

_DECIMAL: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
Found = serializers.ErrorDetail | dict[int, Any] | None
"""The error of a value; of a list by position; None where there is none."""


class ProseField(serializers.CharField):
    """A text of several lines, such as a reason. All other texts are names of one line."""


def wrong_kind(field: Any, value: Any) -> Found:
    """What is wrong with the value before the field reads it. None for null and for what the field judges alone."""
    if value is None:
        return None
    if isinstance(field, serializers.ListField):
        return _each(field.child, value) if isinstance(value, list) else None
    for kind, judge in _JUDGES.items():
        if isinstance(field, kind):
            return judge(field, value)
    return None


def _each(child: Any, values: list[Any]) -> Found:
    found = {position: wrong_kind(child, value) for position, value in enumerate(values)}
    return {position: [error] for position, error in found.items() if error is not None} or None


def _text(field: Any, value: Any) -> Found:
    if not isinstance(value, str):
        return _error(_("Give text."))
    refused = refused_character(value, prose=isinstance(field, ProseField))
    if refused is not None:
        return _error(_("Holds a character that cannot be seen, %(character)s.") % {"character": refused}, "characters")
    if value and is_blank(value) and not field.allow_blank:
        return _error(field.error_messages["blank"], "blank")
    return None


def _slug(_field: Any, value: Any) -> Found:
    return None if isinstance(value, str) else _error(_("Give text."))


def _flag(_field: Any, value: Any) -> Found:
    return None if isinstance(value, bool) else _error(_("Give true or false."))


def _whole(_field: Any, value: Any) -> Found:
    return None if isinstance(value, int | float) and not isinstance(value, bool) else _error(_("Give a number."))


def _decimal(_field: Any, value: Any) -> Found:
    if isinstance(value, str):
        return None if _DECIMAL.fullmatch(value) else _error(_("Give a decimal number such as -12.50."))
    return _whole(_field, value)


def _error(text: Any, code: str = "invalid") -> serializers.ErrorDetail:
    return serializers.ErrorDetail(str(text), code=code)


_JUDGES: Final[dict[type[Any], Callable[[Any, Any], Found]]] = {
    serializers.CharField: _text,
    serializers.SlugRelatedField: _slug,
    serializers.BooleanField: _flag,
    serializers.IntegerField: _whole,
    serializers.DecimalField: _decimal,
}
