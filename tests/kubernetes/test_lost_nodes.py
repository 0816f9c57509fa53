"""Nodes of a real control plane that fall silent, say so, are deleted or come and go, and what becomes of the runs on them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from scheduling.models import Job, LeaseSegment, Node, Pod, Run
from scheduling.selectors.cluster_state import cluster_state
from scheduling.selectors.job_events import job_events
from tenants.models import Notification
from tests.factories import a_platform_admin
from tests.kubernetes.scene import Real, a_tenant_on_pods
from tests.kubernetes.spare_nodes import FLAVOR, SpareNodes, spare_nodes

REPLACED_WITHIN_S = 30.0
NODES = 16
"""Of which four may be lost in a minute."""


@pytest.fixture
def nodes() -> Iterator[SpareNodes]:
    with spare_nodes(NODES) as made:
        yield made


@pytest.fixture
def real(committed: None, nodes: SpareNodes) -> Iterator[Real]:
    with a_tenant_on_pods(FLAVOR, nominal=NODES * 8) as made:
        yield made
        nodes.recover(*_there(nodes))


def _there(nodes: SpareNodes) -> list[str]:
    return [name for name in nodes.names if name in set(Node.objects.values_list("name", flat=True))]


def limit_s(real: Real) -> float:
    """Thirty seconds where a turn takes less than one, as it does when the machine is not busy with something else."""
    return REPLACED_WITHIN_S + max(0.0, 3 * real.slowest_turn_s - 3.0)


def homes(run: Run) -> list[str]:
    return sorted(run.pods.values_list("node__name", flat=True))


@pytest.mark.slow
def test_runs_of_lost_nodes_start_elsewhere_in_time_and_never_come_back(real: Real, nodes: SpareNodes) -> None:
    """F24, F25, F11, B14."""
    jobs = [real.submit(cards=8, replicas=1) for _ in range(3)]
    gang = real.submit(cards=8, replicas=2)
    everybody = [*jobs, gang]
    for job in everybody:
        real.until_state(job, "running")
    first = {job.pk: Run.objects.get(job=job) for job in everybody}
    silent, not_ready, deleted = (homes(first[job.pk])[0] for job in jobs)
    of_gang = homes(first[gang.pk])[1]
    old_pod = real.there("pods")[[pod["spec"]["nodeName"] for pod in real.there("pods")].index(silent)]
    began = datetime.now(UTC)
    nodes.silence(silent, of_gang)
    nodes.stop_being_ready(not_ready)
    nodes.delete(deleted)

    second: dict[int, Run] = {}
    placed_at: dict[int, datetime] = {}

    def all_replaced() -> bool:
        for run in Run.objects.filter(job__in=everybody, number=2, state__in=["starting", "running"]):
            placed_at.setdefault(run.job_id, datetime.now(UTC))
            second[run.job_id] = run
        return len(second) == len(everybody)

    real.until(all_replaced, "the replacements")

    lost = {silent, not_ready, deleted, of_gang}
    last_sign = {jobs[0].pk: nodes.renewed_at(silent), gang.pk: nodes.renewed_at(of_gang)}
    took = {job: (at - last_sign.get(job, began)).total_seconds() for job, at in placed_at.items()}
    assert max(took.values()) <= limit_s(real), took
    for job in everybody:
        run = Run.objects.get(pk=first[job.pk].pk)
        assert (run.state, run.end_reason, run.fenced) == ("ended", "node-lost", True)
        assert not lost & set(homes(second[job.pk]))
        assert Job.objects.get(pk=job.pk).node_losses == 1
        assert Job.objects.get(pk=job.pk).order_at == job.order_at
        assert _after_last_sign_is_not_charged(run)
    assert _what_the_tenant_is_told(jobs[0]) == (f"{silent}: silent", {silent})
    assert _what_the_tenant_is_told(jobs[1])[0] == f"{not_ready}: not-ready"
    assert _what_the_tenant_is_told(jobs[2])[0] == f"{deleted}: deleted"

    done = {"status": {"phase": "Succeeded", "containerStatuses": []}}
    real.client.merge(f"/api/v1/namespaces/{real.namespace}/pods/{old_pod['metadata']['name']}/status", done)
    nodes.create(deleted)
    nodes.recover(silent, not_ready, of_gang)
    real.until(lambda: set(Node.objects.values_list("state", flat=True)) == {"ready"}, "the nodes' return")

    assert sorted(pod["metadata"]["labels"]["berth.dev/run"] for pod in real.there("pods")) == ["2"] * 5
    assert Run.objects.filter(job__in=everybody).count() == 2 * len(everybody)
    assert {Job.objects.get(pk=job.pk).state for job in everybody} == {"running"}
    assert Run.objects.get(pk=first[jobs[0].pk].pk).end_reason == "node-lost"


def _after_last_sign_is_not_charged(run: Run) -> bool:
    charged = LeaseSegment.objects.filter(lease__run=run, kind="billable")
    return run.last_sign_at is not None and all(each.during.upper <= run.last_sign_at for each in charged)


def _what_the_tenant_is_told(job: Job) -> tuple[str, set[str]]:
    events = [event.message for event in job_events(job) if event.kind == "run" and event.reason == "node-lost"]
    told = Notification.objects.filter(tenant=job.tenant, code="node-lost", job_id=job.pk)
    return events[0], {message.params["node"] for message in told}


@pytest.mark.slow
def test_all_nodes_silent_at_once_end_little_are_told_of_and_go_on_when_they_return(
    real: Real, nodes: SpareNodes
) -> None:
    """F27."""
    jobs = [real.submit(cards=8, replicas=1) for _ in range(NODES)]
    for job in jobs:
        real.until_state(job, "running")
    nodes.silence(*nodes.names)

    real.until(lambda: "losses-held" in cluster_state(a_platform_admin()).degraded, "the alarm")
    lost = set(Node.objects.filter(state="lost").values_list("name", flat=True))
    assert len(lost) == NODES * 30 // 100
    nodes.recover(*nodes.names)
    real.until(lambda: set(Node.objects.values_list("state", flat=True)) == {"ready"}, "the nodes' return")
    real.until(lambda: Job.objects.filter(state="running").count() == NODES, "the runs that were ended")

    assert "losses-held" not in cluster_state(a_platform_admin()).degraded
    kept = Run.objects.filter(number=1, state="running")
    assert kept.count() == NODES - len(lost)
    assert not Pod.objects.filter(run__in=kept, node__name__in=lost).exists()


def test_a_node_that_comes_and_goes_keeps_its_run_and_gets_nothing_new_for_a_while(
    real: Real, nodes: SpareNodes
) -> None:
    """F26."""
    job = real.submit(cards=8, replicas=1)
    real.until_state(job, "running")
    home = Run.objects.get(job=job).pods.get().node

    for _ in range(3):
        nodes.stop_being_ready(home.name)
        real.until(lambda: Node.objects.get(pk=home.pk).state == "not-ready", "the node's going")
        nodes.recover(home.name)
        real.until(lambda: Node.objects.get(pk=home.pk).state == "ready", "the node's return")

    home.refresh_from_db()
    assert (home.flaps, Run.objects.get(job=job).state) == (3, "running")
    assert home.quarantined_until is not None
    others = [real.submit(cards=8, replicas=1) for _ in range(NODES)]
    real.until(lambda: Run.objects.filter(job__in=others).count() == NODES - 1, "the others")
    real.turn()
    assert not Pod.objects.filter(run__job__in=others, node=home).exists()
    assert Job.objects.filter(pk__in=[other.pk for other in others], state="queued").count() == 1
