"""A checkout to launch from: a copy of `platform/` in a folder of the test's choice, driven as a person would drive it."""

import os
import pwd
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 90.0

SLEEPER = (
    "import os, sys, time; print(os.environ['DATABASE_URL'], os.environ['REDIS_URL'], flush=True); time.sleep(600)"
)


@dataclass(frozen=True)
class Checkout:
    root: Path
    uid: int | None = None

    def command(self, *arguments: str) -> list[str]:
        """As `uid` where one is given. Of root's powers that user keeps the one to look into folders: Python may be in there."""
        other = f"--reuid={self.uid} --regid={self.uid} --clear-groups"
        kept = "--inh-caps=-all,+dac_read_search --ambient-caps=+dac_read_search --bounding-set=-all,+dac_read_search"
        prefix = [] if self.uid is None else ["setpriv", *other.split(), *kept.split()]
        return [*prefix, sys.executable, "-m", "berth.localstack", *arguments]

    def environment(self, **extra: str) -> dict[str, str]:
        """As from a fresh terminal: no addresses of services, this checkout's own rooms first on the path."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return kept | {"PYTHONPATH": str(self.root / "platform"), "PYTHONUNBUFFERED": "1"} | extra

    def run(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """To its end, within the deadline."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    @contextmanager
    def started(self, *arguments: str, **extra: str) -> Iterator[subprocess.Popen[str]]:
        """Running inside the block; killed at its end if the test has not stopped it."""
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment(**extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()
            wait_for(lambda: not self.processes(), "every process of the checkout to be gone")

    def data(self) -> Path:
        """The folder of the databases: `.local/`, or what its note names beside the checkout."""
        note = self.root / ".local" / "area"
        return Path(note.read_text().strip()) if note.exists() else self.root / ".local"

    def processes(self) -> list[str]:
        """Command lines of servers whose data or folder lies in this checkout or beside it."""
        places = {str(self.root), str(self.data())}
        return [
            line for line in living() if any(place in line for place in places) and "-m berth.localstack" not in line
        ]


def living() -> list[str]:
    """Command lines of all processes that are not just remains; the working folder stands for those that name no file."""
    lines = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            folder = (entry / "cwd").readlink()
        except OSError:
            continue
        if "postgres" in line or "valkey" in line:
            lines.append(f"{line} in {folder}")
    return lines


def checkout(folder: Path, uid: int | None = None) -> Checkout:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "platform", folder / "platform", ignore=shutil.ignore_patterns("__pycache__"))
    if uid is not None:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, uid, uid)
    return Checkout(folder, uid)


def remove_area(place: Checkout) -> None:
    """What a launcher put beside the checkout (the test's own folder goes by itself)."""
    if place.root not in place.data().parents:
        shutil.rmtree(place.data(), ignore_errors=True)


def an_ordinary_user() -> int | None:
    """For root: somebody else to be. For anybody else: nobody else is needed."""
    return pwd.getpwnam("daemon").pw_uid if os.geteuid() == 0 else None


def read_line(process: subprocess.Popen[str]) -> str:
    """The next line of standard output, within the deadline."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], DEADLINE_S)
    if not ready:
        raise AssertionError("the launcher said nothing")
    return process.stdout.readline().strip()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = DEADLINE_S) -> None:
    """Looks until it holds; the deadline is what fails the test, never the time between two looks."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:g} s for {what}")
        time.sleep(0.05)
