"""What a pod tells the platform from inside, with the token it finds in its environment."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.kubernetes.real.cluster import cluster
from tests.kubernetes.real.scene import OnNodes


@pytest.fixture
def site(real: OnNodes, settings: Any) -> Iterator[str]:
    """The platform's pages on this machine's loopback, at an address that pods reach."""
    server = LiveServer("127.0.0.1")
    port = urlsplit(server.url).port
    assert port is not None
    settings.BERTH_API_URL = cluster().open_to_pods(port)
    # Requests without a token count by address, and those of other tests come from the same one.
    settings.BERTH_RATE_LIMITS = False
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, cluster().machine]
    yield settings.BERTH_API_URL
    server.stop()


def test_a_pod_reports_progress_and_checkpoints_for_its_own_run_and_no_other(real: OnNodes, site: str) -> None:
    job = real.submit("reporting.py", cards=1, checkpoint_path="/saved")

    run = real.until_state(job, "succeeded", "failed")

    assert json.loads(real.log_of(job).text) == [200, 200, 200, 401, 401]
    assert (run.progress_ppm, run.step, run.checkpoint_path) == (250_000, 7, "/saved/r1/step-7")
    assert run.checkpoint_at is not None
