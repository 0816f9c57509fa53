"""Plain calls to an API server, for setting up the test plane and for tests that look past the adapter. No client library."""

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_S = 10.0


class RefusedError(RuntimeError):
    """The API server said no: its status and its own words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` 0: nobody answered. `body` is the document, or the text where it is none."""

    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Client:
    """One user of one API server."""

    url: str
    token: str
    certificate: Path

    def send(self, method: str, path: str, document: Any = None, *, kind: str = "application/json") -> Any:
        """The answer's document. Raises RefusedError for anything but success."""
        answer = self.ask(method, path, document, kind=kind)
        if not 200 <= answer.status < 300:
            words = answer.body.get("message", "") if isinstance(answer.body, dict) else str(answer.body)
            raise RefusedError(answer.status, words)
        return answer.body

    def ask(self, method: str, path: str, document: Any = None, *, kind: str = "application/json") -> Answer:
        """Whatever is answered, and status 0 where nothing is."""
        request = urllib.request.Request(  # noqa: S310 - an https address of our own
            self.url + path,
            data=None if document is None else json.dumps(document).encode(),
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind, "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._context()) as answer:  # noqa: S310
                return Answer(answer.status, _read(answer.read()))
        except urllib.error.HTTPError as error:
            return Answer(error.code, _read(error.read()))
        except OSError as error:
            return Answer(0, str(error))

    def merge(self, path: str, document: Any) -> Any:
        """Merge-patch an object."""
        return self.send("PATCH", path, document, kind="application/merge-patch+json")

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))


def _read(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")
