"""One tenant on the real control plane, with one process's loop and observer: what tests of real pods begin from."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from testplane.api import Client

from scheduling.cluster.port import ResultKind
from scheduling.control.clusters import port_of
from scheduling.control.loop import Loop
from scheduling.control.observe import Observer
from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Job, Node, WaitReason
from tenants.models import Cluster, Flavor, Queue
from tests.factories import a_flavor, a_job, a_pool, a_queue, a_quota, a_tenant, unique
from tests.kubernetes.plane import plane

SETTLED_S = 60.0


@dataclass
class Real:
    """One pool of one flavor on the real control plane, one tenant with a queue; one process's loop and observer."""

    client: Client
    flavor_name: str = "a100-80g"
    nominal: int = 16
    slowest_turn_s: float = 0.0
    flavor: Flavor = field(init=False)
    queue: Queue = field(init=False)
    loop: Loop = field(default_factory=lambda: Loop(holder="first"))
    observer: Observer = field(default_factory=Observer)

    def __post_init__(self) -> None:
        kubeconfig = str(plane().kubeconfig())
        cluster = Cluster.objects.create(name=unique("kube"), kind="kubernetes", credential_ref=kubeconfig)
        self.flavor = a_flavor(self.flavor_name, pool=a_pool(cluster=cluster))
        self.queue = a_queue(tenant=a_tenant(), pool=self.flavor.pool, default_tier="development")
        a_quota(self.queue, flavor=self.flavor, nominal=self.nominal)

    @property
    def namespace(self) -> str:
        return self.namespace_of(self.queue)

    def namespace_of(self, queue: Queue) -> str:
        return f"{queue.tenant.slug}-{queue.environment}"

    def submit(
        self,
        *,
        cards: int = 4,
        replicas: int = 2,
        queue: Queue | None = None,
        tier: str = "development",
        **labels: str,
    ) -> Job:
        """A job of the tenant's queue, or of another one; `labels` are those of pretended pods."""
        named = {f"berth.dev/sim-{key.replace('_', '-')}": value for key, value in labels.items()}
        return a_job(
            queue or self.queue,
            tier=tier,
            flavor=self.flavor,
            gpu=cards,
            replicas=replicas,
            cpu=4,
            memory_gib=8,
            labels=named,
            max_restarts=0,
        )

    def turn(self) -> None:
        began = time.monotonic()
        self.observer.observe(self.flavor.pool.cluster)
        assert self.loop.turn() is not None
        self.slowest_turn_s = max(self.slowest_turn_s, time.monotonic() - began)

    def until(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SETTLED_S
        while not happened():
            assert time.monotonic() < deadline, f"waited {SETTLED_S:.0f} s for {what}; {_state()}"
            self.turn()
            time.sleep(0.2)

    def until_state(self, job: Job, *states: str) -> None:
        self.until(lambda: Job.objects.get(pk=job.pk).state in states, f"{states}, not {job.state}")

    def until_ready(self, namespace: str = "") -> None:
        """Runs may be sent to the tenant's namespace, or to another one."""
        spaces = port_of(self.flavor.pool.cluster).spaces
        assert spaces is not None
        deadline = time.monotonic() + SETTLED_S
        while (answer := spaces.check_space(namespace or self.namespace, timeout_s=5)).kind is not ResultKind.ACCEPTED:
            assert time.monotonic() < deadline, answer.message
            time.sleep(0.1)

    def there(self, plural: str) -> list[Any]:
        return list(self.client.send("GET", f"/api/v1/namespaces/{self.namespace}/{plural}")["items"])


def _state() -> str:
    """What a test that waited in vain shows."""
    nodes = Counter(Node.objects.values_list("state", flat=True))
    waits = Counter(WaitReason.objects.filter(until__isnull=True).values_list("code", flat=True))
    said = list(Job.objects.exclude(backoff_message="").values_list("backoff_message", flat=True)[:3])
    return f"nodes {dict(nodes)}, jobs wait {dict(waits)}, refused {said}"


@contextmanager
def a_tenant_on_pods(flavor: str = "a100-80g", *, nominal: int = 16, kind: type[Real] | None = None) -> Iterator[Real]:
    """With its namespace made and the nodes of the flavor found; nothing of it is left afterwards."""
    made = (kind or Real)(plane().client(), flavor, nominal)
    reconcile_tenants()
    made.turn()
    made.turn()
    # With the cards of the nodes that were found meanwhile.
    reconcile_tenants()
    made.until_ready()
    try:
        yield made
    finally:
        queues = Queue.objects.filter(pool=made.flavor.pool).select_related("tenant")
        for namespace in {made.namespace_of(queue) for queue in queues}:
            for plural in ("services", "pods"):
                made.client.ask("DELETE", f"/api/v1/namespaces/{namespace}/{plural}", {"gracePeriodSeconds": 0})
            made.client.ask("DELETE", f"/api/v1/namespaces/{namespace}")
