"""Credentials that were refused are read again, once, and the call goes on with them. F48."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from scheduling.cluster import kube_calls
from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.port import ClusterUnreachableError

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: {token}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


class Guarded(BaseHTTPRequestHandler):
    """Takes one token; what was asked with which is remembered."""

    wanted: ClassVar[str] = "old"
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        token = self.headers["Authorization"].removeprefix("Bearer ")
        self.asked.append(token)
        known = token == self.wanted
        body = {"items": [], "metadata": {"resourceVersion": "1"}} if known else {"message": "Unauthorized"}
        self.send_response(200 if known else 401)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setattr(kube_calls, "READ_AGAIN_S", 0.0)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    Thread(target=made.serve_forever, daemon=True).start()
    Guarded.wanted, Guarded.asked = "old", []
    yield made
    made.shutdown()
    made.server_close()


def test_a_rotated_token_is_taken_from_the_file_without_a_restart(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(port=server.server_port, token="old"))
    port = KubernetesCluster("near", str(path), now=lambda: datetime(2026, 11, 30, tzinfo=UTC))
    port.list_nodes(timeout_s=5)

    Guarded.wanted = "new"
    with pytest.raises(ClusterUnreachableError, match="Unauthorized"):
        port.list_nodes(timeout_s=5)
    path.write_text(KUBECONFIG.format(port=server.server_port, token="new"))
    listing = port.list_nodes(timeout_s=5)
    port.list_nodes(timeout_s=5)

    assert listing.items == ()
    assert Guarded.asked == ["old", "old", "old", "old", "new", "new"]
