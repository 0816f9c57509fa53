"""The fault plan of the simulated cluster: which call goes wrong, how, and how often. PURE; tests and chaos runs set it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduling.cluster.port import Manifest, RefusalCode, ResultKind, RunManifests, RunResult, WriteResult


class FaultKind(StrEnum):
    """What goes wrong. `LOST_ANSWER` was done, `NEVER_ARRIVED` was not: the caller cannot tell them apart."""

    LOST_ANSWER = "lost-answer"
    NEVER_ARRIVED = "never-arrived"
    STALL = "stall"
    UNREACHABLE = "unreachable"
    REFUSE = "refuse"
    CRASH = "crash"
    STALE = "stale"
    DUPLICATE = "duplicate"
    REORDER = "reorder"
    DROP_DELETED = "drop-deleted"
    EXPIRED = "expired"


ANY_OPERATION = "*"


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One fault: on calls of `operation` (a port method's name, or `*`) whose object's name holds `match`, `times` times (None: always).

    `after` counts the pods of a `create_run` that are made before the fault strikes. `seconds` is a stall's length.
    """

    id: int
    operation: str
    kind: FaultKind
    times: int | None = 1
    match: str = ""
    after: int | None = None
    seconds: float = 0.0
    code: RefusalCode = RefusalCode.ADMISSION
    message: str = ""
    retry_after_s: int | None = None


def take_fault(rules: Sequence[FaultRule], operation: str, name: str) -> tuple[FaultRule | None, tuple[FaultRule, ...]]:
    """The first rule that strikes this call, and the plan that remains. Rules are tried in order of id."""
    ordered = sorted(rules, key=lambda rule: rule.id)
    for rule in ordered:
        if rule.operation in (operation, ANY_OPERATION) and rule.match in name and rule.times != 0:
            used = rule if rule.times is None else replace(rule, times=rule.times - 1)
            return rule, tuple(used if other.id == rule.id else other for other in ordered)
    return None, tuple(ordered)


def made_before_fault(rule: FaultRule, run: RunManifests) -> RunManifests | None:
    """The part of `run` that reaches the cluster in spite of the fault; None when nothing does."""
    if rule.kind is FaultKind.LOST_ANSWER:
        return run
    if rule.after is None:
        return None
    return RunManifests(run.namespace, run.name, run.service, run.pods[: rule.after], run.secret)


def answer_after_fault(rule: FaultRule, run: RunManifests, made: RunResult | None) -> RunResult:
    """What the caller of `create_run` hears: true results for what was answered, the fault's for the rest."""
    known = 0 if rule.after is None else rule.after
    if made is None or rule.after is None:
        service = failed_write(rule, run.name)
        return RunResult(service, tuple(replace(service, name=_name(pod)) for pod in run.pods))
    rest = tuple(failed_write(rule, _name(pod)) for pod in run.pods[known:])
    return RunResult(made.service, made.pods[:known] + rest)


def failed_write(rule: FaultRule, name: str) -> WriteResult:
    """The answer to one write that the fault struck."""
    if rule.kind is FaultKind.REFUSE:
        return WriteResult(
            ResultKind.REFUSED, name, code=rule.code, message=rule.message, retry_after_s=rule.retry_after_s
        )
    kind = ResultKind.UNREACHABLE if rule.kind is FaultKind.UNREACHABLE else ResultKind.UNKNOWN
    return WriteResult(kind, name, message=rule.message or rule.kind)


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])
