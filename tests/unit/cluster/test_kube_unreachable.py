"""A cluster that cannot be reached answers as one that cannot be reached, whatever the cause: it stops nobody else. F07, F27."""

from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.port import ClusterUnreachableError, PodKey, ResultKind
from tests.unit.cluster.builders import a_run

NOBODY = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""
WRONG = {
    "none": None,
    "empty": "",
    "no-yaml": "{{{",
    "no-context": "apiVersion: v1\nkind: Config\n",
    "nobody-there": NOBODY,
}


@pytest.mark.parametrize("content", WRONG.values(), ids=list(WRONG))
def test_every_call_says_that_nothing_was_learnt(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    port = KubernetesCluster("far", str(path), now=lambda: datetime(2026, 11, 30, tzinfo=UTC))

    health = port.health(timeout_s=1)

    assert (health.reachable, bool(health.message)) == (False, True)
    assert port.create_run(a_run(), timeout_s=1).service.kind is ResultKind.UNREACHABLE
    assert port.delete_pod(PodKey("a", "p"), uid="u", grace_s=1, timeout_s=1).kind is ResultKind.UNREACHABLE
    assert (
        port.apply_objects([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}], timeout_s=1)[0].kind
        is ResultKind.UNREACHABLE
    )
    for read in (port.list_pods, port.list_nodes, port.list_node_leases):
        with pytest.raises(ClusterUnreachableError):
            read(timeout_s=1)
    with pytest.raises(ClusterUnreachableError):
        list(port.watch_pods("1", timeout_s=0))
    with pytest.raises(ClusterUnreachableError):
        port.read_logs(PodKey("a", "p"), tail_lines=1, most_bytes=99, timeout_s=1)


class Overloaded(BaseHTTPRequestHandler):
    """Answers as an API server that sheds load, or something before it: in plain text."""

    def do_GET(self) -> None:
        self.send_response(429 if "watch" in self.path else 200)
        self.end_headers()
        self.wfile.write(b"Too many requests, please try again later." if "watch" in self.path else b'{"loss": 0.1}\n')

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def overloaded(tmp_path: Path) -> Iterator[KubernetesCluster]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Overloaded)
    Thread(target=server.serve_forever, daemon=True).start()
    path = tmp_path / "kubeconfig"
    path.write_text(NOBODY.replace("https://127.0.0.1:1", f"http://127.0.0.1:{server.server_port}"))
    yield KubernetesCluster("near", str(path), now=lambda: datetime(2026, 11, 30, tzinfo=UTC))
    server.shutdown()
    server.server_close()


def test_a_watch_that_is_refused_in_plain_text_says_so(overloaded: KubernetesCluster) -> None:
    with pytest.raises(ClusterUnreachableError, match="Too many requests"):
        list(overloaded.watch_pods("1", timeout_s=0))


def test_a_log_that_happens_to_be_json_is_still_a_log(overloaded: KubernetesCluster) -> None:
    tail = overloaded.read_logs(PodKey("a", "p"), tail_lines=5, most_bytes=99, timeout_s=1)

    assert tail.text == '{"loss": 0.1}\n'
