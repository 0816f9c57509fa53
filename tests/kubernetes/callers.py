"""One identity that tries things on the API server over one connection, and the words by which its refusals are told apart."""

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from testplane.api import Answer

from tests.kubernetes.plane import plane

PATIENCE_S = 60.0
FORBIDDEN, UNPROCESSABLE, UNAUTHORISED = 403, 422, 401
KINDS_OF_PATCH = ("merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml")


@dataclass
class Caller:
    """Whoever holds a token. A connection that the server closed is opened anew; with `once` each request has its own."""

    name: str
    token: str
    once: bool = False
    _connection: http.client.HTTPSConnection | None = field(default=None, repr=False)

    def ask(
        self,
        method: str,
        path: str,
        document: Any = None,
        *,
        kind: str = "json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        body = None if document is None else json.dumps(document)
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json",
            "Content-Type": f"application/{kind}",
            **(headers or {}),
        }
        for attempt in (1, 2):
            try:
                connection = self._connected()
                connection.request(method, path, body=body, headers=sent)
                answer = connection.getresponse()
                text = answer.read()
                return Answer(answer.status, json.loads(text) if text[:1] in (b"{", b"[") else text.decode())
            # OSError: how a connection that was closed meanwhile shows itself differs by what was under way.
            except (http.client.HTTPException, OSError):
                self._close()
                if attempt == 2:
                    raise
            finally:
                if self.once:
                    self._close()
        raise AssertionError

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            context = ssl.create_default_context(cafile=str(plane().client().certificate))
            host = urlsplit(plane().url).netloc
            self._connection = http.client.HTTPSConnection(host, timeout=PATIENCE_S, context=context)
        return self._connection


def words_of(answer: Answer) -> str:
    """The server's own words."""
    return str(answer.body.get("message", "")) if isinstance(answer.body, dict) else str(answer.body)


def is_refused_by_rights(answer: Answer) -> bool:
    """By RBAC, before anything looked at what was asked for."""
    return answer.status == FORBIDDEN and " cannot " in words_of(answer)


def is_refused_by_policy(answer: Answer) -> bool:
    """By one of Berth's admission policies, on purpose: an expression that fails refuses too."""
    said = words_of(answer)
    by_policy = "ValidatingAdmissionPolicy 'berth-" in said and "resulted in error" not in said
    return answer.status in (FORBIDDEN, UNPROCESSABLE) and by_policy


def is_denied(answer: Answer, *words: str) -> bool:
    """By admission or validation and not for want of rights, in words that name the cause."""
    said = words_of(answer)
    refused = answer.status in (400, FORBIDDEN, 413, UNPROCESSABLE) and " cannot " not in said.partition(":")[0]
    return refused and any(each in said for each in words)
