"""`python -m testplane.real.inside SPEC`: the first process of a real node, alone in its namespaces.

It runs containerd, the kubelet and the card plugin, writes `ready`, and ends when one of them does, as a machine that broke.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from testplane.real import documents
from testplane.real.documents import NodeSpec

READY = "ready"
_PATIENCE_S = 60.0
_LOOK_S = 0.05
_DEVICES = Path("/var/lib/kubelet/device-plugins")


def main(path: str) -> NoReturn:
    spec = NodeSpec(**json.loads(Path(path).read_text()))
    folder = Path(spec.folder)
    _mount(folder)
    _until(lambda: "eth0" in dict(map(reversed, socket.if_nameindex())), "the node's network")  # type: ignore[arg-type]
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    _write(folder / "containerd.toml", documents.containerd(spec, _snapshotter(folder)))
    _write(folder / "cni" / "10-berth.conflist", documents.pod_network(spec))
    _write(folder / "kubelet.json", documents.kubelet(spec))
    names = {_start(folder, "containerd", "containerd", "--config", str(folder / "containerd.toml")): "containerd"}
    _until(_answers, "containerd")
    importing = [_import(folder, image) for image in spec.images]
    names[_start(folder, "kubelet", *_kubelet(spec))] = "kubelet"
    _until((_DEVICES / "kubelet.sock").exists, "the kubelet's socket for cards")
    plugin = [f"{spec.binaries}/cards", str(_DEVICES), spec.resource, str(spec.cards), str(folder / "sick-cards")]
    names[_start(folder, "cards", *plugin)] = "cards"
    for each in importing:
        if each.wait() != 0:
            _fail(f"an image could not be imported: see {folder}/log/import.log")
    (folder / READY).touch()
    while True:
        pid, status = os.wait()
        if pid in names:
            _fail(f"{names[pid]} ended with {os.waitstatus_to_exitcode(status)}")


def _mount(folder: Path) -> None:
    """Places that every node's programs insist on are the node's own. A restarted machine's `/run` is empty, its disk is not."""
    _run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    Path("/run/netns").mkdir()
    for name in ("kubelet", "cni"):
        kept, place = folder / name / "lib", Path("/var/lib") / name
        kept.mkdir(parents=True, exist_ok=True)
        place.mkdir(parents=True, exist_ok=True)
        _run("mount", "--bind", str(kept), str(place))
    # The socket of the kubelet before this start: what listens beside it is removed when the kubelet comes up.
    (_DEVICES / "kubelet.sock").unlink(missing_ok=True)


def _snapshotter(folder: Path) -> str:
    """Layers lie over each other where the disk can do that (an overlay over an overlay cannot), else they are copied."""
    parts = {name: folder / "try" / name for name in ("lower", "upper", "work", "merged")}
    for part in parts.values():
        part.mkdir(parents=True, exist_ok=True)
    options = ",".join(f"{name}dir={parts[name]}" for name in ("lower", "upper", "work"))
    command = ["mount", "-t", "overlay", "-o", options, "overlay", str(parts["merged"])]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return "native"
    _run("umount", str(parts["merged"]))
    return "overlayfs"


def _kubelet(spec: NodeSpec) -> list[str]:
    labels = ",".join(f"{key}={value}" for key, value in spec.labels.items())
    return [
        f"{spec.binaries}/kubelet", "--config", f"{spec.folder}/kubelet.json", "--kubeconfig", spec.kubeconfig,
        "--hostname-override", spec.name, "--node-ip", spec.address, "--node-labels", labels,
    ]  # fmt: skip


def _import(folder: Path, image: str) -> subprocess.Popen[bytes]:
    with (folder / "log" / "import.log").open("ab") as log:
        command = ["ctr", "--address", documents.RUNTIME, "--namespace", "k8s.io", "images", "import", image]
        return subprocess.Popen(command, stdout=log, stderr=log)


def _answers() -> bool:
    command = ["ctr", "--address", documents.RUNTIME, "version"]
    return (
        Path(documents.RUNTIME).exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0
    )


def _start(folder: Path, name: str, *command: str) -> int:
    log = folder / "log" / f"{name}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, stdin=subprocess.DEVNULL).pid


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not happened():
        if time.monotonic() > deadline:
            _fail(f"waited {_PATIENCE_S:.0f} s for {what}")
        time.sleep(_LOOK_S)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        _fail(f"{' '.join(command)}: {done.stderr.strip()}")


def _fail(why: str) -> NoReturn:
    sys.exit(why)


if __name__ == "__main__":
    main(sys.argv[1])
