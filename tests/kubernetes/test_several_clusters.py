"""A tenant with a cluster of its own, by a reference to a kubeconfig; clusters that do not answer stop nobody else. F07, F27."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from django.core.exceptions import ValidationError

from scheduling.control.reconcile import reconcile_clusters
from scheduling.models import Job, Node, Run
from tenants.models import Cluster, Pool
from tests.factories import a_flavor, a_job, a_node, a_pool, a_queue, a_quota, a_tenant, unique
from tests.kubernetes.scene import Real, a_tenant_on_pods

SIDE_BY_SIDE_S = 3.0
"""A hanging cluster's own time-outs are five seconds each, and four lists make a look."""


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


@pytest.fixture
def addresses() -> Iterator[dict[str, str]]:
    """One that takes connections and says nothing, one where nobody listens."""
    with ExitStack() as sockets:
        hangs, closed = (sockets.enter_context(socket.socket()) for _ in range(2))
        for each in (hangs, closed):
            each.bind(("127.0.0.1", 0))
        hangs.listen(128)
        yield {
            name: f"https://127.0.0.1:{sock.getsockname()[1]}" for name, sock in (("hangs", hangs), ("closed", closed))
        }


def a_dedicated_cluster(folder: Path, name: str, server: str) -> tuple[Cluster, Job]:
    """Of one tenant, as a reference to a kubeconfig; its job was running when the cluster ceased to answer, another one waits."""
    path = folder / f"{name}.kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": name, "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.write_text(yaml.safe_dump(document))
    cluster = Cluster.objects.create(name=unique(name), kind="kubernetes", credential_ref=str(path))
    tenant = a_tenant(isolation="dedicated")
    pool = a_pool(cluster=cluster, tenant=tenant)
    Pool.objects.filter(pk=pool.pk).update(sharing=Pool.Sharing.DEDICATED)
    flavor = a_flavor(pool=pool)
    a_node(flavor=flavor)
    queue = a_queue(tenant=tenant, pool=flavor.pool, default_tier="production")
    a_quota(queue, flavor=flavor, nominal=8)
    return cluster, a_job(queue, flavor=flavor, gpu=8, cpu=4, memory_gib=8)


@pytest.mark.parametrize("reference", ["apiVersion: v1", "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "/etc/berth/a\ntoken: t"])
def test_a_credential_itself_is_refused_where_a_reference_belongs(reference: str) -> None:
    cluster = Cluster(name="a", kind="kubernetes", credential_ref=reference)

    with pytest.raises(ValidationError, match="never what stands in it"):
        cluster.full_clean(validate_unique=False, validate_constraints=False)
    cluster.credential_ref = "/etc/berth/clusters/ext-d.kubeconfig"
    cluster.full_clean(validate_unique=False, validate_constraints=False)


def test_clusters_that_hang_or_refuse_stop_nobody_else(real: Real, addresses: dict[str, str], tmp_path: Path) -> None:
    """F07, F27."""
    theirs = [a_dedicated_cluster(tmp_path, name, addresses[name]) for name in ("hangs", "hangs", "hangs", "closed")]
    ours = real.flavor.pool.cluster
    job = real.submit(cards=4, replicas=1, duration="2")

    looked, slowest = 0, 0.0
    deadline = time.monotonic() + 60
    while Job.objects.get(pk=job.pk).state != "succeeded":
        assert time.monotonic() < deadline, "our job waits for others' clusters"
        began = time.monotonic()
        real.observer.observe_all()
        slowest, looked = max(slowest, time.monotonic() - began), looked + 1
        assert real.loop.turn() is not None
        time.sleep(0.2)
    while Cluster.objects.exclude(pk=ours.pk).filter(reachable=True).exists():
        assert time.monotonic() < deadline, "nobody says that the clusters do not answer"
        real.observer.observe_all()
        real.loop.turn()
        time.sleep(0.2)
    began = time.monotonic()
    reconcile_clusters()
    slowest = max(slowest, time.monotonic() - began)

    assert slowest <= SIDE_BY_SIDE_S + 2 * real.slowest_turn_s
    assert Cluster.objects.get(pk=ours.pk).reachable
    assert all(Cluster.objects.get(pk=cluster.pk).last_error for cluster, _job in theirs)
    assert not Node.objects.filter(state="lost").exists()
    assert not Run.objects.filter(job__in=[each for _cluster, each in theirs], state="ended").exists()
