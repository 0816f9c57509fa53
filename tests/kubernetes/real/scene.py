"""Two tenants on three real nodes, one lending to the other, with one process's loop and observer; jobs are Python programs."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from testplane.api import Client
from testplane.real.images import PYTHON

from scheduling.cluster.port import ResultKind
from scheduling.control.clusters import port_of
from scheduling.control.job_logs import JobLog, read_job_log
from scheduling.control.loop import Loop
from scheduling.control.observe import Observer
from scheduling.control.tenant_spaces import reconcile_tenants
from scheduling.models import Job, Role, Run
from scheduling.selectors.job_logs import choose_log
from tenants.models import Cluster, Flavor, Queue
from tests.factories import a_cohort, a_flavor, a_job, a_pool, a_queue, a_quota, a_tenant, unique
from tests.kubernetes.real.cluster import cluster

PROGRAMS = Path(__file__).parent / "programs"
SETTLED_S = 180.0
CARDS = 24


@dataclass
class OnNodes:
    """One pool of one flavor on the real nodes. `lender` owns all of its cards, `borrower` none; both borrow what is idle."""

    client: Client
    flavor: Flavor = field(init=False)
    lender: Queue = field(init=False)
    borrower: Queue = field(init=False)
    loop: Loop = field(default_factory=lambda: Loop(holder="first"))
    observer: Observer = field(default_factory=Observer)

    def __post_init__(self) -> None:
        kubeconfig = str(cluster().plane.kubeconfig())
        found = Cluster.objects.create(name=unique("nodes"), kind="kubernetes", credential_ref=kubeconfig)
        self.flavor = a_flavor("a100-80g", pool=a_pool(cluster=found))
        cohort = a_cohort()
        self.lender, self.borrower = (
            a_queue(tenant=a_tenant(cohort=cohort), pool=self.flavor.pool, default_tier=tier)
            for tier in ("production", "development")
        )
        a_quota(self.lender, flavor=self.flavor, nominal=CARDS)
        a_quota(self.borrower, flavor=self.flavor, nominal=0, borrowing_limit=CARDS)

    def submit(
        self,
        program: str,
        *arguments: str,
        queue: Queue | None = None,
        cards: int = 8,
        replicas: int = 1,
        role: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Job:
        """A job of the lender's, or of another queue, that runs a file of `programs/`; `role` changes its one role."""
        where = queue or self.lender
        job = a_job(where, flavor=self.flavor, gpu=cards, replicas=replicas, **{"max_restarts": 0, **fields})
        command = ["python3", "-c", (PROGRAMS / program).read_text(), *arguments]
        asked = {"image": PYTHON, "command": command, "cpu_m": 200, "memory_mib": 256}
        Role.objects.filter(job=job).update(**asked | dict(role or {}))
        return job

    def turn(self) -> None:
        self.observer.observe(self.flavor.pool.cluster)
        assert self.loop.turn() is not None

    def until(self, happened: Callable[[], bool], what: Callable[[], str]) -> None:
        deadline = time.monotonic() + SETTLED_S
        while not happened():
            assert time.monotonic() < deadline, f"waited {SETTLED_S:.0f} s: {what()}"
            self.turn()
            time.sleep(0.1)

    def until_state(self, job: Job, *states: str) -> Run:
        """The job's latest run, as soon as the job is in one of the states."""

        def how() -> str:
            now, runs = Job.objects.get(pk=job.pk), list(Run.objects.filter(job=job).values("state", "end_message"))
            pods = {pod["metadata"]["name"]: pod["status"] for pod in self.pods_of(job.queue)}
            waits = list(now.wait_reasons.values_list("code", "need", "short"))
            return f"{now.state} {waits} {now.backoff_message}, not {states}: {runs} {pods}"

        self.until(lambda: Job.objects.get(pk=job.pk).state in states, how)
        return Run.objects.filter(job=job).latest("number")

    def pods_of(self, queue: Queue) -> list[Any]:
        return list(self.client.send("GET", f"/api/v1/namespaces/{namespace(queue)}/pods")["items"])

    def log_of(self, job: Job, *, run: int | None = None, rank: int | None = None, pod: str = "") -> JobLog:
        """What a rank (the first) of the latest run wrote, or of one by its number, as the pages and the API show it."""
        asked = 0 if rank is None and not pod else rank
        return read_job_log(choose_log(Job.objects.get(pk=job.pk), run=run, rank=asked, pod=pod), tail=1000)

    def until_said(self, job: Job, words: str) -> None:
        """As soon as the job runs and its first rank wrote that."""
        self.until_state(job, "running")
        self.until(lambda: words in self.log_of(job).text, lambda: f"{words!r} in {self.log_of(job)}")

    def add_storage(self, queue: Queue, name: str) -> Path:
        """A claim in the tenant's namespace, bound to a folder that every node has, as storage on a network would be."""
        folder = cluster().folder / "storage" / unique(name)
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        asked = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": ""}
        volume = {**asked, "hostPath": {"path": str(folder)}, "persistentVolumeReclaimPolicy": "Retain"}
        head = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": folder.name}}
        self.client.send("POST", "/api/v1/persistentvolumes", {**head, "spec": volume})
        claim = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "volumeName": folder.name,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        claims = f"/api/v1/namespaces/{namespace(queue)}/persistentvolumeclaims"
        head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}}
        self.client.send("POST", claims, {**head, "spec": claim})
        _wait(lambda: self.client.send("GET", f"{claims}/{name}")["status"].get("phase") == "Bound")
        return folder


def namespace(queue: Queue) -> str:
    return f"{queue.tenant.slug}-{queue.environment}"


@contextmanager
def tenants_on_nodes() -> Iterator[OnNodes]:
    """With their namespaces made and the nodes found; no pod of theirs is left afterwards, so that all cards are free."""
    made = OnNodes(cluster().plane.client())
    reconcile_tenants()
    made.turn()
    made.turn()
    # With the cards of the nodes that were found meanwhile.
    reconcile_tenants()
    queues = (made.lender, made.borrower)
    spaces = port_of(made.flavor.pool.cluster).spaces
    assert spaces is not None
    wanted = [namespace(queue) for queue in queues]
    _wait(lambda: all(spaces.check_space(name, timeout_s=5).kind is ResultKind.ACCEPTED for name in wanted))
    try:
        yield made
    finally:
        for queue in queues:
            for plural in ("services", "pods"):
                everything = f"/api/v1/namespaces/{namespace(queue)}/{plural}"
                made.client.ask("DELETE", everything, {"gracePeriodSeconds": 1})
        _wait(lambda: not any(map(made.pods_of, queues)))
        for queue in queues:
            made.client.ask("DELETE", f"/api/v1/namespaces/{namespace(queue)}")


def _wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SETTLED_S
    while not happened():
        assert time.monotonic() < deadline, f"waited {SETTLED_S:.0f} s"
        time.sleep(0.1)
