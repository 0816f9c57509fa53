"""The words, glyphs and colours of states, tiers and end reasons: one place, so that every page shows a state the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


@dataclass(frozen=True, slots=True)
class Sign:
    """A state as drawn: sprite symbol, colour of the token table, and the word that never leaves it."""

    glyph: str
    hue: str
    word: Any


JOB_STATES: Final[Mapping[str, Sign]] = {
    "queued": Sign("queued", "neutral", _("queued")),
    "starting": Sign("starting", "blue", _("starting")),
    "running": Sign("running", "blue", _("running")),
    "stopping": Sign("stopping", "amber", _("stopping")),
    "suspended": Sign("suspended", "neutral", _("suspended")),
    "succeeded": Sign("succeeded", "teal", _("succeeded")),
    "failed": Sign("failed", "red", _("failed")),
    "cancelled": Sign("cancelled", "neutral", _("cancelled")),
}

RUN_STATES: Final[Mapping[str, Sign]] = {
    "admitted": Sign("starting", "blue", _("admitted")),
    "starting": Sign("starting", "blue", _("starting")),
    "running": Sign("running", "blue", _("running")),
    "stopping": Sign("stopping", "amber", _("stopping")),
    "ended": Sign("cancelled", "neutral", _("ended")),
}

END_REASONS: Final[Mapping[str, Sign]] = {
    "succeeded": Sign("succeeded", "teal", _("succeeded")),
    "failed": Sign("failed", "red", _("failed")),
    "oom": Sign("failed", "red", _("out of memory")),
    "gpu-oom": Sign("failed", "red", _("out of VRAM")),
    "cancelled": Sign("cancelled", "neutral", _("cancelled")),
    "timeout": Sign("failed", "red", _("ran past its limit")),
    "preempted": Sign("preempted", "amber", _("preempted")),
    "node-lost": Sign("preempted", "amber", _("node lost")),
    "card-failed": Sign("preempted", "amber", _("card failed")),
    "image-pull": Sign("failed", "red", _("image could not be pulled")),
    "start-timeout": Sign("failed", "red", _("did not start in time")),
    "evicted": Sign("failed", "red", _("evicted by the node")),
    "platform-fault": Sign("preempted", "amber", _("platform fault")),
}

DOCUMENT_STATES: Final[Mapping[str, Sign]] = {
    "draft": Sign("queued", "neutral", _("draft, still growing")),
    "issued": Sign("succeeded", "teal", _("issued, cannot change")),
}

SIGNS: Final[Mapping[str, Mapping[str, Sign]]] = {
    "job": JOB_STATES,
    "run": RUN_STATES,
    "end": END_REASONS,
    "document": DOCUMENT_STATES,
}

TIERS: Final[Mapping[str, Any]] = {
    "production": _("production"),
    "development": _("development"),
    "batch": _("batch"),
}

RESOURCES: Final[Mapping[str, Any]] = {
    "gpu": _("cards"),
    "cpu": _("CPU cores"),
    "memory": _("Memory GiB"),
    "memory_gib": _("Memory GiB"),
    "vram": _("VRAM GiB"),
    "vram_gib": _("VRAM GiB"),
    "nodes": _("nodes"),
    "storage": _("Storage GiB"),
    "iops": _("IOPS"),
}

PARTS: Final[Mapping[str, Any]] = {
    "own": pgettext_lazy("quota", "own"),
    "lent": pgettext_lazy("quota", "lent"),
    "remaining": pgettext_lazy("quota", "remaining"),
    "borrowed": pgettext_lazy("quota", "borrowed"),
    "can": pgettext_lazy("quota", "can borrow"),
}


def sign(kind: str, code: str) -> Sign:
    """The sign of a code; an unknown one is shown as itself, in neutral, rather than hidden."""
    return SIGNS[kind].get(code) or Sign("queued", "neutral", code)


def resource_name(key: str) -> Any:
    """`gpu:a100-80g` is the flavor's own name; other keys have a word with their unit."""
    resource, _colon, flavor = key.partition(":")
    return flavor or RESOURCES.get(resource, resource)
