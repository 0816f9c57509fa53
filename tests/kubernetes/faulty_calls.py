"""A connection that goes wrong as planned, between the adapter and a real API server."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scheduling.cluster.faults import FaultKind, FaultRule, take_fault
from scheduling.cluster.kube_calls import JSON, Answer, KubeCalls, NotAnsweredError
from scheduling.cluster.port import RefusalCode

_STATUS = {RefusalCode.THROTTLED: 429, RefusalCode.INVALID: 422, RefusalCode.CONFLICT: 409}


class FaultyCalls(KubeCalls):
    """Faults are planned in the port's words (`create_run`, `list_pods`, …) and strike the requests that carry them out."""

    def __init__(self, kubeconfig: str) -> None:
        super().__init__(kubeconfig)
        self._rules: tuple[FaultRule, ...] = ()
        self._ids = itertools.count(1)
        self._served: dict[str, Answer] = {}

    def plan(self, rule: FaultRule) -> None:
        """Let the next fitting call of the port go wrong."""
        fields = {name: getattr(rule, name) for name in rule.__slots__ if name != "id"}
        self._rules += (FaultRule(next(self._ids), **fields),)

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Any = None,
        kind: str = JSON,
        read: Callable[[bytes], Any] | None = None,
        timeout_s: float,
    ) -> Answer:
        operation = _operation(method, path, query)
        fault = self._fault(operation, path, body)
        if fault is None or (fault.kind is FaultKind.STALE and operation not in self._served):
            # The first answer of all cannot be an old one.
            answer = super().call(method, path, query=query, body=body, kind=kind, read=read, timeout_s=timeout_s)
            self._served[operation] = answer
            return answer
        match fault.kind:
            case FaultKind.STALE:
                return self._served[operation]
            case FaultKind.REFUSE:
                return _refusal(fault)
            case FaultKind.UNREACHABLE:
                raise NotAnsweredError(fault.message or "connection refused", sent=False)
            case FaultKind.LOST_ANSWER:
                super().call(method, path, query=query, body=body, kind=kind, read=read, timeout_s=timeout_s)
            case FaultKind.STALL:
                time.sleep(min(fault.seconds, timeout_s))
        raise NotAnsweredError("read timed out", sent=True)

    def events(self, path: str, *, query: Sequence[tuple[str, str]], timeout_s: float) -> Iterator[dict[str, Any]]:
        fault, self._rules = take_fault(self._rules, "watch_pods", path)
        if fault is not None and fault.kind is FaultKind.EXPIRED:
            yield {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}
            return
        if fault is not None and fault.kind is FaultKind.STALL:
            time.sleep(min(fault.seconds, timeout_s))
            return
        told = list(super().events(path, query=query, timeout_s=timeout_s))
        if fault is not None:
            told = told + told if fault.kind is FaultKind.DUPLICATE else told[::-1]
        yield from told

    def _fault(self, operation: str, path: str, body: Any) -> FaultRule | None:
        """A fault of `create_run` strikes its first request, or its pods where it is about what was made of them."""
        ordered = sorted(self._rules, key=lambda rule: rule.id)
        rule = next((each for each in ordered if each.operation == operation and each.times != 0), None)
        if rule is None:
            return None
        if operation == "create_run" and rule.kind not in (FaultKind.UNREACHABLE, FaultKind.STALL):
            number = int(body["metadata"]["name"].rpartition("-")[2]) if body["kind"] == "Pod" else -1
            if number < (rule.after or 0):
                return None
        fault, self._rules = take_fault(self._rules, operation, path)
        return fault


def _operation(method: str, path: str, query: Sequence[tuple[str, str]]) -> str:
    if path == "/version":
        return "health"
    if method == "POST":
        return "create_run"
    if path.endswith("/pods") and method == "GET":
        return "read_run" if "/namespaces/" in path else "list_pods"
    return f"{method} {path}{dict(query)}"


def _refusal(fault: FaultRule) -> Answer:
    headers = {} if fault.retry_after_s is None else {"retry-after": str(fault.retry_after_s)}
    return Answer(
        _STATUS.get(fault.code, 403), headers, {"kind": "Status", "reason": "Forbidden", "message": fault.message}
    )
