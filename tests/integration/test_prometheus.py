"""Cards read from a Prometheus server, a real one by HTTP that answers as Prometheus does; whatever it does, nothing is raised or guessed."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from scheduling.control import prometheus
from scheduling.models import Job, UtilisationHour, UtilisationSample
from scheduling.services.card_readings import Taken
from tests.integration.loop_scene import Scene

Answer = Callable[[str], tuple[int, bytes]]
"""A query -> HTTP status and body."""


@contextmanager
def a_server(answer: Answer) -> Iterator[str]:
    """An address where queries are answered."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            known = parts.path == "/base/api/v1/query"
            status, body = answer(parse_qs(parts.query)["query"][0]) if known else (404, b"")
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/base/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def vector(*entries: tuple[dict[str, str], str]) -> bytes:
    """As Prometheus writes one."""
    result = [{"metric": labels, "value": [1_795_946_400.123, value]} for labels, value in entries]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()


def running(scene: Scene) -> tuple[Job, str]:
    """A job on two cards of a node, for ten minutes."""
    [node] = scene.add_nodes()
    job = scene.submit(scene.a_queue(8), cards=2, seconds=None)
    scene.turn()
    scene.go_on(1)
    scene.pass_time(600)
    return job, node.name


def held_cards(job: Job) -> list[int]:
    return sorted(job.runs.get().leases.values_list("card__index", flat=True))


def test_both_queries_become_samples_of_who_held_the_cards(scene: Scene, settings: Any) -> None:
    """A card without an answer, one that nobody holds, values that are no numbers and nodes of strangers are left out."""
    job, node = running(scene)
    first, second = held_cards(job)
    asked: list[str] = []

    def answer(promql: str) -> tuple[int, bytes]:
        asked.append(promql)
        if "FB_USED" in promql:
            return 200, vector(({"Hostname": node, "gpu": str(first)}, "30720"))
        return 200, vector(
            ({"Hostname": node, "gpu": str(first)}, "87.5"),
            ({"Hostname": node, "gpu": str(second)}, "NaN"),
            ({"Hostname": node, "gpu": "7"}, "3"),
            ({"Hostname": "stranger", "gpu": "0"}, "50"),
            ({"Hostname": node, "gpu": str(second), "cluster": "another"}, "50"),
            ({"gpu": "0"}, "50"),
        )

    with a_server(answer) as url:
        settings.BERTH_PROMETHEUS_URL = url
        taken = [prometheus.ask_prometheus() for _ in range(2)]

    assert taken == [Taken(1, 0, 1), Taken(0, 1, 1)]
    assert set(asked) == {prometheus.BUSY, prometheus.VRAM}
    [sample] = UtilisationSample.objects.all()
    assert (sample.busy_ppm, sample.vram_mib, sample.run_id) == (875_000, 30_720, scene.run_of(job).pk)
    [hour] = UtilisationHour.objects.filter(run_id=scene.run_of(job).pk)
    assert (hour.sampled_units_s // 7000, hour.busy_units_s // 7000, hour.peak_vram_mib) == (180, 157, 30_720)


TROUBLE = {
    "an error of the server": (500, b"down"),
    "a query that it refuses": (400, json.dumps({"status": "error", "error": "parse error"}).encode()),
    "an error that comes as a success": (200, json.dumps({"status": "error", "error": "busy"}).encode()),
    "another kind of result": (
        200,
        json.dumps({"status": "success", "data": {"resultType": "scalar", "result": []}}).encode(),
    ),
    "no JSON": (200, b"<html>"),
    "JSON of another shape": (200, b"[1, 2]"),
    "entries without values": (
        200,
        json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{}]}}).encode(),
    ),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
def test_a_server_in_trouble_is_no_sample_and_no_error(trouble: tuple[int, bytes], scene: Scene, settings: Any) -> None:
    """B54."""
    running(scene)

    with a_server(lambda _promql: trouble) as url:
        settings.BERTH_PROMETHEUS_URL = url
        assert prometheus.ask_prometheus() is None

    assert not UtilisationSample.objects.exists()


def test_nobody_there_and_nobody_asked(scene: Scene, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The address is told in the log without its password."""
    running(scene)
    settings.BERTH_PROMETHEUS_URL = None
    unset = prometheus.ask_prometheus()
    settings.BERTH_PROMETHEUS_URL = "http://me:hidden@127.0.0.1:9/"

    gone = prometheus.ask_prometheus()

    assert (unset, gone) == (None, None)
    assert "hidden" not in caplog.text
    assert "cards not read" in caplog.text


def test_a_server_that_hangs_is_given_up(scene: Scene, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running(scene)
    monkeypatch.setattr(prometheus, "TIMEOUT_S", 0.2)
    done = threading.Event()

    def hang(_promql: str) -> tuple[int, bytes]:
        done.wait(60)
        return 200, vector()

    with a_server(hang) as url:
        settings.BERTH_PROMETHEUS_URL = url
        try:
            assert prometheus.ask_prometheus() is None
        finally:
            done.set()
