"""A run of several roles on real pods: parameter servers, workers and an evaluator that is no member of their cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scheduling.models import Job, Role, RoleFlavor, Run
from scheduling.services.cancel import cancel_job
from tenants.models import Quota
from tests.kubernetes.scene import Real, a_tenant_on_pods


@pytest.fixture
def real(committed: None) -> Iterator[Real]:
    with a_tenant_on_pods() as made:
        yield made


def add_role(real: Real, job: Job, name: str, *, position: int, in_gang: bool = True) -> None:
    like = Role.objects.get(job=job, name="worker")
    role = Role.objects.create(
        job=job, position=position, name=name, replicas=1, minimum=1, cards_m=1000, cpu_m=1000,
        memory_mib=1024, image=like.image, in_gang=in_gang,
    )  # fmt: skip
    RoleFlavor.objects.create(role=role, flavor=real.flavor, position=0)


def environment(pod: Any) -> dict[str, Any]:
    return {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}


def test_parameter_servers_find_each_other_and_the_evaluator_stands_outside_their_cluster_and_their_gang(
    real: Real,
) -> None:
    job = real.submit(cards=1, replicas=2)
    add_role(real, job, "ps", position=1)
    add_role(real, job, "evaluator", position=2, in_gang=False)

    real.until_state(job, "running")
    real.until(lambda: len(real.there("pods")) == 4, "all four pods")

    pods = {pod["metadata"]["name"]: environment(pod) for pod in real.there("pods")}
    stem = f"j{job.pk}-r1"
    configs = {name.removeprefix(f"{stem}-"): json.loads(env["TF_CONFIG"]) for name, env in pods.items()}
    address = f"{stem}-{{}}.{stem}.{real.namespace}.svc:29500"
    assert {json.dumps(config["cluster"]) for config in configs.values()} == {
        json.dumps({"ps": [address.format("ps-0")], "worker": [address.format(f"worker-{at}") for at in range(2)]})
    }
    assert {name: (config["task"]["type"], config["task"]["index"]) for name, config in configs.items()} == {
        "ps-0": ("ps", 0),
        "worker-0": ("worker", 0),
        "worker-1": ("worker", 1),
        "evaluator-0": ("evaluator", 0),
    }
    assert {env["WORLD_SIZE"] for name, env in pods.items() if "evaluator" not in name} == {"3"}
    assert "RANK" not in pods[f"{stem}-evaluator-0"]
    assert Run.objects.get(job=job).pods.filter(in_gang=False).count() == 1


def test_an_evaluator_without_room_at_the_start_joins_its_running_job_as_a_pod_of_its_own(real: Real) -> None:
    """SCH-09: nothing of the run is made again, and what it joins goes on."""
    Quota.objects.filter(queue=real.queue, resource="gpu").update(nominal=4000)
    before = real.submit(cards=2, replicas=1, duration="600")
    real.until_state(before, "running")
    job = real.submit(cards=2, replicas=1, duration="600")
    add_role(real, job, "evaluator", position=1, in_gang=False)
    real.until_state(job, "running")
    stem = f"j{job.pk}-r1"
    (worker,) = [pod for pod in real.there("pods") if pod["metadata"]["name"].startswith(stem)]

    cancel_job(before.user, before)
    real.until(lambda: Run.objects.get(job=job).pods.filter(phase="running").count() == 2, "the evaluator to run")

    pods = {pod["metadata"]["name"]: pod for pod in real.there("pods") if pod["metadata"]["name"].startswith(stem)}
    assert set(pods) == {f"{stem}-worker-0", f"{stem}-evaluator-0"}
    assert pods[f"{stem}-worker-0"]["metadata"]["uid"] == worker["metadata"]["uid"]
    owners = {each["uid"] for pod in pods.values() for each in pod["metadata"]["ownerReferences"]}
    assert len(owners) == 1
    assert "RANK" not in environment(pods[f"{stem}-evaluator-0"])

    cancel_job(job.user, Job.objects.get(pk=job.pk))
    real.until_state(job, "cancelled")
    real.until(lambda: real.there("pods") == [], "its pods to go")
    own = {pod.role_name: pod for pod in Run.objects.get(job=job).pods.all()}
    charged = {
        role: min(lease.segments.all(), key=lambda each: each.during.lower).during.lower
        for role, pod in own.items()
        for lease in pod.leases.order_by("slot")[:1]
    }
    assert charged == {role: pod.started_at for role, pod in own.items()}
    assert charged["evaluator"] > charged["worker"]
