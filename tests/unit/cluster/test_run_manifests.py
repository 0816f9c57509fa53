"""What a run's documents must be for a real Kubernetes to take them (DESIGN section 7)."""

import json
from typing import Any

import pytest

from scheduling.cluster.manifests import ManifestError, build_run, own_by_service
from scheduling.cluster.names import parse_pod_name, pod_name
from scheduling.cluster.run_spec import CheckpointSpec, PodSpec, VolumeMount
from tests.unit.cluster.builders import a_role, a_spec


def env_of(pod: Any) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in pod["spec"]["containers"][0]["env"]}


def test_a_run_is_a_headless_service_and_one_pinned_pod_a_rank() -> None:
    run = build_run(a_spec(nodes=("n3", "n1")))

    assert run.service["metadata"]["name"] == "j7-r1"
    assert run.service["spec"]["clusterIP"] == "None"
    assert run.service["spec"]["publishNotReadyAddresses"] is True
    assert [pod["metadata"]["name"] for pod in run.pods] == ["j7-r1-worker-0", "j7-r1-worker-1"]
    assert [pod["spec"]["nodeName"] for pod in run.pods] == ["n3", "n1"]


def test_a_pod_meets_the_restricted_pod_security_level() -> None:
    pod = build_run(a_spec()).pods[0]
    security, container = pod["spec"]["securityContext"], pod["spec"]["containers"][0]["securityContext"]

    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & set(pod["spec"])


def test_every_rank_finds_rank_zero_and_the_size_of_its_world() -> None:
    first, second = build_run(a_spec(nodes=("n0", "n1"))).pods

    want_address = "j7-r1-worker-0.j7-r1.algo-a-prod.svc"
    assert env_of(first)["MASTER_ADDR"] == env_of(second)["MASTER_ADDR"] == want_address
    assert env_of(second)["RANK"] == env_of(second)["PET_NODE_RANK"] == "1"
    assert env_of(second)["WORLD_SIZE"] == env_of(second)["PET_NNODES"] == "2"
    assert env_of(second)["PET_NPROC_PER_NODE"] == "8"
    assert second["spec"]["hostname"] == "j7-r1-worker-1"
    assert second["spec"]["subdomain"] == "j7-r1"


def test_an_elastic_run_tells_torchrun_its_range_and_where_its_agents_meet() -> None:
    """SCH-10: two pods now, one to four in all."""
    first, second = build_run(a_spec(nodes=("n0", "n1"), role=a_role(replicas=4, minimum=1))).pods

    assert env_of(second)["PET_NNODES"] == "1:4"
    assert (env_of(second)["WORLD_SIZE"], env_of(second)["RANK"]) == ("2", "1")
    assert env_of(second)["PET_RDZV_BACKEND"] == "c10d"
    assert env_of(second)["PET_RDZV_ENDPOINT"] == f"{env_of(first)['MASTER_ADDR']}:{env_of(first)['MASTER_PORT']}"


def test_a_role_outside_the_gang_has_no_rank_and_is_not_counted() -> None:
    spec = a_spec(
        roles=(a_role(), a_role(name="evaluator", gang=False)),
        pods=(PodSpec("worker", 0, 0, "n0"), PodSpec("evaluator", 0, None, "n1")),
    )

    worker, evaluator = build_run(spec).pods

    assert env_of(worker)["WORLD_SIZE"] == "1"
    assert "RANK" not in env_of(evaluator)
    assert "berth.dev/rank" not in evaluator["metadata"]["labels"]


def test_requests_are_charged_and_cards_stand_under_the_flavors_resource_name() -> None:
    role = a_role(resource_name="huawei.com/Ascend910", cards=4, cpu_limit_millicores=16_000, memory_limit_mib=131_072)

    resources = build_run(a_spec(role=role)).pods[0]["spec"]["containers"][0]["resources"]

    assert resources["requests"] == {"cpu": "8000m", "memory": "65536Mi", "huawei.com/Ascend910": "4"}
    assert resources["limits"] == {"cpu": "16000m", "memory": "131072Mi", "huawei.com/Ascend910": "4"}


