"""One process's connection to one API server: the official client's TLS, credentials and pool, with plain documents in and out.

Every call has a deadline. It never repeats one by itself: whoever calls knows whether a write may be done twice.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

RUNS_AT_ONCE, PODS_AT_ONCE = 8, 16
"""Runs that are dispatched side by side, and pods of all of them."""
CONNECTIONS = RUNS_AT_ONCE + PODS_AT_ONCE + 8
"""A connection for each of these threads, and for watches and logs: one that has to be made anew costs more than a call."""
OK, UNAUTHORISED = 200, 401
READ_AGAIN_S = 1.0
"""How often, at most, credentials that were refused are read again."""
JSON, APPLY, MERGE, STRATEGIC = (
    "application/json",
    "application/apply-patch+yaml",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
HEADERS_S = 5.0
"""How long a watch may take to begin."""
CHUNK = 64 * 1024
DRAIN_S = 0.15
"""How long a watch is drained: what is there comes at once, and what comes later is there for the next."""
TRICKLE_S = 0.05
"""How long it waits for one more event after that: what happens meanwhile must not keep it from ending."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: status, headers and the document (or text, where it is none)."""

    status: int
    headers: Mapping[str, str]
    body: Any


class NotAnsweredError(Exception):
    """No answer. `sent`: the request may have been carried out."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.message, self.sent = message, sent


class KubeCalls:
    """`kubeconfig` is a path; empty: the pod's own service account, where there is one, else the user's default file.

    Raises NotAnsweredError where there is no such file or it cannot be used: the cluster counts as one that does not answer.
    """

    def __init__(self, kubeconfig: str) -> None:
        self._kubeconfig = kubeconfig
        self._renewing = Lock()
        self._read_at = 0.0
        self._api = self._connect()

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
        """One request; header names in lower case, the body a document. `read` makes it of a good answer's text. Raises NotAnsweredError."""
        response = self._send(method, path, query, body, kind, timeout=timeout_s)
        try:
            text = response.response.read()
        except urllib3.exceptions.HTTPError as error:
            raise NotAnsweredError(str(error), sent=True) from error
        headers = {str(key).lower(): str(value) for key, value in response.getheaders().items()}
        document = read(text) if read is not None and response.status == OK else document_of(text)
        return Answer(response.status, headers, document)

    def events(self, path: str, *, query: Sequence[tuple[str, str]], timeout_s: float) -> Iterator[dict[str, Any]]:
        """Lines of a watch until the server ends it or `timeout_s` is over (0: until nothing more comes). Raises NotAnsweredError."""
        wait = timeout_s or DRAIN_S
        asked = [*query, ("timeoutSeconds", str(max(1, math.ceil(wait))))]
        response = self._send("GET", path, asked, None, JSON, timeout=HEADERS_S)
        raw = response.response
        if response.status != OK:
            yield {"type": "ERROR", "object": _status_of(response.status, raw)}
            return
        # Headers may take their time; what has happened already comes right after them.
        _patience(raw, wait)
        until = None if timeout_s else time.monotonic() + DRAIN_S
        try:
            for event in _lines(raw):
                yield event
                if until is not None and time.monotonic() >= until:
                    _patience(raw, TRICKLE_S)
        except (urllib3.exceptions.ReadTimeoutError, urllib3.exceptions.ProtocolError):
            return
        finally:
            raw.close()

    def stream(
        self, path: str, *, query: Sequence[tuple[str, str]], timeout_s: float, whole: bool
    ) -> tuple[int, "Parts"]:
        """The status, and the body as it comes. Broken off or out of time: raises NotAnsweredError if `whole`, else it ends there."""
        deadline = time.monotonic() + timeout_s
        response = self._send("GET", path, query, None, JSON, timeout=min(timeout_s, HEADERS_S))
        return response.status, Parts(response.response, deadline, whole=whole)

    def address(self) -> tuple[str, str]:
        """Where the API server is as Berth reaches it, and the authority in PEM that it is trusted by; empty: the public ones."""
        configuration = self._api.configuration
        path = configuration.ssl_ca_cert
        return str(configuration.host), Path(path).read_text() if path else ""

    def _connect(self) -> client.ApiClient:
        configuration = client.Configuration()
        try:
            if self._kubeconfig or "KUBERNETES_SERVICE_HOST" not in os.environ:
                config.load_kube_config(config_file=self._kubeconfig or None, client_configuration=configuration)
            else:
                config.load_incluster_config(client_configuration=configuration)
        except Exception as error:
            # Whatever a file may hold, it is one cluster's and must not stop the others.
            raise NotAnsweredError(f"the kubeconfig cannot be used: {error}", sent=False) from error
        configuration.connection_pool_maxsize = CONNECTIONS
        configuration.retries = urllib3.Retry(0)
        self._read_at = time.monotonic()
        return client.ApiClient(configuration)

    def _send(
        self, method: str, path: str, query: Sequence[tuple[str, str]], body: Any, kind: str, *, timeout: Any
    ) -> Any:
        """One request; another one where credentials were refused and new ones are to be had (F48): a 401 has done nothing."""
        used = self._api
        response = self._ask(used, method, path, query, body, kind, timeout)
        if response.status != UNAUTHORISED or self._renewed(used) is used:
            return response
        response.response.drain_conn()
        return self._ask(self._api, method, path, query, body, kind, timeout)

    def _renewed(self, refused: client.ApiClient) -> client.ApiClient:
        """A connection with credentials as they are now; the refused one where they were read only a moment ago."""
        with self._renewing:
            if self._api is refused and time.monotonic() - self._read_at >= READ_AGAIN_S:
                self._api = self._connect()
            return self._api

    def _ask(
        self,
        api: client.ApiClient,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        body: Any,
        kind: str,
        timeout: Any,
    ) -> Any:
        try:
            ready = api.param_serialize(
                method,
                path,
                query_params=list(query),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=json.dumps(body) if kind == APPLY else body,
                auth_settings=["BearerToken"],
            )
            return api.call_api(*ready, _request_timeout=timeout)
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            raise NotAnsweredError(str(error), sent=False) from error
        except urllib3.exceptions.MaxRetryError as error:
            reason = error.reason
            never = isinstance(
                reason,
                urllib3.exceptions.NewConnectionError
                | urllib3.exceptions.ConnectTimeoutError
                | urllib3.exceptions.SSLError,
            )
            raise NotAnsweredError(str(reason or error), sent=not never) from error
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise NotAnsweredError(str(error), sent=True) from error


