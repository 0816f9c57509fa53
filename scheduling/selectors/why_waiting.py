"""Why a job waits, made ready to be read: the sum that is short, who holds it, earlier reasons (SCH-21)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scheduling.models import Job, WaitReason
from scheduling.selectors.job_facts import Holder, JobFacts

Amounts = Mapping[str, int]

ASK: Final = frozenset(
    {"quota-nominal", "quota-borrow-limit", "budget", "topology", "reserved", "backoff", "suspended"}
)
"""Codes that a person can do something about: the card's edge is amber. `impossible` is red; the rest only time helps."""

CHANGE: Final = ASK | {"cards-busy", "cpu-busy", "memory-busy", "fragmented", "impossible"}
"""Codes where another shape of the same job may start sooner."""

EARLIER_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Sum:
    """need − have = short, of one resource (contract key, inner unit)."""

    resource: str
    need: int
    have: int
    short: int


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """A stored wait reason in the shape the registry of reasons reads."""

    code: str
    need: Amounts
    have: Amounts
    short: Amounts
    suggestion: str
    hint: Amounts
    detail: str
    reserved_start_ms: int | None


def facts_of_wait(wait: WaitReason) -> StoredFacts:
    """What `berth.common.reasons` makes sentences from."""
    start = wait.reserved_start
    return StoredFacts(
        code=wait.code,
        need=wait.need,
        have=wait.have,
        short=wait.short,
        suggestion=wait.suggestion,
        hint=wait.hint,
        detail=wait.detail,
        reserved_start_ms=None if start is None else int(start.timestamp() * 1000),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds how much of what is short; `job` is set for the reader's own tenant, an empty tenant is "other tenants"."""

    holder: Holder
    job: Job | None


@dataclass(frozen=True, slots=True)
class WhyWaiting:
    """`edge`: `act` (a person can act), `time` (only time helps), `never` (nothing will)."""

    wait: WaitReason
    facts: StoredFacts
    edge: str
    reserved: bool
    changeable: bool
    sums: tuple[Sum, ...]
    held: tuple[Held, ...]
    earlier: tuple[WaitReason, ...]


def why_waiting(facts: JobFacts, reasons: Sequence[WaitReason]) -> WhyWaiting | None:
    """`reasons` are the job's, newest first. None where it does not wait, or no cycle has looked at it yet."""
    wait = facts.wait
    if wait is None:
        return None
    jobs = Job.objects.only("id", "name").in_bulk([holder.job for holder in facts.holders if holder.job])
    return WhyWaiting(
        wait=wait,
        facts=facts_of_wait(wait),
        edge="never" if wait.code == "impossible" else "act" if _may_act(wait) else "time",
        reserved=wait.code == "reserved",
        changeable=wait.code in CHANGE,
        sums=_sums(wait),
        held=tuple(Held(holder, jobs.get(holder.job or 0)) for holder in facts.holders),
        earlier=tuple(reason for reason in reasons if reason.pk != wait.pk)[:EARLIER_SHOWN],
    )


def _may_act(wait: WaitReason) -> bool:
    """A place that earlier jobs were promised leaves nothing to do, unless a step is known that would pass before it."""
    return wait.code in ASK and (wait.code != "reserved" or bool(wait.suggestion))


def _sums(wait: WaitReason) -> tuple[Sum, ...]:
    """Of what is short; of everything asked where nothing is (it fits, but others go first)."""
    named = any(key.startswith("gpu:") for key in wait.need)
    keys = [key for key in wait.need if not (named and key == "gpu")]
    short = [key for key in keys if wait.short.get(key, 0) > 0]
    return tuple(
        Sum(
            resource=key,
            need=wait.need[key],
            have=wait.have.get(key, max(0, wait.need[key] - wait.short.get(key, 0))),
            short=wait.short.get(key, 0),
        )
        for key in (short or keys)
    )
