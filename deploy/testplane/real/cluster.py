"""A control plane with three real nodes on this machine: started in seconds, each node killed and started again at will, gone whole."""

import json
import os
import secrets
import shutil
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

from testplane import nodes
from testplane.build import HERE, KEPT, OF_NODES, programs
from testplane.plane import PROCESSES, Plane, PlaneError, sweep
from testplane.real import certificates, cgroups, images, names, network, packages
from testplane.real.documents import NodeSpec
from testplane.real.inside import READY

from berth.localstack.children import Child, Children
from berth.localstack.processes import born

READY_S = 120.0
GROUP = nodes.Group(
    "r", 3, "a100-80g", {"nvidia.com/gpu": 8}, cpu=0, memory_gib=0, racks=3, digits=1,
    labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"},
)  # fmt: skip
"""Processors and memory are the machine's own: every node reports all of it."""
_DNS = "coredns"
_LOOK_S = 0.05


@dataclass(slots=True)
class RealCluster:
    """Three kubelets with containers of their own beside one control plane. Needs what `packages.problem()` asks for."""

    plane: Plane = field(init=False)
    folder: Path = field(init=False)
    _children: Children = field(init=False)
    _network: network.Network = field(init=False)
    _built: Path = field(init=False)
    _specs: dict[str, NodeSpec] = field(init=False, default_factory=dict)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(f"{GROUP.prefix}{index}" for index in range(GROUP.count))

    @property
    def machine(self) -> str:
        """This machine's address, as pods see it."""
        return self._network.machine

    def start(self) -> None:
        """Up to nodes that are Ready with all cards. Raises BuildError or PlaneError, one line each; nothing runs then."""
        if why := packages.problem():
            raise PlaneError(why)
        self._built = programs(OF_NODES)
        programs()
        sweep(KEPT / "real")
        cgroups.sweep()
        self.folder = KEPT / "real" / f"{os.getpid()}-{born(os.getpid())}-{secrets.token_hex(4)}"
        self.folder.mkdir(parents=True, mode=0o755)
        self._children = Children(self.folder / PROCESSES)
        self.plane = Plane()
        try:
            self._start_parts()
        except (network.NetworkError, cgroups.CgroupError) as error:
            self.stop()
            raise PlaneError(f"real nodes cannot be had on this machine: {error}") from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process by its pid; interfaces go with them, control groups and files after them."""
        self._children.stop(patience_s=10)
        if self.plane.url:
            self.plane.stop()
        cgroups.remove(cgroups.name_for(self.folder.name))
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self, node: str) -> None:
        """As a machine whose power fails: every process of the node is gone at once, its disk is not."""
        os.kill(self._children.pid(node), signal.SIGKILL)
        self._await(lambda: self._children.has_ended(node), f"{node} to end", of=node)

    def restart(self, node: str) -> None:
        """Power again, after `kill`; waits until it has been Ready since."""
        began = time.time()
        self._start_node(node)
        self._await(lambda: self._is_ready(node, since=began), f"{node} to be Ready again", of=node)

    def open_to_pods(self, port: int) -> str:
        """Let pods reach a port of this machine's loopback; answers the address they reach it by."""
        name, command = f"relay-{port}", [sys.executable, "-m", "testplane.real.relay", self.machine, str(port)]
        self._children.start(
            Child(name, command, self._log(name), _environment(), folder=self.folder, stop_signal=signal.SIGKILL)
        )
        self._await(lambda: _listens(self.machine, port), f"port {port} to be open", of=name)
        return f"http://{self.machine}:{port}"

    def break_cards(self, node: str, *indexes: int) -> None:
        """From now on the device plugin reports these cards unhealthy; none: all are well."""
        (self._folder(node) / "sick-cards").write_text(",".join(map(str, indexes)))

    def enter(self, node: str, *command: str) -> list[str]:
        """A command line that runs inside the node's namespaces."""
        outer = self._children.pid(node)
        (inner,) = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        return ["nsenter", "--target", inner, "--net", "--mount", "--pid", *command]

    # --- parts, in their order ---

    def _start_parts(self) -> None:
        self._network = network.lay(self._children, self.folder)
        authority, certificate, key = certificates.write(self.folder)
        users = {names.USER: (), **{f"system:node:{node}": ("system:nodes",) for node in self.nodes}}
        options = ["--kubelet-client-certificate", str(certificate), "--kubelet-client-key", str(key)]
        options += ["--kubelet-preferred-address-types", "InternalIP"]
        self.plane = Plane(users=users, node_groups=(), address=self.machine, api_options=options)
        self.plane.start()
        self._start_names()
        archives = tuple(map(str, images.pack(KEPT, self._built / "pause")))
        documents = list(nodes.documents([GROUP]))
        for index, node in enumerate(self.nodes):
            labels = {key: value for key, value in documents[index]["metadata"]["labels"].items() if key != "type"}
            labels.pop("kubernetes.io/hostname")
            self._specs[node] = NodeSpec(
                name=node,
                folder=str(self._folder(node)),
                binaries=str(self._built),
                images=archives,
                pause=images.PAUSE,
                address=self._network.node(index),
                pods=self._network.pods(index),
                dns=self._network.names,
                cgroup="",
                kubeconfig=str(self.plane.kubeconfig(f"system:node:{node}")),
                kubelet_ca=str(authority),
                labels=labels,
                resource=next(iter(GROUP.cards)),
                cards=next(iter(GROUP.cards.values())),
            )
            self._start_node(node)
        for node in self.nodes:
            self._await(lambda node=node: self._is_ready(node), f"{node} to be Ready", of=node)  # type: ignore[misc]

    def _start_names(self) -> None:
        names.grant(self.plane.client())
        configuration = self.folder / "Corefile"
        names.write_configuration(
            configuration, address=self._network.names, kubeconfig=self.plane.kubeconfig(names.USER)
        )
        command = self._network.beside_bridge(str(self._built / _DNS), "-conf", str(configuration))
        self._children.start(Child(_DNS, command, self._log(_DNS), folder=self.folder, stop_signal=signal.SIGKILL))
        self._await(self._names_answer, "names to be answered", of=_DNS)

    def _start_node(self, node: str) -> None:
        index, folder = self.nodes.index(node), self._folder(node)
        folder.mkdir(exist_ok=True)
        (folder / READY).unlink(missing_ok=True)
        group = cgroups.name_for(self.folder.name)
        cgroups.remove(f"{group}/{node}")
        spec = NodeSpec(**{**asdict(self._specs[node]), "cgroup": cgroups.prepare(group, node)})
        (folder / "spec.json").write_text(json.dumps(asdict(spec)))
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command += [sys.executable, "-m", "testplane.real.inside", str(folder / "spec.json")]
        self._children.start(
            Child(node, command, self._log(node), _environment(), folder=folder, stop_signal=signal.SIGKILL)
        )
        self._network.plug(index, self._children.pid(node))

    # --- inside ---

    def _is_ready(self, node: str, *, since: float = 0.0) -> bool:
        """`since`: with a heartbeat after that instant, so that a dead node's last words are not taken for life."""
        if not (self._folder(node) / READY).exists():
            return False
        answer = self.plane.client().ask("GET", f"/api/v1/nodes/{node}")
        if answer.status != 200 or not nodes.is_ready(answer.body):
            return False
        heartbeats = [
            each["lastHeartbeatTime"] for each in answer.body["status"]["conditions"] if each["type"] == "Ready"
        ]
        cards = answer.body["status"]["allocatable"].get(next(iter(GROUP.cards)))
        return cards == str(next(iter(GROUP.cards.values()))) and datetime.fromisoformat(
            heartbeats[0]
        ).timestamp() >= int(since)

    def _names_answer(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self._network.names}:8181/ready", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _await(self, happened: Callable[[], bool], what: str, *, of: str) -> None:
        deadline = time.monotonic() + READY_S
        while not happened():
            if self._children.has_ended(of) or time.monotonic() > deadline:
                said = self._log(of).read_text(errors="replace").strip().splitlines()[-1:] or ["nothing"]
                raise PlaneError(f"waited for {what} in vain; it said: {said[0][:300]}")
            time.sleep(_LOOK_S)

    def _folder(self, node: str) -> Path:
        return self.folder / node

    def _log(self, name: str) -> Path:
        return self.folder / "log" / f"{name}.log"


def _environment() -> dict[str, str]:
    """Of parts that are written in Python."""
    return {**os.environ, "PYTHONPATH": str(HERE.parent)}


def _listens(address: str, port: int) -> bool:
    with socket.socket() as tried:
        tried.settimeout(_LOOK_S)
        return tried.connect_ex((address, port)) == 0
