"""A connection that writes down which right each request used: what a role has to give, no more and no less."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from scheduling.cluster.kube_calls import JSON, Answer, KubeCalls, Parts

CREATED, FORBIDDEN = 201, 403
_PATH = re.compile(
    r"^(?:/api/v1|/apis/(?P<group>[^/]+)/[^/]+)(?:/namespaces/(?P<space>[^/]+)(?=/[^/]))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?$"
)
_OF_ONE = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}


class Right(NamedTuple):
    group: str
    resource: str
    verb: str


class RecordedCalls(KubeCalls):
    """`used` and what was refused of it; whom a role binding names is a right of its own."""

    def __init__(self, kubeconfig: str) -> None:
        super().__init__(kubeconfig)
        self.used: set[Right] = set()
        self.bound: set[str] = set()
        self.refused: list[str] = []

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
        answer = super().call(method, path, query=query, body=body, kind=kind, read=read, timeout_s=timeout_s)
        self._note(method, path, query, answer.status)
        if method == "PATCH" and answer.status == CREATED:
            self._note("POST", path, query, answer.status)
        if isinstance(body, dict) and body.get("kind") == "RoleBinding":
            self.bound.add(body["roleRef"]["name"])
        return answer

    def events(self, path: str, *, query: Sequence[tuple[str, str]], timeout_s: float) -> Iterator[dict[str, Any]]:
        self._note("GET", path, query, 200)
        yield from super().events(path, query=query, timeout_s=timeout_s)

    def stream(
        self, path: str, *, query: Sequence[tuple[str, str]], timeout_s: float, whole: bool
    ) -> tuple[int, Parts]:
        status, parts = super().stream(path, query=query, timeout_s=timeout_s, whole=whole)
        self._note("GET", path, query, status)
        return status, parts

    def _note(self, method: str, path: str, query: Sequence[tuple[str, str]], status: int) -> None:
        if status == FORBIDDEN:
            self.refused.append(f"{method} {path}")
        parsed = _PATH.match(path)
        if parsed is None:
            return
        resource = "/".join(filter(None, (unquote(parsed["plural"]), parsed["part"])))
        verb = _OF_ONE[method]
        if method == "GET" and parsed["name"] is None:
            verb = "watch" if ("watch", "true") in query else "list"
        self.used.add(Right(parsed["group"] or "", resource, verb))
