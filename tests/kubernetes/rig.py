"""The rig of the Kubernetes adapter for the contract tests: a real API server, real time, pretended nodes."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from testplane.api import Client

from scheduling.cluster.faults import FaultRule
from scheduling.cluster.kube import KubernetesCluster
from scheduling.cluster.kube_nodes import UNHEALTHY_CARDS
from scheduling.cluster.port import ClusterPort, ResultKind
from scheduling.cluster.tenant_objects import TenantSpace, tenant_objects
from tests.kubernetes.faulty_calls import FaultyCalls
from tests.kubernetes.plane import plane

NAMESPACE = "algo-a-prod"
LOOK_S = 0.1
SETTLED_S = 60.0
NODES = ("n0", "n1")


class KubernetesRig:
    """`pass_time` really waits."""

    slack = timedelta(seconds=12)
    """Instants are the cluster's own, in whole seconds; a node's silence is known to one heartbeat."""

    def __init__(self, client: Client, calls: FaultyCalls) -> None:
        self._client, self._calls = client, calls
        self.port: ClusterPort = KubernetesCluster("contract", now=self.now, calls=calls)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait_until(self, happened: Callable[[], bool], *, within: float) -> None:
        """As soon as it has happened; a test that goes on too early fails by itself."""
        deadline = time.monotonic() + within
        while not happened() and time.monotonic() < deadline:
            time.sleep(LOOK_S)

    def plan_fault(self, rule: FaultRule) -> None:
        self._calls.plan(rule)

    def silence(self, node: str) -> None:
        self._label(node, "berth.dev/test-silent", "yes")

    def stop_being_ready(self, node: str) -> None:
        self._label(node, "berth.dev/test-not-ready", "yes")
        self._await_ready(node, wanted=False)

    def recover(self, node: str) -> None:
        self._label(node, "berth.dev/test-silent", None)
        self._label(node, "berth.dev/test-not-ready", None)
        self._await_ready(node, wanted=True)

    def break_card(self, node: str, index: int) -> None:
        self._client.merge(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {UNHEALTHY_CARDS: str(index)}}})

    def clean(self) -> None:
        """As it was before: no run, every node well."""
        for node in NODES:
            self._client.merge(f"/api/v1/nodes/{node}", {"metadata": {"annotations": {UNHEALTHY_CARDS: None}}})
            self.recover(node)
        for plural in ("services", "pods"):
            everything = f"/api/v1/namespaces/{NAMESPACE}/{plural}"
            self._client.send("DELETE", everything, {"gracePeriodSeconds": 0})
            self.wait_until(lambda path=everything: not self._client.send("GET", path)["items"], within=SETTLED_S)  # type: ignore[misc]

    def _label(self, node: str, key: str, value: str | None) -> None:
        self._client.merge(f"/api/v1/nodes/{node}", {"metadata": {"labels": {key: value}}})

    def _await_ready(self, node: str, *, wanted: bool) -> None:
        def is_so() -> bool:
            found: Any = {each.name: each.ready for each in self.port.list_nodes(timeout_s=2).items}
            return bool(found[node]) is wanted

        self.wait_until(is_so, within=SETTLED_S)


@contextmanager
def kubernetes_rig() -> Iterator[KubernetesRig]:
    """A rig on this process's control plane, whose namespace is empty before and after."""
    shared = plane()
    rig = KubernetesRig(shared.client(), FaultyCalls(str(shared.kubeconfig())))
    _open_namespace(rig.port)
    try:
        yield rig
    finally:
        rig.clean()


def _open_namespace(port: ClusterPort) -> None:
    """As every tenant's, by Berth itself, and only once it can take pods."""
    spaces = port.spaces
    assert spaces is not None
    namespace, *inside = tenant_objects(TenantSpace("algo-a", "prod", {"nvidia.com/gpu": 16}))
    spaces.create_object(namespace, timeout_s=SETTLED_S)
    for result in port.apply_objects([namespace, *inside], timeout_s=SETTLED_S):
        assert result.kind in (ResultKind.CREATED, ResultKind.ACCEPTED), result.message
    deadline = time.monotonic() + SETTLED_S
    while (answer := spaces.check_space(NAMESPACE, timeout_s=SETTLED_S)).kind is not ResultKind.ACCEPTED:
        assert time.monotonic() < deadline, answer.message
        time.sleep(LOOK_S)
