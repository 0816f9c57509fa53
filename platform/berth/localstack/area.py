"""Where a launcher keeps its files: `.local/` of the checkout, or beside it where the database's user cannot go there.

PostgreSQL refuses to run as root, so root starts it as `nobody`, who may not be able to enter the checkout
(below a 0700 home). No permission of an existing folder is ever changed to help that.
"""

import hashlib
import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from berth.environment import LOCAL, ROOT
from berth.localstack.problems import LauncherError

_BESIDE = (Path("/var/tmp"), Path("/tmp"))  # noqa: S108 - the folder inside is made by us, checked, and not guessable in content
_OWNER_NOTE = "checkout"


@dataclass(frozen=True, slots=True)
class Person:
    """The unprivileged user that root starts PostgreSQL as."""

    uid: int
    gid: int


def other_person() -> Person | None:
    """None when this process is not root and can run everything itself."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Person(65534, 65534)
    return Person(entry.pw_uid, entry.pw_gid)


def local_folder() -> Path:
    """`.local/`, made if missing. Others may pass through it (to the database's data), not look into it."""
    LOCAL.mkdir(mode=0o711, exist_ok=True)
    return LOCAL


def data_folder(person: Person | None) -> Path:
    """The folder for database data and, where needed, copies of its programs; the same one at every start."""
    local = local_folder()
    if person is None:
        return local
    note = local / "area"
    remembered = Path(note.read_text().strip()) if note.exists() else None
    if remembered is not None and _is_ours(remembered):
        return remembered
    chosen = local if can_enter(person, local) else _made_beside(person)
    note.write_text(f"{chosen}\n")
    return chosen


def can_enter(person: Person, folder: Path) -> bool:
    """Asked of the system and not read from permission bits: access lists and mounts have their say too."""
    try:
        return _succeeds(person, "/bin/sh", "-c", 'cd "$1"', "sh", str(folder))
    except subprocess.SubprocessError as error:
        raise LauncherError(
            "PostgreSQL does not run as root, and no other user can be taken here: run make as a normal user, "
            "or set DATABASE_URL"
        ) from error


def can_run(person: Person, program: Path) -> bool:
    return _succeeds(person, str(program), "--version")


def give_to(person: Person | None, path: Path) -> None:
    if person is not None:
        os.chown(path, person.uid, person.gid)


def _succeeds(person: Person, *command: str) -> bool:
    try:
        done = subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=person.uid,
            group=person.gid,
            extra_groups=[],
            check=False,
        )
    except PermissionError:
        return False
    return done.returncode == 0


def _made_beside(person: Person) -> Path:
    """A folder of root's own, named after the checkout, that the person can pass through."""
    name = f"berth-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:16]}"
    for parent in _BESIDE:
        if parent.is_dir() and can_enter(person, parent):
            folder = parent / name
            folder.mkdir(mode=0o711, exist_ok=True)
            _require_own(folder)
            folder.chmod(0o711)
            (folder / _OWNER_NOTE).write_text(f"{ROOT}\n")
            return folder
    raise LauncherError(f"no folder for the database: user {person.uid} can enter neither {LOCAL} nor /var/tmp")


def _is_ours(folder: Path) -> bool:
    """False for a folder that is gone, or that a copy of this checkout took along in its notes."""
    if folder == LOCAL:
        return True
    note = folder / _OWNER_NOTE
    return folder.is_dir() and note.exists() and Path(note.read_text().strip()) == ROOT


def _require_own(folder: Path) -> None:
    """Anybody may make folders in /var/tmp: one that is not plainly ours is refused."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise LauncherError(f"{folder}: belongs to somebody else; remove it or set DATABASE_URL")
