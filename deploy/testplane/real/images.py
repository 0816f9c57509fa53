"""Images for real nodes, packed without a registry: a pause, and this machine's own Python with the libraries it links to."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAUSE = "localhost/berth/pause:1"
PYTHON = "localhost/berth/python:1"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_NOT_PACKED = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo"}
_NOT_PACKED |= {"ensurepip", "lib2to3"}
_SETTINGS = {
    "etc/passwd": b"root:x:0:0:root:/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n",
    "etc/group": b"root:x:0:\napp:x:1000:\n",
    "etc/nsswitch.conf": b"hosts: files dns\n",
}
_RECIPE = "1"
"""A change of how images are packed is another image."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of an image: a file's content, or where a link points."""

    path: str
    content: bytes = b""
    executable: bool = False
    link: str = ""


def pack(folder: Path, pause: Path) -> tuple[Path, ...]:
    """Both images as archives that `ctr images import` takes; made once for each pause and Python."""
    key = hashlib.sha256(f"{_RECIPE} {sys.version} {sys.base_prefix}".encode() + pause.read_bytes()).hexdigest()[:16]
    kept = folder / f"images-{key}"
    archives = (kept / "pause.tar", kept / "python.tar")
    if not all(archive.exists() for archive in archives):
        kept.mkdir(parents=True, exist_ok=True)
        held = [Entry("pause", pause.read_bytes(), executable=True)]
        _write(archives[0], PAUSE, held, {"Entrypoint": ["/pause"], "User": "65535:65535"})
        environment = ["PATH=/usr/local/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "HOME=/tmp"]
        config = {"Env": environment, "Cmd": ["python3"], "User": "1000:1000", "WorkingDir": "/tmp"}  # noqa: S108 - in the image
        _write(archives[1], PYTHON, [*_python()], config)
    return archives


def _python() -> Iterator[Entry]:
    """This interpreter under /usr/local, without what people install; a shell; and every shared library of both."""
    program = Path(os.path.realpath(sys.executable))
    library = Path(sysconfig.get_path("stdlib"))
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    yield Entry(f"usr/local/bin/{version}", program.read_bytes(), executable=True)
    yield Entry("usr/local/bin/python3", link=version)
    linked = [program]
    for path in _files(library):
        yield Entry(f"usr/local/lib/{version}/{path.relative_to(library)}", path.read_bytes())
        if path.suffix == ".so":
            linked.append(path)
    if shell := shutil.which("dash"):
        yield Entry("bin/sh", Path(shell).read_bytes(), executable=True)
        linked.append(Path(shell))
    for path in _libraries(linked):
        yield Entry(str(path).lstrip("/"), path.read_bytes(), executable=True)
    for name, content in _SETTINGS.items():
        yield Entry(name, content)


def _files(library: Path) -> Iterator[Path]:
    for path in sorted(library.rglob("*")):
        parts = path.relative_to(library).parts
        unwanted = (
            _NOT_PACKED.intersection(parts) or parts[-1].startswith(("_tkinter", "_test")) or "config-" in parts[0]
        )
        if not unwanted and path.is_file():
            yield path


def _libraries(programs: Sequence[Path]) -> list[Path]:
    """As the loader finds them, under the very paths it looks at; the loader itself among them."""
    command = ["ldd", *map(str, programs)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return sorted({Path(found) for found in re.findall(r"(/\S+) \(0x[0-9a-f]+\)", told)})


def _write(archive: Path, name: str, entries: Sequence[Entry], config: dict[str, Any]) -> None:
    """A docker-archive of one layer, the same bytes every time; under a name of its own first."""
    layer = _layer(entries)
    digest = hashlib.sha256(layer).hexdigest()
    created = "1970-01-01T00:00:00Z"
    document = {
        "architecture": _ARCHITECTURES.get(os.uname().machine, os.uname().machine),
        "os": "linux",
        "created": created,
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": created}],
    }
    about = json.dumps(document).encode()
    config_name = f"{hashlib.sha256(about).hexdigest()}.json"
    manifest = [{"Config": config_name, "RepoTags": [name], "Layers": [f"{digest}.tar"]}]
    contents = {config_name: about, f"{digest}.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    unfinished = archive.with_suffix(f".{os.getpid()}")
    with tarfile.open(unfinished, "w") as tar:
        for path, content in contents.items():
            _add(tar, Entry(path, content))
    unfinished.replace(archive)


def _layer(entries: Sequence[Entry]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        parents = {str(parent) for entry in entries for parent in Path(entry.path).parents} - {"."}
        for folder in sorted({*parents, "tmp"}):
            made = tarfile.TarInfo(folder)
            made.type, made.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(made)
        for entry in entries:
            _add(tar, entry)
    return packed.getvalue()


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    made = tarfile.TarInfo(entry.path)
    if entry.link:
        made.type, made.linkname = tarfile.SYMTYPE, entry.link
        tar.addfile(made)
        return
    made.size, made.mode = len(entry.content), 0o755 if entry.executable else 0o644
    tar.addfile(made, io.BytesIO(entry.content))
