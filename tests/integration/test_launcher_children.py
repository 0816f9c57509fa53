"""A process that dies is started again, later each time; one that hangs or leaves others behind is cleared away."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from berth.localstack import children as room
from berth.localstack.children import Child, Children
from berth.localstack.processes import born, end_leftovers
from tests.integration.launcher_rig import read_line, wait_for

STEADY = "import time; time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
)
PARENT = (
    "import subprocess, sys, time;"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
    "print(child.pid, flush=True); time.sleep(600)"
)


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    children = Children(tmp_path / "notes.json")
    yield children
    children.stop()


def python(tmp_path: Path, code: str, **more: object) -> Child:
    return Child("it", [sys.executable, "-c", code], tmp_path / "it.log", folder=tmp_path, **more)  # type: ignore[arg-type]


def lines_until(children: Children, word: str) -> list[str]:
    seen: list[str] = []

    def found() -> bool:
        seen.extend(children.look())
        return any(word in line for line in seen)

    wait_for(found, f"a line with {word!r}")
    return seen


def pid_of(tmp_path: Path, children: Children) -> int:
    return int(json.loads((tmp_path / "notes.json").read_text())[0]["pid"])


def test_a_killed_process_is_started_again_with_one_line(tmp_path: Path, children: Children) -> None:
    children.start(python(tmp_path, STEADY))
    first = pid_of(tmp_path, children)

    os.kill(first, signal.SIGKILL)
    seen = lines_until(children, "it was killed by SIGKILL; starting it again in 0.5 s")
    wait_for(lambda: children.look() == [] and pid_of(tmp_path, children) != first, "a new process")

    assert len(seen) == 1
    assert not children.has_ended("it")


def test_the_delay_doubles_with_each_death_and_is_capped(
    tmp_path: Path, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "BACKOFF_FIRST_S", 0.01)
    monkeypatch.setattr(room, "BACKOFF_MOST_S", 0.03)
    children.start(python(tmp_path, "import sys; sys.exit(3)"))

    delays = [lines_until(children, "exit code 3")[0].split(" in ")[1].split(" s ")[0] for _ in range(4)]

    assert delays == ["0.01", "0.02", "0.03", "0.03"]


def test_what_a_dead_process_had_started_goes_with_it(tmp_path: Path, children: Children) -> None:
    children.start(python(tmp_path, PARENT))
    wait_for(lambda: (tmp_path / "it.log").read_text().strip() != "", "the grandchild")
    grandchild = int((tmp_path / "it.log").read_text().split()[0])

    os.kill(pid_of(tmp_path, children), signal.SIGKILL)
    lines_until(children, "SIGKILL")

    wait_for(lambda: born(grandchild) == "", "the grandchild to be gone")


def test_a_process_deaf_to_its_signal_is_killed_when_patience_ends(tmp_path: Path, children: Children) -> None:
    children.start(python(tmp_path, STUBBORN))
    wait_for(lambda: "deaf" in (tmp_path / "it.log").read_text(), "the process to be deaf")
    pid = pid_of(tmp_path, children)

    children.stop(patience_s=0.2)

    assert born(pid) == ""


def test_errors_in_a_log_are_told_once_and_the_rest_is_not(tmp_path: Path, children: Children) -> None:
    talk = "print('all is well'); print('level=error job 17 broke'); print('level=error job 18 broke'); " + STEADY
    children.start(
        python(tmp_path, "import sys; sys.stdout.reconfigure(line_buffering=True); " + talk, loud=("level=error",))
    )

    seen = lines_until(children, "broke")

    assert seen == ["it | level=error job 17 broke"]


def test_a_killed_launcher_takes_its_children_along(tmp_path: Path) -> None:
    launcher = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from berth.localstack.children import Child, Children
        here = Path({str(tmp_path)!r})
        children = Children(here / "notes.json")
        children.start(Child("it", [sys.executable, "-c", {STEADY!r}], here / "it.log", folder=here))
        print("started", flush=True)
        time.sleep(600)
    """)
    with subprocess.Popen([sys.executable, "-c", launcher], stdout=subprocess.PIPE, text=True) as process:
        read_line(process)
        child = pid_of(tmp_path, Children(tmp_path / "other.json"))
        process.kill()

    wait_for(lambda: born(child) == "", "the child to be gone")


def test_a_leftover_that_the_kernel_did_not_stop_is_stopped_at_the_next_start(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STEADY], start_new_session=True) as leftover:
        notes = tmp_path / "notes.json"
        notes.write_text(
            f'[{{"name": "web", "pid": {leftover.pid}, "born": "{born(leftover.pid)}", "stop_signal": {int(signal.SIGTERM)}}},'
            f' {{"name": "other", "pid": {os.getpid()}, "born": "not ours", "stop_signal": {int(signal.SIGKILL)}}}]'
        )

        stopped = end_leftovers(notes)

        assert stopped == ["web"]
        assert leftover.wait(5) == -signal.SIGTERM
