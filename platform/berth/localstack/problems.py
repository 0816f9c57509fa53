"""What can go wrong with a launcher, said in one line each. A traceback is for our own faults, never for a full disk."""

import errno
import shutil
from pathlib import Path

MIN_FREE_MIB = 256
"""A new database with its write-ahead log needs about 120 MiB; the rest is room to work."""

_SAYINGS = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "not allowed (is it another user's?)",
    errno.EPERM: "not allowed (is it another user's?)",
    errno.EROFS: "the file system is read-only",
}


class LauncherError(Exception):
    """Stops the launcher with its text as the one line a person sees. `code` is 1 for a failure, 2 for bad usage."""

    def __init__(self, text: str, *, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def saying(error: OSError) -> str:
    """One line for a person: the file and what is wrong with it."""
    why = _SAYINGS.get(error.errno or 0, error.strerror or str(error))
    return f"{error.filename}: {why}" if error.filename else why


def require_space(folder: Path) -> None:
    """Raises LauncherError where `folder` (existing) has too little room to start in."""
    free_mib = shutil.disk_usage(folder).free // 2**20
    if free_mib < MIN_FREE_MIB:
        raise LauncherError(f"{folder}: only {free_mib} MiB free on the disk, {MIN_FREE_MIB} MiB needed")


def last_line(log: Path) -> str:
    """The last line of a log that says something, without control characters; empty where there is none."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
