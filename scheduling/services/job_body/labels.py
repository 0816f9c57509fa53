"""A job's own labels: of `berth.dev/` a tenant may set only `sim-*`, and no other prefix at all (DESIGN section 7)."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from scheduling.cluster.names import SIM_DURATION, SIM_OUTCOME, SIM_PREFIX, SIM_STOP_DELAY, SIM_UTILISATION
from scheduling.services.job_body.reader import BodyReader

MOST_LABELS: Final = 64
LONGEST_SIM_S: Final = 366 * 86_400
OUTCOMES: Final = ("succeeded", "failed", "oom", "gpu-oom")
STUCK: Final = "stuck"
NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def read_labels(fields: BodyReader) -> Mapping[str, str]:
    """The labels that are right; numbers become their text. Wrong ones are noted."""
    labels: dict[str, str] = {}
    for key, given in fields.entries("labels", most=MOST_LABELS):
        value = _text(given)
        wrong = _key_problem(key) or _value_problem(key, value)
        if wrong:
            fields.problem(f"labels.{key[:80]}", wrong, code="label")
        else:
            labels[key] = value or ""
    return labels


def _text(given: Any) -> str | None:
    if isinstance(given, str):
        return given
    if isinstance(given, int | float) and not isinstance(given, bool):
        return str(given)
    return None


def _key_problem(key: str) -> Any:
    prefix, slash, name = key.rpartition("/")
    if slash and key.startswith(SIM_PREFIX) and prefix == SIM_PREFIX.partition("/")[0]:
        return None if NAME.fullmatch(name) else _name_rule()
    if slash:
        return _("A label has no prefix; of berth.dev/ only berth.dev/sim-… may be set.")
    return None if NAME.fullmatch(key) else _name_rule()


def _name_rule() -> Any:
    return _("A label's name has 1 to 63 letters, digits, hyphens, dots and underscores.")


def _value_problem(key: str, value: str | None) -> Any:
    if value is None or not VALUE.fullmatch(value):
        return _("A label's value is text of at most 63 letters, digits, hyphens, dots and underscores.")
    if key == SIM_OUTCOME and value not in OUTCOMES:
        return _("Choose one of: %s.") % ", ".join(OUTCOMES)
    if key == SIM_DURATION or (key == SIM_STOP_DELAY and value != STUCK):
        return _number_problem(value, LONGEST_SIM_S)
    if key == SIM_UTILISATION:
        return _number_problem(value, 1)
    return None


def _number_problem(value: str, high: int) -> Any:
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("NaN")
    return None if number.is_finite() and 0 <= number <= high else _("Must be a number from 0 to %d.") % high
