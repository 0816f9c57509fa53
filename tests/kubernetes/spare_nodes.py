"""Pretended nodes of a flavor of their own, for tests that lose, delete and taint them: nobody else's runs are there."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from testplane.api import Client
from testplane.nodes import Group, documents, is_ready

from tests.kubernetes.plane import plane

FLAVOR = "spare-80g"
CARDS = "nvidia.com/gpu"
READY_S = 60.0
_numbers = itertools.count(1)


class SpareNodes:
    """What may befall them, by the plane's own labels and as `kubectl` would do it."""

    def __init__(self, client: Client, made: dict[str, dict[str, Any]]) -> None:
        self._client, self._made = client, made

    @property
    def names(self) -> list[str]:
        return sorted(self._made)

    def silence(self, *names: str) -> None:
        self._label(names, "berth.dev/test-silent", "yes")

    def stop_being_ready(self, *names: str) -> None:
        self._label(names, "berth.dev/test-not-ready", "yes")

    def recover(self, *names: str) -> None:
        self._label(names, "berth.dev/test-silent", None)
        self._label(names, "berth.dev/test-not-ready", None)

    def delete(self, name: str) -> None:
        self._client.send("DELETE", f"/api/v1/nodes/{name}")

    def create(self, name: str) -> None:
        self._client.send("POST", "/api/v1/nodes", self._made[name])

    def change(self, name: str, document: dict[str, Any], *, status: bool = False) -> None:
        self._client.merge(f"/api/v1/nodes/{name}{'/status' if status else ''}", document)

    def read(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._client.send("GET", f"/api/v1/nodes/{name}")
        return found

    def renewed_at(self, name: str) -> datetime:
        """The last sign of life that the cluster has of it."""
        lease = self._client.send("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")
        return datetime.fromisoformat(lease["spec"]["renewTime"])

    def _label(self, names: tuple[str, ...], key: str, value: str | None) -> None:
        for name in names:
            self.change(name, {"metadata": {"labels": {key: value}}})


@contextmanager
def spare_nodes(count: int) -> Iterator[SpareNodes]:
    """So many, ready; deleted afterwards."""
    client = plane().client()
    # Names are not used again: what is left of a deleted node's lease is not its successor's.
    group = Group(f"q{next(_numbers)}-", count, FLAVOR, {CARDS: 8}, cpu=128, memory_gib=1024, racks=4)
    nodes = SpareNodes(client, {document["metadata"]["name"]: document for document in documents([group])})
    for name in nodes.names:
        nodes.create(name)
    try:
        _wait(lambda: all(is_ready(nodes.read(name)) for name in nodes.names))
        yield nodes
    finally:
        for name in nodes.names:
            client.ask("DELETE", f"/api/v1/nodes/{name}")


def _wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_S
    while not happened():
        assert time.monotonic() < deadline, "spare nodes are not ready"
        time.sleep(0.2)