def test_labels_say_whose_pod_it_is_and_keep_the_jobs_own_apart() -> None:
    pod = build_run(a_spec(labels={"project": "x", "berth.dev/sim-duration": "120"})).pods[0]

    labels = pod["metadata"]["labels"]
    assert labels["berth.dev/tenant"] == "algo-a"
    assert labels["berth.dev/job"] == "7"
    assert labels["berth.dev/run"] == "1"
    assert labels["berth.dev/tier"] == "production"
    assert labels["label.berth.dev/project"] == "x"
    assert labels["berth.dev/sim-duration"] == "120"
    assert pod["metadata"]["annotations"]["berth.dev/run-proof"] == "proof-7-1"


def test_each_attempt_saves_into_a_folder_of_its_own_and_knows_where_to_resume() -> None:
    """F25."""
    checkpoint = CheckpointSpec("/ckpt/", 300, resume=True, resume_from="/ckpt/r1")

    env = env_of(build_run(a_spec(run=2, checkpoint=checkpoint)).pods[0])

    assert env["BERTH_CHECKPOINT_DIR"] == "/ckpt/r2"
    assert env["BERTH_RESUME"] == "1"
    assert env["BERTH_RESUME_FROM"] == "/ckpt/r1"
    assert env["BERTH_CHECKPOINT_INTERVAL"] == "300"


def test_the_run_token_is_read_from_a_secret_and_stands_in_no_plain_env() -> None:
    run = build_run(a_spec(token="s3cret"))

    assert run.secret is not None
    assert run.secret["stringData"] == {"token": "s3cret"}
    assert "s3cret" not in json.dumps(list(run.pods))
    reference = next(item for item in run.pods[0]["spec"]["containers"][0]["env"] if item["name"] == "BERTH_RUN_TOKEN")
    assert reference["valueFrom"]["secretKeyRef"] == {"name": "j7-r1-token", "key": "token"}


def test_parameter_servers_get_a_tf_config_without_the_evaluator() -> None:
    roles = (a_role(name="ps"), a_role(), a_role(name="evaluator", gang=False))
    pods = (PodSpec("ps", 0, 0, "n0"), PodSpec("worker", 0, 1, "n1"), PodSpec("evaluator", 0, None, "n2"))

    documents = build_run(a_spec(roles=roles, pods=pods)).pods

    config = json.loads(env_of(documents[2])["TF_CONFIG"])
    assert config["task"] == {"type": "evaluator", "index": 0}
    assert sorted(config["cluster"]) == ["ps", "worker"]


def test_everything_wrong_is_refused_at_once() -> None:
    role = a_role(env={"RANK": "0", "PET_X": "1", "LR": "1"}, run_as_user=0)

    with pytest.raises(ManifestError) as caught:
        build_run(a_spec(role=role, labels={"berth.dev/tenant": "b", "bad/key": "1", "note": "not a label!"}))

    assert caught.value.problems == (
        "labels.bad/key: illegal-key",
        "labels.berth.dev/tenant: reserved",
        "labels.note: illegal-value",
        "roles.worker.env.PET_X: reserved",
        "roles.worker.env.RANK: reserved",
        "roles.worker.run_as_user: root",
    )


def test_volumes_and_shared_memory_are_mounted() -> None:
    role = a_role(volumes=(VolumeMount("data", "/data", read_only=True),), shm_mib=16_384)

    spec = build_run(a_spec(role=role)).pods[0]["spec"]

    assert spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data", "readOnly": True}
    assert spec["volumes"][1]["emptyDir"] == {"medium": "Memory", "sizeLimit": "16384Mi"}
    assert [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]] == ["/data", "/dev/shm"]  # noqa: S108


def test_the_service_owns_what_must_go_with_it() -> None:
    run = build_run(a_spec())

    owned = own_by_service(dict(run.pods[0]), service_name=run.name, service_uid="u-1")

    assert owned["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert "ownerReferences" not in run.pods[0]["metadata"]


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("j12-r3-param-server-4", (12, 3, "param-server", 4)),
        ("j12-r3-worker", None),
        ("web-0", None),
        ("j12-r3-Worker-0", None),
    ],
)
def test_only_names_that_berth_gives_are_read_back(name: str, want: tuple[int, int, str, int] | None) -> None:
    parsed = parse_pod_name(name)

    assert (None if parsed is None else (parsed.job, parsed.run, parsed.role, parsed.index)) == want
    if want is not None:
        assert pod_name(*want) == name
