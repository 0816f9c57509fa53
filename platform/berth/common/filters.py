"""Filters that take nothing for granted: what the OpenAPI document forbids is a 400 and not "no filter"."""

from typing import Any

import django_filters
from django import forms
from django.utils.translation import gettext_lazy as _


class _StrictBooleanField(forms.Field):
    """`true` or `false`, and nothing that may be taken for one of them."""

    default_error_messages = {"invalid": _("Give true or false.")}

    def to_python(self, value: Any) -> bool | None:
        if value in self.empty_values and value != "":
            return None
        known = {"true": True, "false": False}
        if value not in known:
            raise forms.ValidationError(self.default_error_messages["invalid"], code="invalid")
        return known[value]


class StrictBooleanFilter(django_filters.BooleanFilter):
    """A BooleanFilter that refuses other words; left out, it does not filter."""

    field_class = _StrictBooleanField
