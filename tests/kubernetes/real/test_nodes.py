"""The real nodes themselves: `make nodes` ends whole however it ends, and leaves nothing behind that a later start does not remove."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from testplane.build import ROOT
from testplane.real import cgroups

GONE_S = 120.0


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + GONE_S
    while not happened():
        assert time.monotonic() < deadline, f"waited {GONE_S:.0f} s for {what}"
        time.sleep(0.1)


@contextmanager
def started() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A launcher whose nodes are ready, and its interface on this machine. It does not outlive a test that failed."""
    environment = {**os.environ, "PYTHONPATH": "deploy", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "testplane", "nodes"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = next((line for line in process.stdout if line.startswith("export BERTH_API_URL=")), "")
            found = re.search(r"198\.18\.(\d+)\.1", line)
            assert found is not None, "the nodes did not start"
            yield process, f"berth{found[1]}"
        finally:
            process.kill()


def processes_of(launcher: int) -> list[str]:
    """Command lines that name a folder of that launcher's."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return [line for line in lines if re.search(rf"/testplane/(real|planes)/{launcher}-", line)]


def groups_of(launcher: int) -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob(f"**/{cgroups.PREFIX}{launcher}-*"))


def left_of(launcher: int, interface: str) -> list[str]:
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/{launcher}-" in line]
    interfaces = [interface] if Path("/sys/class/net", interface).exists() else []
    return [*processes_of(launcher), *mounts, *interfaces]


def test_nodes_end_with_their_killed_launcher_and_the_next_start_leaves_nothing_of_both() -> None:
    with started() as (killed, interface):
        assert len(processes_of(killed.pid)) > 3 * 3
        assert groups_of(killed.pid)
        assert Path("/sys/class/net", interface).exists()
    until(lambda: not left_of(killed.pid, interface), "everything of the killed launcher to be gone")

    with started() as (stopped, interface):
        assert not groups_of(killed.pid)
        stopped.send_signal(signal.SIGINT)
        assert stopped.wait(GONE_S) == 0
    assert killed.returncode == -signal.SIGKILL
    assert left_of(stopped.pid, interface) == []
    assert groups_of(stopped.pid) == []
    folders = ROOT / ".local" / "testplane"
    assert not [folder for launcher in (killed, stopped) for folder in folders.glob(f"*/{launcher.pid}-*")]
