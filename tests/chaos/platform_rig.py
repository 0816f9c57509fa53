"""The whole platform from a copy of the checkout, as `make run` starts it: processes to kill, and its REST to ask."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_S, DEADLINE_S, ANSWER_S = 240.0, 180.0, 10.0
ROOMS = ("platform", "tenants", "scheduling", "billing", "templates", "static", "locale", "manage.py")
WORDS = {
    "web": "granian",
    "worker": "-A berth worker",
    "beat": "-A berth beat",
    "watch": "manage.py watch",
    "valkey": "valkey-server",
}


@dataclass(frozen=True)
class Platform:
    """One that runs. `token` is a member's of the scenario's tenant; `settings` is what its environment has besides."""

    folder: Path
    url: str
    token: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def ask(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> Any:
        """The answer's JSON. Where nobody answers (a process was just killed) it is asked again, the same, until the deadline."""
        answers: list[Any] = []

        def answered() -> bool:
            with_all = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(f"{self.url}/api/v1{path}", data, with_all)  # noqa: S310 - our own address
            try:
                with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310 - our own address
                    answers.append(json.load(answer))
            except urllib.error.HTTPError as refused:
                raise AssertionError(f"{path}: {refused.code} {refused.read().decode()}") from refused
            except (OSError, ValueError):
                return False
            return True

        wait_for(answered, f"an answer to {path}")
        return answers[0]

    def pids(self, name: str) -> list[int]:
        """Of the platform's process of this name and its children of the same command."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_ours(entry):
                line = _line(entry)
                if WORDS[name] in line and "localstack" not in line:
                    found.append(int(entry.name))
        return sorted(found)

    def _is_ours(self, entry: Path) -> bool:
        return (
            str(self.folder) in _line(entry) or _folder(entry) == self.folder or str(self.folder) in _folder_text(entry)
        )

    def send(self, name: str, what: signal.Signals) -> list[int]:
        """The signal to every process of the name; which they were."""
        found = self.pids(name)
        assert found, f"no {name} runs"
        for pid in found:
            os.kill(pid, what)
        return found

    def manage(self, *arguments: str) -> str:
        """`manage.py` from another terminal."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self.folder, env=_environment(self.folder, **self.settings), capture_output=True, text=True,
            timeout=DEADLINE_S, check=True,
        )  # fmt: skip
        return done.stdout

    def valkey(self, *words: str) -> None:
        import redis

        redis.Redis.from_url(
            json.loads((self.folder / ".local/services.json").read_text())["redis_url"]
        ).execute_command(*words)


def _line(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _folder(entry: Path) -> Path | None:
    try:
        return (entry / "cwd").readlink()
    except OSError:
        return None


def _folder_text(entry: Path) -> str:
    return str(_folder(entry) or "")


def _environment(folder: Path, **extra: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    path = os.pathsep.join((str(folder), str(folder / "platform")))
    # What a killed process leaves among temporary files goes with the checkout.
    kept |= {"TMPDIR": str(folder / "tmp")}
    return kept | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "DJANGO_SETTINGS_MODULE": "berth.settings"} | extra


@contextmanager
def running_platform(folder: Path, scenario: str, **settings: str) -> Iterator[Platform]:
    """`make run` on an empty checkout, then the scenario; stopped by Ctrl-C at the end. `settings`: what its environment has besides."""
    _copy(folder)
    port = _free_port()
    environment = _environment(folder, BERTH_PORT=str(port), BERTH_DEMO="0", **settings)
    said = (folder / "said.txt").open("w+")
    launcher = subprocess.Popen(
        [sys.executable, "-m", "berth.localstack", "run"], cwd=folder, env=environment, stdout=said, stderr=said
    )
    try:
        wait_for(lambda: "\nready " in (folder / "said.txt").read_text(), "the first page", START_S)
        platform = Platform(folder, f"http://127.0.0.1:{port}", "", settings)
        platform.manage("bootstrap_demo", "--scenario", scenario, "--replace")
        (signins,) = (folder / ".local").glob("demo*.json")
        users = json.loads(signins.read_text())["users"]
        token = next(user["token"] for user in users if user["role"] == "tenant-member")
        yield replace(platform, token=token)
    finally:
        launcher.send_signal(signal.SIGINT)
        try:
            launcher.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            launcher.kill()
            launcher.wait(DEADLINE_S)
        said.close()
        print((folder / "said.txt").read_text())


def _copy(folder: Path) -> None:
    (folder / "tmp").mkdir(parents=True)
    for room in ROOMS:
        source = ROOT / room
        if source.is_dir():
            shutil.copytree(source, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / room)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_for(condition: Callable[[], bool], what: str, seconds: float = DEADLINE_S) -> None:
    """Looks until it holds; the deadline is what fails the test, never the time between two looks."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(0.1)
