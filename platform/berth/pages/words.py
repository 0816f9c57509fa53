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

LOG_STATES: Final[Mapping[str, Sign]] = {
    "live": Sign("running", "blue", _("live")),
    "kept": Sign("succeeded", "teal", _("kept copy")),
    "none": Sign("cancelled", "neutral", _("no log")),
}

SIGNS: Final[Mapping[str, Mapping[str, Sign]]] = {
    "job": JOB_STATES,
    "run": RUN_STATES,
    "end": END_REASONS,
    "document": DOCUMENT_STATES,
    "log": LOG_STATES,
}

TIERS: Final[Mapping[str, Any]] = {
    "production": _("production"),
    "development": _("development"),
    "batch": _("batch"),
}

WAITS: Final[Mapping[str, Any]] = {
    "suspended": _("suspended by a person"),
    "not-before": _("start time not reached"),
    "dependency": _("another job comes first"),
    "array-limit": _("array limit reached"),
    "budget": _("budget used up"),
    "backoff": _("next try is due later"),
    "maintenance": _("pool in maintenance"),
    "cluster-unreachable": _("cluster unreachable"),
    "node-lost": _("node lost, looking for a place"),
    "impossible": _("can never start as it is"),
    "planner-fault": _("planner fault"),
    "kept-for-preempted": _("place is being cleared"),
    "quota-nominal": _("too little nominal quota left"),
    "quota-borrow-limit": _("borrowing limit reached"),
    "cards-busy": _("cards busy"),
    "cpu-busy": _("CPU busy"),
    "memory-busy": _("memory busy"),
    "fragmented": _("free cards scattered over nodes"),
    "topology": _("no single domain has room"),
    "reserved": _("reserved for earlier jobs"),
    "fair-share": _("others with a smaller share first"),
}

PREEMPTS: Final[Mapping[str, Any]] = {
    "drain": _("node drained"),
    "watermark": _("over-commit taken back"),
    "yield": _("batch yielded"),
    "loan-expired": _("loan expired"),
    "reclaim-nominal": _("nominal quota reclaimed"),
    "priority": _("higher priority"),
    "fair-share": _("fair share"),
    "time-share": _("turn is over"),
}

RESIZES: Final[Mapping[str, Any]] = {
    "idle-cards": _("idle cards that nobody waiting could use"),
    "asked-for": _("as the job asked"),
    "did-not-fit": _("the full size did not fit"),
    "node-lost": _("the node of a new pod was lost"),
    "start-timeout": _("new pods did not start in time"),
    "platform-fault": _("a new pod could not start"),
}
"""Beside the reasons to preempt, which are also reasons to become smaller."""
IN_COOLDOWN: Final = "-in-cooldown"

LOAN_ENDS: Final[Mapping[str, Any]] = {
    "own-now": _("covered by the borrower's own quota"),
    "resplit": _("replaced by a loan of another amount"),
    "returned": _("given back when the run ended"),
}

SEGMENTS: Final[Mapping[str, Any]] = {
    "billable": _("charged"),
    "grace": _("grace after an eviction notice"),
    "fault": _("platform fault"),
    "after-last-sign": _("after the last sign of life"),
    "set-aside": _("on the tenant's own nodes, charged whole"),
}

HAVE: Final[Mapping[str, Any]] = {
    "": _("can be had now"),
    "quota-nominal": _("left of the nominal quota"),
    "quota-borrow-limit": _("still to be had, own and borrowed"),
    "cards-busy": _("free now"),
    "cpu-busy": _("free now"),
    "memory-busy": _("free now"),
    "fragmented": _("free on single nodes"),
    "topology": _("free in the best domain"),
    "reserved": _("free and not reserved"),
    "fair-share": _("free now"),
    "impossible": _("can be had at most"),
    "budget": _("covered by the budget"),
}

WHY_NOT: Final[Mapping[str, Any]] = {
    "": _("Not enough is known yet."),
    "no-run-times": _("Too many of the jobs that run or come before declare no run time."),
}

POD_REASONS: Final[Mapping[str, Any]] = {
    "Error": _("ended with an error"),
    "Evicted": _("evicted by the node"),
    "OOMKilled": _("out of memory"),
}
"""The cluster's own words for a pod's end; any other stands as it came."""

CAUSES: Final[Mapping[str, Any]] = {
    "submitted": _("submitted"),
    "imported": _("imported"),
    "admitted": _("cards assigned"),
    "started": _("all pods run"),
    "suspended": _("suspended"),
    "resumed": _("resumed"),
    "cancel": _("cancelled by a person"),
}

METER_UNITS: Final[Mapping[str, Any]] = {
    "card_hour": _("card-hour"),
    "borrowed_card_hour": _("card-hour"),
    "cpu_core_hour": _("core-hour"),
    "memory_gib_hour": _("GiB-hour"),
    "storage_gb_month": _("GB-month"),
    "egress_gb": "GB",
}

END_REASON_WORDS: Final[Mapping[str, Any]] = {code: sign.word for code, sign in END_REASONS.items()}

WORDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "wait": WAITS,
    "preempt": PREEMPTS,
    "loan": LOAN_ENDS,
    "segment": SEGMENTS,
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


def plain_word(kind: str, code: str) -> Any:
    """The short name of a code that has no glyph; an unknown one is shown as itself."""
    return WORDS[kind].get(code, code)


def resize_word(code: str) -> Any:
    """Why a job has another size; taking nominal back in its cooldown says so."""
    base = code.removesuffix(IN_COOLDOWN)
    word = RESIZES.get(base) or PREEMPTS.get(base, base)
    return word if base == code else _("%(reason)s, before its pause was over") % {"reason": word}


def resource_name(key: str) -> Any:
    """`gpu:a100-80g` is the flavor's own name; other keys have a word with their unit."""
    resource, _colon, flavor = key.partition(":")
    return _("%(flavor)s cards") % {"flavor": flavor} if flavor else RESOURCES.get(resource, resource)
