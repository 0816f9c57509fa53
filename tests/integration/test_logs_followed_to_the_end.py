"""A pod that is asked to stop goes on writing: its last lines are kept though its object goes with it. A small server stands for the
API server and its kubelet, since pretended nodes write nothing; real kubelets have tests of their own."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from berth.common import clock
from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.port import PodKey, PodObservation, PodPhase
from scheduling.control.log_keeping import LogKeeper, keep_run_logs
from scheduling.models import Pod, PodLog, Run
from scheduling.services import log_store
from tests.factories import a_job, a_node, a_run
from tests.factories.worlds import a_world

PATIENCE_S = 60
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: x
clusters: [{name: c, cluster: {server: "http://127.0.0.1:PORT"}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
"""


class Kubelet(BaseHTTPRequestHandler):
    """Serves the log of pods: to followers line by line until the test lets the pod end."""

    written = b"step 1\n"
    last = b"saved on SIGTERM\n"
    ended = threading.Event()
    known: frozenset[str] = frozenset()
    followed: ClassVar[list[str]] = []
    breaks = False

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        pod = self.path.partition("/log")[0].rpartition("/")[2]
        found = pod in self.known
        self.send_response(200 if found else 404)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._say(self.written if found else json.dumps({"kind": "Status", "message": f"{pod} not found"}).encode())
        if found and "follow=true" in self.path:
            self.followed.append(pod)
            self.ended.wait(PATIENCE_S)
            if self.breaks:
                self.connection.close()
                return
            self._say(self.last)
        self._say(b"")

    def _say(self, part: bytes) -> None:
        self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[tuple[type[Kubelet], Path]]:
    """A server with events of its own, and a kubeconfig that leads to it."""

    class Mine(Kubelet):
        ended = threading.Event()
        followed: ClassVar[list[str]] = []

    mine = Mine
    server = ThreadingHTTPServer(("127.0.0.1", 0), mine)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.replace("PORT", str(server.server_port)))
    yield mine, path
    mine.ended.set()
    server.shutdown()
    server.server_close()


def a_stopping_run(kubeconfig: Path) -> Run:
    """Two pods on a cluster of the real kind, asked to stop within ten seconds."""
    queue = a_world().queue
    cluster = queue.pool.cluster
    cluster.kind, cluster.credential_ref = "kubernetes", str(kubeconfig)
    cluster.save()
    job, node = a_job(queue, state="stopping"), a_node()
    run = a_run(job, state="stopping", grace_until=clock.now() + timedelta(seconds=10))
    for rank in (0, 1):
        name = f"j{job.pk}-r1-worker-{rank}"
        Pod.objects.create(
            run=run, role_name="worker", rank=rank, index=rank, name=name, node=node, uid=f"u{rank}", phase="running"
        )
    return run


def seen(run: Run, phase: PodPhase) -> list[PodObservation]:
    at = clock.now()
    pods = Pod.objects.filter(run=run).order_by("rank")
    return [
        PodObservation(PodKey(run.namespace, pod.name), pod.uid, {}, pod.node.name, phase, at, at, start_at=at)
        for pod in pods
    ]


def kept(run: Run) -> list[tuple[str, bool, str]]:
    rows = PodLog.objects.filter(pod__run=run).order_by("pod__rank")
    return [(log_store.get(row.path) or "" if row.path else "", row.whole, row.missing) for row in rows]


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def a_port(kubeconfig: Path) -> Any:
    return KubernetesCluster("near", str(kubeconfig), now=clock.now)


@pytest.mark.usefixtures("committed")
def test_what_a_pod_writes_in_its_grace_is_kept(kubelet: tuple[type[Kubelet], Path]) -> None:
    """F24: the checkpoint that it saved on SIGTERM can be read afterwards."""
    server, kubeconfig = kubelet
    run, keeper = a_stopping_run(kubeconfig), LogKeeper()
    there = seen(run, PodPhase.RUNNING)
    server.known = frozenset(pod.key.name for pod in there)

    keeper.listen(run, a_port(kubeconfig), there)
    keeper.listen(run, a_port(kubeconfig), there)
    until(lambda: len(server.followed) >= 2, "nobody listens")
    server.known = frozenset()
    server.ended.set()

    until(lambda: len(kept(run)) == 2, "nothing was kept")
    assert kept(run) == [("step 1\nsaved on SIGTERM\n", True, "")] * 2
    assert sorted(server.followed) == [pod.key.name for pod in there], "each once"


@pytest.mark.usefixtures("committed")
def test_a_log_that_breaks_off_is_kept_as_far_as_it_came(kubelet: tuple[type[Kubelet], Path]) -> None:
    server, kubeconfig = kubelet
    run = a_stopping_run(kubeconfig)
    there = seen(run, PodPhase.RUNNING)[:1]
    server.known, server.breaks = frozenset([there[0].key.name]), True

    LogKeeper().listen(run, a_port(kubeconfig), there)
    until(lambda: bool(server.followed), "nobody listens")
    server.ended.set()

    until(lambda: bool(kept(run)), "nothing was kept")
    assert kept(run) == [("step 1\n", False, "")]


@pytest.mark.usefixtures("committed")
def test_a_pod_that_failed_first_is_read_before_the_rest_is_stopped(kubelet: tuple[type[Kubelet], Path]) -> None:
    server, kubeconfig = kubelet
    run = a_stopping_run(kubeconfig)
    first, second = seen(run, PodPhase.FAILED)[0], seen(run, PodPhase.PENDING)[1]
    server.known = frozenset([first.key.name])

    LogKeeper().listen(run, a_port(kubeconfig), [first, second])

    assert kept(run) == [("step 1\n", True, "")]


@pytest.mark.usefixtures("committed")
def test_a_copy_is_not_lost_to_the_word_that_the_pod_is_gone(kubelet: tuple[type[Kubelet], Path]) -> None:
    server, kubeconfig = kubelet
    run = a_stopping_run(kubeconfig)
    there = seen(run, PodPhase.RUNNING)
    server.known = frozenset([there[0].key.name])
    assert keep_run_logs([run]) == set()
    assert kept(run) == [("step 1\n", False, ""), ("", False, "nothing")]

    server.known = frozenset()
    Pod.objects.filter(run=run).update(phase="gone")
    keep_run_logs([run])

    assert kept(run) == [("step 1\n", False, ""), ("", True, "gone")]
