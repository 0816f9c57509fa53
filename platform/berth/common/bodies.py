"""How bodies are read and answers written: unknown members are errors by name, amounts are in people's units at the door.

Inside are milli-cards, millicores, MiB and ppm; outside cards with up to three decimals, cores, GiB and plain numbers.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers

from berth.common.instants import ALLOWED, InstantRangeError, parse_instant
from berth.common.json_kinds import wrong_kind
from berth.common.units import UnitError, from_milli, from_ppm, gib_to_mib, mib_to_gib, to_milli, to_ppm

MAX_AMOUNT = 1_000_000_000
"""Largest amount at the door (cards, cores, GiB): far beyond any cluster, and its smallest unit fits a bigint."""


class StrictSerializer(serializers.Serializer[Any]):
    """A body; each member that it does not know is an error of that name, beside all other errors.

    `read_only` members that are sent back unchanged by a client are unknown too: nobody sets a state by accident (W05).
    """

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for field in fields.values():
            _name_choices(getattr(field, "child", field))
        return fields

    def to_internal_value(self, data: Any) -> Any:
        refused = self._refused(data) if isinstance(data, Mapping) else {}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not refused or not isinstance(error.detail, dict):
                raise
            raise serializers.ValidationError(_merged(error.detail, refused)) from error
        if refused:
            raise serializers.ValidationError(refused)
        return value

    def _refused(self, data: Mapping[Any, Any]) -> dict[str, Any]:
        """Members that no field reads, and values of another kind than their field's, which REST framework would coerce."""
        writable = {name: field for name, field in self.fields.items() if not field.read_only}
        refused: dict[str, Any] = {}
        for name, value in data.items():
            if name not in writable:
                refused[str(name)] = [serializers.ErrorDetail(str(_unknown(set(writable))), code="unknown-field")]
                continue
            wrong = wrong_kind(writable[name], value)
            if wrong is not None:
                refused[str(name)] = wrong if isinstance(wrong, dict) else [wrong]
        return refused


def _merged(found: Mapping[str, Any], refused: Mapping[str, Any]) -> dict[str, Any]:
    """Both, of one list by position; where both speak of one value, `refused` does."""
    merged = dict(found)
    for name, why in refused.items():
        earlier = merged.get(name)
        merged[name] = {**earlier, **why} if isinstance(earlier, dict) and isinstance(why, dict) else why
    return merged


class InstantField(serializers.DateTimeField):
    """An instant with its offset, in the years that `berth.common.instants` allows ↔ UTC."""

    default_error_messages = {
        "invalid": _("Give an instant with an offset, such as 2026-11-01T00:00:00Z."),
        "out-of-range": _("Give an instant from %(earliest)s to %(latest)s."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        try:
            return parse_instant(value if isinstance(value, str) and "T" in value.upper() else "")
        except InstantRangeError:
            text = self.error_messages["out-of-range"] % ALLOWED
            raise serializers.ValidationError(text, code="out-of-range") from None
        except ValueError:
            self.fail("invalid")


def _name_choices(field: Any) -> None:
    """A wrong choice is told what could be chosen."""
    if isinstance(field, serializers.ChoiceField):
        field.error_messages["invalid_choice"] = _("Choose one of: %s.") % ", ".join(map(str, field.choices))


def _unknown(known: set[str]) -> Any:
    return _("Unknown field. Known are: %(known)s.") % {"known": ", ".join(sorted(known))}


def number(value: Decimal) -> int | float:
    """A JSON number: whole numbers without a point."""
    return int(value) if value == value.to_integral_value() else float(value)


class AmountField(serializers.Field[Any, Any, Any, Any]):
    """A JSON number in people's units ↔ an integer in the unit used inside. `least` and `most` are in people's units."""

    to_inside: Callable[[Decimal], int]
    to_outside: Callable[[int], Decimal]
    finest: Any = ""
    default_error_messages = {
        "not-a-number": _("Give a number from %(least)s to %(most)s."),
        "out-of-range": _("Give a number from %(least)s to %(most)s."),
        "too-fine": _("Give a number from %(least)s to %(most)s, %(finest)s."),
    }

    def __init__(self, *, least: int | str = 0, most: int | str = MAX_AMOUNT, **kwargs: Any) -> None:
        self.least, self.most = Decimal(least), Decimal(most)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int | float):
            self._refuse("not-a-number")
        # By `repr`, so that 0.1 is a tenth and not the double next to it.
        try:
            value = Decimal(repr(data))
        except (InvalidOperation, ValueError):
            self._refuse("not-a-number")
        if not self.least <= value <= self.most:
            self._refuse("out-of-range")
        try:
            return type(self).to_inside(value)
        except UnitError:
            self._refuse("too-fine")

    def to_representation(self, value: int) -> int | float:
        return number(type(self).to_outside(value))

    def _refuse(self, code: str) -> NoReturn:
        text = self.error_messages[code] % {
            "least": f"{self.least:f}",
            "most": f"{self.most:f}",
            "finest": self.finest,
        }
        raise serializers.ValidationError(text, code=code)


class CardsField(AmountField):
    """Cards ↔ milli-cards."""

    to_inside = staticmethod(to_milli)
    to_outside = staticmethod(from_milli)
    finest = _("with at most three decimals")


class CoresField(CardsField):
    """CPU cores ↔ millicores."""


class GibField(AmountField):
    """GiB ↔ MiB."""

    to_inside = staticmethod(gib_to_mib)
    to_outside = staticmethod(mib_to_gib)
    finest = _("a whole number of MiB (1/1024)")


class RatioField(AmountField):
    """A weight, speed or share ↔ parts per million."""

    to_inside = staticmethod(to_ppm)
    to_outside = staticmethod(from_ppm)
    finest = _("with at most six decimals")


def _whole(value: Decimal) -> int:
    if value != value.to_integral_value():
        raise UnitError(f"{value} is not whole")
    return int(value)


class WholeField(AmountField):
    """A whole number, as it is."""

    to_inside = staticmethod(_whole)
    to_outside = staticmethod(Decimal)
    finest = _("without decimals")


class _AmountSchema(OpenApiSerializerFieldExtension):
    """Amounts are numbers within their range in the OpenAPI schema."""

    target_class = AmountField
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        kind = "integer" if isinstance(self.target, WholeField) else "number"
        schema: dict[str, Any] = {"type": kind}
        if direction == "request":
            schema |= {"minimum": number(self.target.least), "maximum": number(self.target.most)}
        return schema
