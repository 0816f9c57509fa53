"""Control groups of real nodes: one root for each node, made before its kubelet starts, removed when its processes are gone."""

import contextlib
import os
import time
from pathlib import Path

from berth.localstack.processes import born

MOUNTS = Path("/proc/self/mounts")
PREFIX = "berth-testplane-"
_NEEDED = ("cpu", "memory", "pids", "cpuset")
_EMPTY_S = 10.0
_LOOK_S = 0.05


class CgroupError(RuntimeError):
    """What the kernel refused, in one line."""


def name_for(plane: str) -> str:
    """The group that holds the nodes of the plane whose folder is called so: `pid-born-random`."""
    return PREFIX + plane


def prepare(group: str, node: str) -> str:
    """The root of one node's pods, for its kubelet. Raises CgroupError."""
    path = f"{group}/{node}"
    try:
        for hierarchy, kind in _hierarchies():
            (hierarchy / path).mkdir(parents=True, exist_ok=True)
            if kind == "cgroup2":
                _delegate(hierarchy, path)
            elif (hierarchy / "cpuset.cpus").exists():
                _share_processors(hierarchy, path)
    except OSError as error:
        raise CgroupError(f"control group {path} could not be made: {error}") from None
    return f"/{path}"


def remove(group: str) -> None:
    """With everything in it, as soon as the kernel has buried the last process; what still lives stays for the next sweep."""
    deadline = time.monotonic() + _EMPTY_S
    for hierarchy, _ in _mounted():
        while (hierarchy / group).exists():
            for folder, _, _ in os.walk(hierarchy / group, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
            if time.monotonic() > deadline:
                return
            time.sleep(_LOOK_S)


def sweep() -> None:
    """Remove the groups of planes whose process was killed."""
    found = {path.name for hierarchy, _ in _mounted() for path in hierarchy.glob(f"{PREFIX}*-*-*")}
    for name in found:
        pid, since, _ = name.removeprefix(PREFIX).split("-")
        if born(int(pid)) != since:
            remove(name)


def _hierarchies() -> list[tuple[Path, str]]:
    """Those that limit pods: one tree for each controller of version 1 where there are any, else the one of version 2."""
    return [each for each in _mounted() if each[1] == "cgroup"] or _mounted()


def _mounted() -> list[tuple[Path, str]]:
    """Every tree of control groups and its kind. Beside those of version 1 the runtime makes groups in an idle one of version 2 too."""
    mounts = [line.split()[1:3] for line in MOUNTS.read_text().splitlines()]
    return [(Path(path), kind) for path, kind in mounts if kind in ("cgroup", "cgroup2")]


def _delegate(hierarchy: Path, path: str) -> None:
    """Version 2: every group above hands its controllers down."""
    folder = hierarchy
    for part in ("", *Path(path).parts):
        folder = folder / part
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in _NEEDED))


def _share_processors(hierarchy: Path, path: str) -> None:
    """Version 1: a new cpuset is empty, and nothing can run in it."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        folder, content = hierarchy, (hierarchy / name).read_text()
        for part in Path(path).parts:
            folder = folder / part
            (folder / name).write_text(content)
