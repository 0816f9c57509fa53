"""A Kubernetes control plane on loopback: etcd, API server, controller manager and pretended nodes. Started in seconds, gone whole."""

import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from testplane import api, installed, nodes
from testplane.build import HERE, KEPT, programs

from berth.localstack.children import Child, Children
from berth.localstack.ports import LOOPBACK, free_port
from berth.localstack.processes import born, end_leftovers

READY_S = 60.0
PROCESSES = "processes.json"
PLATFORM = "berth"
NOT_SILENT = "!berth.dev/test-silent"
"""KWOK keeps up the nodes without this label; one that gets it is left alone, as a machine that died."""


class PlaneError(RuntimeError):
    """A part that did not come up, with the last of what it said."""


def sweep(planes: Path) -> None:
    """Remove what planes of killed processes left; the kernel has ended their parts, and whoever lingers is ended here."""
    for folder in planes.glob("*-*-*"):
        pid, since, _ = folder.name.split("-")
        if born(int(pid)) != since:
            end_leftovers(folder / PROCESSES)
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class Plane:
    """One control plane with its own ports, keys and folder. `users` are (name, groups) beside the admin, each with a token.

    `berth` is the account that an administrator gives to Berth, with its own rights and no others.
    """

    users: Mapping[str, Sequence[str]] = field(default_factory=dict)
    node_groups: Sequence[nodes.Group] = field(default_factory=nodes.read)
    address: str = LOOPBACK
    """Where the API server listens: real nodes cannot reach this machine's loopback."""
    api_options: Sequence[str] = ()
    folder: Path = field(init=False)
    url: str = field(init=False, default="")
    tokens: dict[str, str] = field(init=False, default_factory=dict)
    _children: Children = field(init=False)
    _ports: dict[str, int] = field(init=False, default_factory=dict)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Up to nodes that are Ready. Raises BuildError or PlaneError; nothing runs then."""
        built = programs()
        sweep(KEPT / "planes")
        self.folder = KEPT / "planes" / f"{os.getpid()}-{born(os.getpid())}-{secrets.token_hex(4)}"
        self.folder.mkdir(parents=True, mode=0o700)
        self._children = Children(self.folder / PROCESSES)
        try:
            self._write_secrets()
            self._start_store(built)
            self._start_api_server(built)
            self._start_controllers(built)
            self.tokens[PLATFORM] = installed.install(self.client())
            if self.node_groups:
                self._start_nodes(built)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process by its pid and leave nothing behind."""
        for name in ("kwok", "kube-controller-manager", "kube-apiserver", "etcd"):
            if name in self._children.names():
                self._children.stop(only=[name], patience_s=10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def client(self, user: str = "admin") -> api.Client:
        """Plain calls to the API server as one of the users."""
        return api.Client(self.url, self.tokens[user], self._certificate())

    def kubeconfig(self, user: str = PLATFORM) -> Path:
        """A kubeconfig file of one of the users: what Berth is given, or `admin` for whoever looks after the cluster."""
        path = self.folder / f"{user}.kubeconfig"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(yaml.safe_dump(self._kubeconfig(user), sort_keys=False))
        return path

    @contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """Stop a part's process in its tracks for a while, as a stall of its machine would."""
        self._children.send(name, signal.SIGSTOP)
        try:
            yield
        finally:
            self._children.send(name, signal.SIGCONT)

    def restart_api_server(self) -> None:
        """Killed, and started again on what the store holds; whoever watched it is cut off. Raises PlaneError."""
        self._children.stop(only=["kube-apiserver"], patience_s=10)
        self._start_api_server(programs())

    # --- parts, in their order ---

    def _write_secrets(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        lines = []
        for name, groups in {"admin": ("system:masters",), **self.users}.items():
            self.tokens[name] = secrets.token_urlsafe(24)
            lines.append(f'{self.tokens[name]},{name},{name},"{",".join(groups)}"')
        for path, content in (("sa.key", private), ("sa.pub", public), ("tokens.csv", "\n".join(lines).encode())):
            target = self.folder / path
            target.touch(mode=0o600)
            target.write_bytes(content)

    def _start_store(self, built: Path) -> None:
        client, peer = self._port("etcd"), self._port("etcd-peer")
        at, peers = f"http://{LOOPBACK}:{client}", f"http://{LOOPBACK}:{peer}"
        self._spawn(
            built, "etcd", "--data-dir", str(self.folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error",
            "--listen-client-urls", at, "--advertise-client-urls", at, "--listen-peer-urls", peers,
            "--initial-advertise-peer-urls", peers, "--initial-cluster", f"default={peers}",
        )  # fmt: skip

    def _start_api_server(self, built: Path) -> None:
        secure = self._port("api")
        self.url = f"https://{self.address}:{secure}"
        self._spawn(
            built, "kube-apiserver", "--etcd-servers", f"http://{LOOPBACK}:{self._ports['etcd']}",
            "--bind-address", self.address, "--advertise-address", self.address, "--secure-port", str(secure),
            "--cert-dir", str(self.folder / "certs"), "--anonymous-auth=false",
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", str(self.folder / "sa.pub"),
            "--service-account-signing-key-file", str(self.folder / "sa.key"),
            "--token-auth-file", str(self.folder / "tokens.csv"), "--authorization-mode", "Node,RBAC",
            "--service-cluster-ip-range", "10.0.0.0/24", "--endpoint-reconciler-type", "none",
            "--enable-admission-plugins", "NodeRestriction,PodSecurity,ResourceQuota,LimitRanger",
            *self.api_options,
        )  # fmt: skip
        self._await("kube-apiserver", self._answers)

    def _start_controllers(self, built: Path) -> None:
        self._spawn(
            built, "kube-controller-manager", "--kubeconfig", str(self.kubeconfig("admin")),
            "--service-account-private-key-file", str(self.folder / "sa.key"), "--use-service-account-credentials",
            "--root-ca-file", str(self._certificate()), "--leader-elect=false", "--secure-port", "0",
            "--concurrent-resource-quota-syncs", "10",
        )  # fmt: skip

    def _start_nodes(self, built: Path) -> None:
        stages = [part for stage in sorted((HERE / "stages").glob("*.yaml")) for part in ("--config", str(stage))]
        self._spawn(
            built, "kwok", "--kubeconfig", str(self.kubeconfig("admin")), "--manage-all-nodes=false",
            "--manage-nodes-with-label-selector", NOT_SILENT, "--node-lease-duration-seconds", "40",
            "--server-address", f"{LOOPBACK}:{self._port('kwok')}", *stages,
        )  # fmt: skip
        client = self.client()
        for document in nodes.documents(self.node_groups):
            client.send("POST", "/api/v1/nodes", document)
        self._await("kwok", self._nodes_ready)

    # --- inside ---

    def _answers(self) -> bool:
        certificate = self._certificate()
        return certificate.exists() and self.client().ask("GET", "/readyz").status == 200

    def _nodes_ready(self) -> bool:
        items = self.client().send("GET", "/api/v1/nodes")["items"]
        wanted = sum(group.count for group in self.node_groups)
        return len(items) >= wanted and all(nodes.is_ready(item) for item in items)

    def _await(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + READY_S
        while not ready():
            late = time.monotonic() > deadline
            if late or any(self._children.has_ended(each) for each in self._children.names()):
                said = self._log(name).read_text(errors="replace").strip().splitlines()[-1:] or ["nothing"]
                raise PlaneError(
                    f"{name} did not come up{f' in {READY_S:.0f} s' if late else ''}; it said: {said[0][:300]}"
                )
            time.sleep(0.05)

    def _spawn(self, built: Path, name: str, *arguments: str) -> None:
        # Nothing of it is kept, so nothing has to end in an orderly way; an API server would take its time.
        command = [str(built / name), *arguments]
        self._children.start(Child(name, command, self._log(name), folder=self.folder, stop_signal=signal.SIGKILL))

    def _log(self, name: str) -> Path:
        return self.folder / "log" / f"{name}.log"

    def _port(self, of: str) -> int:
        return self._ports.setdefault(of, free_port())

    def _certificate(self) -> Path:
        """The API server signs its own: it is its own authority."""
        return self.folder / "certs" / "apiserver.crt"

    def _kubeconfig(self, user: str) -> dict[str, Any]:
        cluster = {"server": self.url, "certificate-authority": str(self._certificate())}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "testplane", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": user, "context": {"cluster": "testplane", "user": user}}],
            "current-context": user,
        }
