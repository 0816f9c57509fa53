"""What an API server's status codes and words mean for a write. PURE."""

from collections.abc import Mapping
from typing import Any

from scheduling.cluster.port import RefusalCode, ResultKind, WriteResult

CREATED, OK, ACCEPTED = 201, 200, 202
BAD_REQUEST, UNAUTHORISED, FORBIDDEN, NOT_FOUND, CONFLICT, UNPROCESSABLE, TOO_MANY = 400, 401, 403, 404, 409, 422, 429
SERVER_ERROR, UNAVAILABLE = 500, 503
MOST_WORDS = 1000
NOT_READY = "not yet ready to handle request"
"""What an API server's admission says for a moment after its start: no judgement of what was asked."""

OVERTAKEN, OVERTAKEN_S = "the object has been modified", 1
"""Somebody else's write came first, often of the quota that a create is counted in: nothing was done, and it is to be tried again."""


def judge_write(status: int, headers: Mapping[str, str], body: Any, name: str) -> WriteResult:
    """The result of a write that was answered. `ALREADY_EXISTS` is a conflict that the caller looks into."""
    if status in (OK, CREATED, ACCEPTED):
        kind = ResultKind.CREATED if status == CREATED else ResultKind.ACCEPTED
        return WriteResult(kind, name, uid=_uid(body))
    words, reason = message_of(body), str(body.get("reason", "")) if isinstance(body, dict) else ""
    if status == UNAUTHORISED:
        return WriteResult(ResultKind.UNREACHABLE, name, message=f"credentials refused: {words}")
    if status == FORBIDDEN and NOT_READY in words:
        return WriteResult(ResultKind.UNREACHABLE, name, message=words)
    overtaken = status == CONFLICT and OVERTAKEN in words
    if overtaken or status == TOO_MANY or (status == UNAVAILABLE and "retry-after" in headers):
        after = OVERTAKEN_S if overtaken else _seconds(headers.get("retry-after"))
        return _refused(name, RefusalCode.THROTTLED, words, retry_after_s=after)
    if status >= SERVER_ERROR:
        kind = ResultKind.UNREACHABLE if status == UNAVAILABLE else ResultKind.UNKNOWN
        return WriteResult(kind, name, message=words or f"HTTP {status}")
    return _refused(name, _code(status, reason, words, body), words)


def is_already_there(status: int, body: Any) -> bool:
    """A create of a name that is taken; by whom has to be read."""
    return status == CONFLICT and isinstance(body, dict) and body.get("reason") == "AlreadyExists"


def message_of(body: Any) -> str:
    """The server's own words."""
    text = str(body.get("message", "")) if isinstance(body, dict) else str(body or "")
    return text[:MOST_WORDS]


def _code(status: int, reason: str, words: str, body: Any) -> RefusalCode:
    if status == NOT_FOUND:
        return RefusalCode.NAMESPACE_MISSING if 'namespaces "' in words else RefusalCode.INVALID
    if status == CONFLICT:
        return RefusalCode.CONFLICT
    if status == FORBIDDEN:
        if "NamespaceTerminating" in _causes(body) or "because it is being terminated" in words:
            return RefusalCode.NAMESPACE_TERMINATING
        return RefusalCode.QUOTA if "exceeded quota" in words or "failed quota" in words else RefusalCode.ADMISSION
    return (
        RefusalCode.INVALID if status in (BAD_REQUEST, UNPROCESSABLE) or reason == "Invalid" else RefusalCode.ADMISSION
    )


def _causes(body: Any) -> set[str]:
    details = body.get("details") if isinstance(body, dict) else None
    return {str(cause.get("reason", "")) for cause in (details or {}).get("causes") or []}


def _refused(name: str, code: RefusalCode, words: str, *, retry_after_s: int | None = None) -> WriteResult:
    return WriteResult(ResultKind.REFUSED, name, code=code, message=words, retry_after_s=retry_after_s)


def _seconds(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _uid(body: Any) -> str | None:
    uid = body.get("metadata", {}).get("uid") if isinstance(body, dict) else None
    return None if uid is None else str(uid)
