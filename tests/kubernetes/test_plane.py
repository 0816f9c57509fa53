"""The test control plane itself: what its pretended nodes do to pods, and that it leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testplane.api import Client, RefusedError
from testplane.build import ROOT, BuildError, find_go
from testplane.plane import Plane

from berth.localstack.ports import is_free
from berth.localstack.processes import born
from scheduling.cluster.port import PodPhase
from tests.kubernetes.plane import plane
from tests.kubernetes.rig import KubernetesRig, kubernetes_rig
from tests.unit.cluster.builders import a_run

OWNER = ("algo-a-prod", "j7-r1")
PATIENCE_S = 2.0
PLANES = ROOT / ".local" / "testplane" / "planes"


@pytest.fixture
def rig() -> Iterator[KubernetesRig]:
    with kubernetes_rig() as made:
        yield made


def wait_for(happened: Callable[[], bool], what: str, *, within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while not happened():
        assert time.monotonic() < deadline, f"waited {within:.0f} s for {what}"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("outcome", "want"),
    [
        ("succeeded", (PodPhase.SUCCEEDED, 0, "Completed", "")),
        ("failed", (PodPhase.FAILED, 1, "Error", "simulated failure")),
        ("oom", (PodPhase.FAILED, 137, "OOMKilled", "")),
        ("gpu-oom", (PodPhase.FAILED, 1, "Error", "torch.OutOfMemoryError: CUDA out of memory.")),
    ],
)
def test_a_pod_runs_and_ends_as_its_labels_say_to_the_second(rig: KubernetesRig, outcome: str, want: Any) -> None:
    labels = {"berth.dev/sim-duration": "2", "berth.dev/sim-outcome": outcome}
    rig.port.create_run(a_run(labels=labels), timeout_s=PATIENCE_S)

    rig.wait_until(lambda: rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)[0].phase.ended, within=10)

    (pod,) = rig.port.read_run(*OWNER, timeout_s=PATIENCE_S)
    assert (pod.phase, pod.exit_code, pod.reason, pod.message) == want
    assert pod.start_at is not None
    assert pod.finished_at is not None
    assert (pod.finished_at - pod.start_at).total_seconds() == 2


def test_runs_meet_pod_security_restricted_and_others_are_refused(rig: KubernetesRig) -> None:
    client = plane().client()
    made = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)

    loose = dict(a_run(job=8).pods[0])
    loose["spec"] = {**loose["spec"], "containers": [{**loose["spec"]["containers"][0], "securityContext": {}}]}
    with pytest.raises(RefusedError, match="violates PodSecurity") as refused:
        client.send("POST", "/api/v1/namespaces/algo-a-prod/pods", loose)

    assert made.whole
    assert refused.value.status == 403


def test_a_strangers_object_of_our_name_is_left_alone(rig: KubernetesRig) -> None:
    client: Client = plane().client()
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "j7-r1"}, "spec": {"clusterIP": "None"}}
    client.send("POST", "/api/v1/namespaces/algo-a-prod/services", service)

    answer = rig.port.create_run(a_run(), timeout_s=PATIENCE_S)

    assert not answer.whole
    assert answer.refusal is not None
    assert "not this run's" in answer.refusal.message
    assert rig.port.read_run(*OWNER, timeout_s=PATIENCE_S) == ()


def test_a_plane_that_is_stopped_leaves_no_process_no_port_and_no_file() -> None:
    with Plane(node_groups=()) as made:
        folder, ports = made.folder, list(made._ports.values())
        pids = [state.process.pid for state in made._children._states.values()]
        assert not any(map(is_free, ports[:1]))

    assert not folder.exists()
    assert not any(map(born, pids))
    assert all(map(is_free, ports))


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_make_kube_prints_a_kubeconfig_that_works_and_ends_whole_however_it_ends(sent: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": "deploy", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "testplane"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = next(line for line in process.stdout if line.startswith("export KUBECONFIG="))
        kubeconfig = Path(line.strip().partition("=")[2])
        parts = {
            int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _is_child(path, process.pid)
        }
        assert "https://127.0.0.1:" in kubeconfig.read_text()
        process.send_signal(sent)
        process.wait(timeout=30)

    wait_for(lambda: not any(map(born, parts)), "every part to end")
    assert len(parts) == 4
    if sent == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert (process.returncode, kubeconfig.parent.exists()) == (0, False)


def _is_child(path: Path, parent: int) -> bool:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1]) == parent
    except OSError:
        return False


def test_without_go_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text("#!/bin/sh\necho no such index >&2; exit 1\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr("testplane.build._PIP", (str(tmp_path / "python"),))

    with pytest.raises(BuildError, match=r"Go 1\.26 is needed .* no such index") as missing:
        find_go()

    assert "\n" not in str(missing.value)
