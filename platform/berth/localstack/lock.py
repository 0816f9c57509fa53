"""One launcher per checkout and purpose. The kernel gives the lock back however its holder ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from berth.localstack.problems import LauncherError


@contextmanager
def only_one(path: Path, *, what: str) -> Iterator[None]:
    """Hold the lock inside the block. Raises LauncherError naming the holder where it is taken."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise LauncherError(f"{what} is already running in this checkout (process {file.read().strip()})") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
