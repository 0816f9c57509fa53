"""Processes of an earlier launcher that was killed: which of them still live, and their end. Starts nothing."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

PATIENCE_S = 5.0
"""The kernel has told them to stop when their launcher died; a database needs a moment for it."""

_LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Noted:
    """A started process. `born` tells it from a later process that got the same number."""

    name: str
    pid: int
    born: str
    stop_signal: int


def born(pid: int) -> str:
    """When process `pid` started, as a text to compare; empty when there is no such process (or only its remains)."""
    stat_file = Path(f"/proc/{pid}/stat")
    if stat_file.parent.parent.joinpath("self").exists():
        try:
            fields = stat_file.read_text().rpartition(")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] == "Z" else fields[19]
    asked = subprocess.run(["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


def note(path: Path, running: Iterable[Noted]) -> None:
    """Write the list down whole, so that a reader never sees half of it."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps([asdict(process) for process in running]))
    new.replace(path)


def end_leftovers(path: Path) -> list[str]:
    """Wait for the noted processes to be gone, then stop them, then kill them. Answers the names that had to be stopped."""
    try:
        leftovers = [Noted(**entry) for entry in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):
        return []
    stopped = _still_there(leftovers, PATIENCE_S)
    for process in stopped:
        _send(process, process.stop_signal)
    for process in _still_there(stopped, PATIENCE_S):
        _send(process, signal.SIGKILL)
    _still_there(stopped, PATIENCE_S)
    path.unlink(missing_ok=True)
    return [process.name for process in stopped]


def send_group(pid: int, sent: int) -> None:
    """Signal every process of the group that `pid` leads; none left is fine."""
    try:
        os.killpg(pid, sent)
    except (ProcessLookupError, PermissionError):
        return


def _still_there(processes: list[Noted], patience_s: float) -> list[Noted]:
    deadline = time.monotonic() + patience_s
    living = processes
    while living:
        living = [process for process in living if born(process.pid) == process.born]
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK_S)
    return living


def _send(process: Noted, sent: int) -> None:
    if born(process.pid) == process.born:
        send_group(process.pid, sent)
