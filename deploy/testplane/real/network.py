"""The network of real nodes: a bridge in a namespace of its own that the machine and every node hang on.

Everything is bound to processes: when the bridge's holder or a node ends, its interfaces and routes go with it. No address
is translated and nothing is forwarded by the machine itself: it reaches nodes and pods, and they reach it, and that is all.
"""

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from berth.localstack.children import Child, Children

SLOTS = 64
NODES_A_SLOT = 4
"""Addresses are of 198.18.0.0/15, which is kept for tests like this one; each plane on a machine takes another part."""
_NAMESPACE_S = 20.0
_LOOK_S = 0.01
HOLDER = "network"
UPLINK = "eth0"


class NetworkError(RuntimeError):
    """What the kernel refused, in one line."""


@dataclass(frozen=True, slots=True)
class Network:
    """One plane's part of the addresses; `holder` is the process whose namespace has the bridge."""

    slot: int
    holder: int

    @property
    def machine(self) -> str:
        """Where nodes and pods find the API server and the platform."""
        return f"198.18.{self.slot}.1"

    @property
    def names(self) -> str:
        """Where pods ask for names: an address of the bridge's own namespace, in which no other server answers."""
        return f"198.18.{self.slot}.2"

    def beside_bridge(self, *command: str) -> list[str]:
        """A command line that runs in the bridge's namespace."""
        return ["nsenter", f"--net=/proc/{self.holder}/ns/net", *command]

    def node(self, index: int) -> str:
        return f"198.18.{self.slot}.{11 + index}"

    def pods(self, index: int) -> str:
        """The addresses of one node's pods."""
        return f"198.19.{self.slot * NODES_A_SLOT + index}.0/24"

    def plug(self, index: int, pid: int) -> None:
        """Hang a node on the bridge: `pid` is the process that has its namespace. Raises NetworkError."""
        await_namespace(pid)
        port = f"node{index}"
        inside = ["nsenter", f"--net=/proc/{pid}/ns/net"]
        # A dead node's end of the cable is gone a moment after its last process.
        _within(self.holder, "link", "del", port, may_fail=True)
        _within(self.holder, "link", "add", port, "type", "veth", "peer", "name", UPLINK, "netns", str(pid))
        _within(self.holder, "link", "set", port, "master", "bridge", "up")
        _run(*inside, "ip", "link", "set", "lo", "up")
        _run(*inside, "ip", "addr", "add", f"{self.node(index)}/24", "dev", UPLINK)
        _run(*inside, "ip", "link", "set", UPLINK, "up")
        for other in range(NODES_A_SLOT):
            if other != index:
                _run(*inside, "ip", "route", "add", self.pods(other), "via", self.node(other))


def lay(children: Children, folder: Path) -> Network:
    """Make the bridge and hang this machine on it, with the first part of the addresses that nobody uses. Raises NetworkError."""
    command = ["unshare", "--net", "sleep", "infinity"]
    children.start(Child(HOLDER, command, folder / "log" / f"{HOLDER}.log", folder=folder, stop_signal=signal.SIGKILL))
    holder = children.pid(HOLDER)
    await_namespace(holder)
    _within(holder, "link", "add", "bridge", "type", "bridge")
    _within(holder, "link", "set", "bridge", "up")
    for slot in range(SLOTS):
        name = f"berth{slot}"
        taken = _run(
            "ip", "link", "add", name, "type", "veth", "peer", "name", "machine", "netns", str(holder), may_fail=True
        )
        if taken is None:
            break
        if "exists" not in taken:
            raise NetworkError(taken)
    else:
        raise NetworkError(f"all {SLOTS} parts of the test addresses are in use on this machine")
    network = Network(slot, holder)
    _within(holder, "link", "set", "machine", "master", "bridge", "up")
    _within(holder, "link", "set", "lo", "up")
    _within(holder, "addr", "add", f"{network.names}/24", "dev", "bridge")
    _run("ip", "addr", "add", f"{network.machine}/24", "dev", name)
    _run("ip", "link", "set", name, "up")
    for index in range(NODES_A_SLOT):
        way = ("route", "add", network.pods(index), "via", network.node(index))
        _run("ip", *way)
        _within(holder, *way)
    return network


def await_namespace(pid: int) -> None:
    """Until the process has a network of its own. Raises NetworkError."""
    ours, deadline = Path("/proc/self/ns/net").readlink(), time.monotonic() + _NAMESPACE_S
    while True:
        try:
            if Path(f"/proc/{pid}/ns/net").readlink() != ours:
                return
        except OSError:
            raise NetworkError("a namespace could not be made: its process ended") from None
        if time.monotonic() > deadline:
            raise NetworkError(f"no network namespace was made in {_NAMESPACE_S:.0f} s")
        time.sleep(_LOOK_S)


def _within(holder: int, *words: str, may_fail: bool = False) -> None:
    _run("nsenter", f"--net=/proc/{holder}/ns/net", "ip", *words, may_fail=may_fail)


def _run(*command: str, may_fail: bool = False) -> str | None:
    """What was refused, or None. Raises NetworkError unless that may be."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_NAMESPACE_S)
    if done.returncode == 0:
        return None
    said = f"{' '.join(command)}: {done.stderr.strip() or done.returncode}"
    if not may_fail:
        raise NetworkError(said)
    return said
