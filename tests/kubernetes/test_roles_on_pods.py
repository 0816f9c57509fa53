"""A run of several roles on real pods: parameter servers, workers and an evaluator that is no member of their cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from scheduling.models import Job, Role, RoleFlavor, Run
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
