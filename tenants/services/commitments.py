"""What of a tenant is still going on in the apps above: they register how it is counted, tenants asks before terms change.

The layers forbid tenants to look upwards, so this room knows the kinds and their sentences and nothing of jobs or money.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _


class Commitment(StrEnum):
    """What holds a tenant to its terms."""

    WAITING_JOBS = "waiting-jobs"
    HOLDING_JOBS = "holding-jobs"
    OPEN_STATEMENTS = "open-statements"


Count = Callable[[int], int]
"""From a tenant's id to how many there are now. It is asked inside the change's transaction and may lock."""

_SENTENCES: Final[Mapping[Commitment, Any]] = {
    Commitment.WAITING_JOBS: _("queued or suspended jobs: {count}"),
    Commitment.HOLDING_JOBS: _("starting, running or stopping jobs: {count}"),
    Commitment.OPEN_STATEMENTS: _("statements that are not issued and not empty: {count}"),
}
_counts: dict[Commitment, Count] = {}


def register(kind: Commitment, count: Count) -> None:
    """An app says, when it is ready, how many of the kind a tenant has; each kind is counted by one app."""
    _counts[kind] = count


def commitments_of(tenant_id: int, kinds: frozenset[Commitment] = frozenset(Commitment)) -> dict[Commitment, int]:
    """The kinds the tenant has any of, and how many, in the order of `Commitment`."""
    counted = {kind: _counts[kind](tenant_id) for kind in Commitment if kind in kinds}
    return {kind: count for kind, count in counted.items() if count}


def sentence(found: Mapping[Commitment, int]) -> str:
    """What was found, in words and numbers."""
    return ", ".join(str(format_lazy(_SENTENCES[kind], count=count)) for kind, count in found.items())
