"""Reads one mapping of a body field by field and notes every wrong one with its allowed range. What is left unread is unknown."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext_lazy as _

from berth.common.errors import Problems
from berth.common.instants import ALLOWED, InstantRangeError, parse_instant
from berth.common.texts import refused_character
from berth.common.units import UnitError

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\ud800-\udfff]")
"""What neither the database nor a log line can carry unharmed; tabs and line ends are allowed in commands and values."""
MOST_UNKNOWN_LISTED = 200


class BodyReader:
    """Fields of one mapping below `where` (`roles[0].resources`). A JSON null counts as not given."""

    def __init__(self, body: Any, problems: Problems, where: str = "") -> None:
        self._where = where
        self._problems = problems
        self._read: set[str] = set()
        if not isinstance(body, Mapping):
            problems.add(where or "body", _("Give an object with named fields."), code="type")
            body = {}
        self._body: Mapping[Any, Any] = body

    def problem(self, key: str, message: Any, *, code: str = "invalid") -> None:
        """Note that `key` is wrong."""
        self._problems.add(self.path(key), message, code=code)

    def path(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where and key else self._where or key

    def has(self, key: str) -> bool:
        return self._body.get(key) is not None

    def raw(self, key: str) -> Any:
        """The value as it came, None if it was not given."""
        self._read.add(key)
        return self._body.get(key)

    def text(
        self, key: str, *, longest: int, required: bool = False, pattern: re.Pattern[str] | None = None, rule: Any = ""
    ) -> str:
        """A text of one line, "" if it was not given. `rule` says in words what `pattern` allows."""
        value = self.raw(key)
        if value is None:
            if required:
                self.problem(key, _("Required."), code="required")
            return ""
        if required and value == "":
            self.problem(key, _("Must not be empty."), code="required")
            return ""
        return self._line(key, value, longest, pattern, rule)

    def _line(self, key: str, value: Any, longest: int, pattern: re.Pattern[str] | None, rule: Any) -> str:
        if not isinstance(value, str):
            self.problem(key, _("Must be text."), code="type")
        elif (refused := refused_character(value)) is not None:
            message = _("Holds a character that cannot be seen, %(character)s.") % {"character": refused}
            self.problem(key, message, code="characters")
        elif len(value) > longest:
            self.problem(
                key, _("At most %(most)d characters, is %(is)d.") % {"most": longest, "is": len(value)}, code="length"
            )
        elif pattern is not None and not pattern.fullmatch(value):
            self.problem(key, rule, code="pattern")
        else:
            return value
        return ""

    def choice(self, key: str, options: Sequence[str]) -> str | None:
        """One of `options`; None if it was not given or is wrong."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, str) or value not in options:
            self.problem(key, _("Choose one of: %s.") % ", ".join(options), code="choice")
            return None
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(key, _("Must be true or false."), code="type")
            return default
        return value

    def integer(self, key: str, low: int, high: int, *, required: bool = False) -> int | None:
        """A whole number in [low, high]; None if it was not given or is wrong."""
        value = self.raw(key)
        if value is None:
            if required:
                self.problem(
                    key,
                    _("Required: a whole number from %(low)d to %(high)d.") % {"low": low, "high": high},
                    code="required",
                )
            return None
        return self._whole(key, value, low, high)

    def _whole(self, key: str, value: Any, low: int, high: int) -> int | None:
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            self.problem(
                key, _("Must be a whole number from %(low)d to %(high)d.") % {"low": low, "high": high}, code="range"
            )
            return None
        return number

    def amount(self, key: str, convert: Callable[[Decimal], int], high: int, rule: Any, *, low: int = 0) -> int | None:
        """A number in the door's unit, turned into the integer used inside by `convert`. `rule` says unit and precision."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            self.problem(key, rule, code="type")
            return None
        number = Decimal(str(value))
        if not number.is_finite() or not low <= number <= high:
            self.problem(key, _("Must be from %(low)d to %(high)d.") % {"low": low, "high": high}, code="range")
            return None
        try:
            return convert(number)
        except UnitError:
            self.problem(key, rule, code="precision")
            return None

    def instant(self, key: str) -> datetime | None:
        """An RFC 3339 instant with its offset, as UTC."""
        value = self.raw(key)
        if value is None:
            return None
        try:
            return parse_instant(value if isinstance(value, str) and "T" in value.upper() else "")
        except InstantRangeError:
            self.problem(key, _("Give an instant from %(earliest)s to %(latest)s.") % ALLOWED, code="range")
        except ValueError:
            self.problem(key, _("Must be an instant with its offset, such as 2026-11-29T10:00:00Z."), code="instant")
        return None

    def below(self, key: str) -> "BodyReader":
        """The mapping at `key`; an empty one if it was not given."""
        value = self.raw(key)
        return BodyReader({} if value is None else value, self._problems, self.path(key))

    def each(self, key: str, *, most: int, required: bool = False) -> list["BodyReader"]:
        """The mappings of the list at `key`."""
        return [
            BodyReader(entry, self._problems, f"{self.path(key)}[{position}]")
            for position, entry in enumerate(self._list(key, most, required=required))
        ]

    def words(
        self, key: str, *, most: int, longest: int, pattern: re.Pattern[str] | None = None, rule: Any = ""
    ) -> tuple[str, ...]:
        """A list of texts of one line each, without repeats."""
        found: list[str] = []
        for position, value in enumerate(self._list(key, most)):
            at = f"{key}[{position}]"
            if value == "" or value is None:
                self.problem(at, _("Must not be empty."), code="required")
                continue
            word = self._line(at, value, longest, pattern, rule)
            if word in found:
                self.problem(at, _("%s is there twice.") % word, code="repeated")
            elif word:
                found.append(word)
        return tuple(found)

    def lines(self, key: str, *, most: int, longest: int) -> tuple[str, ...]:
        """A list of texts as they are (a command line): repeats, spaces and line ends are kept."""
        found: list[str] = []
        for position, value in enumerate(self._list(key, most)):
            at = f"{key}[{position}]"
            if not isinstance(value, str):
                self.problem(at, _("Must be text."), code="type")
            elif UNPRINTABLE.search(value):
                self.problem(at, _("Must not contain control characters."), code="characters")
            elif len(value) > longest:
                self.problem(
                    at,
                    _("At most %(most)d characters, is %(is)d.") % {"most": longest, "is": len(value)},
                    code="length",
                )
            else:
                found.append(value)
        return tuple(found)

    def integers(self, key: str, *, most: int, low: int, high: int) -> tuple[int, ...]:
        """A list of different whole numbers in [low, high]."""
        found: list[int] = []
        for position, value in enumerate(self._list(key, most)):
            number = self._whole(f"{key}[{position}]", value, low, high)
            if number in found:
                self.problem(f"{key}[{position}]", _("%s is there twice.") % number, code="repeated")
            elif number is not None:
                found.append(number)
        return tuple(found)

    def _list(self, key: str, most: int, *, required: bool = False) -> Sequence[Any]:
        value = self.raw(key)
        if value is None and not required:
            return ()
        if not isinstance(value, list | tuple) or (required and not value):
            self.problem(key, _("Give a list of 1 to %d entries.") % most, code="required" if required else "type")
            return ()
        if len(value) > most:
            self.problem(
                key, _("At most %(most)d entries, are %(are)d.") % {"most": most, "are": len(value)}, code="length"
            )
            return ()
        return value

    def entries(self, key: str, *, most: int) -> list[tuple[str, Any]]:
        """The free mapping at `key` (labels, env) as pairs with text keys; no pair is judged here."""
        value = self.raw(key)
        if value is None:
            return []
        if not isinstance(value, Mapping):
            self.problem(key, _("Give an object with named fields."), code="type")
            return []
        if len(value) > most:
            self.problem(
                key, _("At most %(most)d entries, are %(are)d.") % {"most": most, "are": len(value)}, code="length"
            )
            return []
        return [(str(name), given) for name, given in value.items()]

    def close(self) -> None:
        """Note every field that nobody read: a misspelt field must not be ignored in silence."""
        unknown = sorted(str(key) for key in self._body if key not in self._read)
        for key in unknown[:MOST_UNKNOWN_LISTED]:
            self.problem(
                key[:80], _("Unknown field; known here: %s.") % ", ".join(sorted(self._read)), code="unknown-field"
            )