def _status_of(status: int, raw: Any) -> dict[str, Any]:
    """A Status document, also where the server (or something before it) answers in plain text."""
    try:
        document = document_of(raw.read())
    except urllib3.exceptions.HTTPError as error:
        document = str(error)
    return document if isinstance(document, dict) else {"code": status, "message": str(document or f"HTTP {status}")}


def _patience(raw: Any, seconds: float) -> None:
    """How long one read of the stream may wait from here on."""
    sock = getattr(getattr(raw, "_connection", None), "sock", None)
    if sock is not None:
        sock.settimeout(seconds)


class Parts:
    """A body as it comes, to be read once. `broken_off` says afterwards whether its end was not its own."""

    def __init__(self, raw: Any, deadline: float, *, whole: bool) -> None:
        self._raw, self._deadline, self._whole = raw, deadline, whole
        self.broken_off = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            _patience(self._raw, max(0.01, self._deadline - time.monotonic()))
            while part := self._raw.read1(CHUNK):
                yield part
                left = self._deadline - time.monotonic()
                if left <= 0:
                    self._break_off("the answer took too long")
                    return
                _patience(self._raw, left)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            self._break_off(str(error))
        finally:
            self._raw.close()

    def _break_off(self, why: str) -> None:
        self.broken_off = True
        if self._whole:
            raise NotAnsweredError(why, sent=True)


def _lines(raw: Any) -> Iterator[dict[str, Any]]:
    left = b""
    for part in raw.stream(amt=None, decode_content=True):
        *whole, left = (left + part).split(b"\n")
        for line in whole:
            if line.strip():
                yield json.loads(line)


def document_of(text: bytes) -> Any:
    """A document; the text itself where it is none."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")
