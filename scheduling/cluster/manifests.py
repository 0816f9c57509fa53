"""What a run looks like in a cluster: a headless Service that owns one pinned, restricted pod a rank (section 7).

PURE: records in, plain documents out. The pod spec is an allow-list: nothing of a job reaches it but what is named here.
"""

import re
from typing import Any

from scheduling.cluster import names
from scheduling.cluster.environment import card_percent, pod_environment, reserved_names
from scheduling.cluster.names import pod_name, run_name, token_secret_name
from scheduling.cluster.port import RunManifests
from scheduling.cluster.run_spec import PodSpec, RoleSpec, RunSpec

Document = dict[str, Any]

_LABEL_NAME = re.compile(r"^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
_LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
_SHM_VOLUME = "shm"
_SHM_PATH = "/dev/shm"  # noqa: S108 - where NCCL looks for shared memory


class ManifestError(ValueError):
    """A run that may not be sent to a cluster: `problems` lists every reason, as `where: code`."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def build_run(run: RunSpec) -> RunManifests:
    """All documents of one run. Raises `ManifestError` with every reserved or illegal name at once."""
    problems = find_problems(run)
    if problems:
        raise ManifestError(problems)
    roles = {role.name: role for role in run.roles}
    ordered = sorted(run.pods, key=lambda pod: (pod.rank is None, pod.rank or 0, pod.role, pod.index))
    return RunManifests(
        namespace=run.namespace,
        name=run_name(run.job_id, run.run_number),
        service=_service(run),
        pods=tuple(_pod(run, roles[pod.role], pod) for pod in ordered),
        secret=_token_secret(run),
    )


def find_problems(run: RunSpec) -> tuple[str, ...]:
    """Why this run may not be sent, in a fixed order; empty when it may."""
    found = [
        f"labels.{key}: {problem}" for key in sorted(run.labels) if (problem := _label_problem(key, run.labels[key]))
    ]
    for role in run.roles:
        found += [f"roles.{role.name}.env.{name}: reserved" for name in reserved_names(role.env)]
        if role.run_as_user == 0:
            found.append(f"roles.{role.name}.run_as_user: root")
    known = {role.name for role in run.roles}
    found += [f"pods.{pod.role}-{pod.index}: unknown-role" for pod in run.pods if pod.role not in known]
    return tuple(found)


def own_by_service(document: Document, *, service_name: str, service_uid: str) -> Document:
    """A copy of a pod or Secret that the cluster removes together with the run's Service."""
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": service_name,
        "uid": service_uid,
        "blockOwnerDeletion": False,
    }
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [owner]}}


def cluster_label(key: str) -> str:
    """Where a job's label stands on its objects: `sim-*` as it is, everything else below the tenants' own prefix."""
    return key if key.startswith(names.SIM_PREFIX) else names.JOB_LABEL_PREFIX + key


def _label_problem(key: str, value: str) -> str | None:
    if key.startswith(names.PREFIX) and not key.startswith(names.SIM_PREFIX):
        return "reserved"
    if not _LABEL_NAME.match(cluster_label(key).partition("/")[2]):
        return "illegal-key"
    return None if _LABEL_VALUE.match(value) else "illegal-value"


def _run_labels(run: RunSpec) -> dict[str, str]:
    stem = run_name(run.job_id, run.run_number)
    return {
        **{cluster_label(key): value for key, value in sorted(run.labels.items())},
        "app.kubernetes.io/name": "berth-run",
        "app.kubernetes.io/instance": stem,
        "app.kubernetes.io/part-of": "berth",
        names.MANAGED_BY: names.FIELD_MANAGER,
        names.TENANT: run.tenant,
        names.QUEUE: run.queue,
        names.JOB: str(run.job_id),
        names.RUN: str(run.run_number),
        names.TIER: run.tier,
    }


def _metadata(run: RunSpec, name: str) -> Document:
    annotations = {names.RUN_PROOF: run.proof}
    return {"name": name, "namespace": run.namespace, "labels": _run_labels(run), "annotations": annotations}


def _service(run: RunSpec) -> Document:
    selector = {names.JOB: str(run.job_id), names.RUN: str(run.run_number)}
    port = {"name": "rendezvous", "port": run.master_port, "protocol": "TCP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(run, run_name(run.job_id, run.run_number)),
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": [port]},
    }


def _token_secret(run: RunSpec) -> Document | None:
    if run.token is None:
        return None
    name = token_secret_name(run.job_id, run.run_number)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": _metadata(run, name),
        "stringData": {"token": run.token},
    }


def _pod(run: RunSpec, role: RoleSpec, pod: PodSpec) -> Document:
    metadata = _metadata(run, pod_name(run.job_id, run.run_number, pod.role, pod.index))
    metadata["labels"] |= {names.ROLE: pod.role, names.INDEX: str(pod.index)}
    if pod.rank is not None:
        metadata["labels"][names.RANK] = str(pod.rank)
    if run.expected_runtime_s is not None:
        metadata["annotations"][names.EXPECTED_RUNTIME] = str(run.expected_runtime_s)
    if pod.joined_after_s is not None:
        metadata["annotations"][names.JOINED_AFTER] = str(pod.joined_after_s)
    if pod.cards:
        metadata["annotations"][names.CARDS] = ",".join(str(card) for card in pod.cards)
    if role.share is not None:
        metadata["annotations"][names.CARD_SHARE] = str(role.share.cards_m)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(run, role, pod)}


def _pod_spec(run: RunSpec, role: RoleSpec, pod: PodSpec) -> Document:
    spec: Document = {
        "nodeName": pod.node,
        "hostname": pod_name(run.job_id, run.run_number, pod.role, pod.index),
        "subdomain": run_name(run.job_id, run.run_number),
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": run.grace_s,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": _pod_security(role),
        "containers": [_container(run, role, pod)],
    }
    if run.priority_class is not None:
        spec["priorityClassName"] = run.priority_class
    if role.image_pull:
        spec["imagePullSecrets"] = [{"name": name} for name in role.image_pull]
    if volumes := _volumes(role):
        spec["volumes"] = volumes
    return spec


def _pod_security(role: RoleSpec) -> Document:
    security: Document = {
        "runAsNonRoot": True,
        "runAsUser": role.run_as_user,
        "runAsGroup": role.run_as_group,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    if role.fs_group is not None:
        security["fsGroup"] = role.fs_group
    return security


def _container(run: RunSpec, role: RoleSpec, pod: PodSpec) -> Document:
    container: Document = {
        "name": role.name,
        "image": role.image,
        "env": _env(run, role, pod),
        "resources": _resources(role),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if role.command:
        container["command"] = list(role.command)
    if role.args:
        container["args"] = list(role.args)
    if role.env_from:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in role.env_from]
    if role.ports:
        container["ports"] = [{"containerPort": port, "protocol": "TCP"} for port in role.ports]
    if mounts := _mounts(role):
        container["volumeMounts"] = mounts
    return container


def _env(run: RunSpec, role: RoleSpec, pod: PodSpec) -> list[Document]:
    env: list[Document] = [
        {"name": key, "value": value} for key, value in sorted(pod_environment(run, role, pod).items())
    ]
    if run.token is not None:
        reference = {"name": token_secret_name(run.job_id, run.run_number), "key": "token"}
        env.append({"name": "BERTH_RUN_TOKEN", "valueFrom": {"secretKeyRef": reference}})
    return env


def _resources(role: RoleSpec) -> Document:
    """Requests are what the queue is charged; cards stand in both, since Kubernetes does not over-commit them."""
    requests = {"cpu": f"{role.cpu_millicores}m", "memory": f"{role.memory_mib}Mi"}
    limits: dict[str, str] = {}
    if role.cpu_limit_millicores is not None:
        limits["cpu"] = f"{role.cpu_limit_millicores}m"
    limits["memory"] = f"{role.memory_limit_mib if role.memory_limit_mib is not None else role.memory_mib}Mi"
    if role.cards:
        requests[role.resource_name] = limits[role.resource_name] = str(role.cards)
    if role.share is not None and not role.share.by_mps:
        vendor = role.resource_name.partition("/")[0]
        parts = {f"{vendor}/gpucores": str(card_percent(role.share))}
        if role.share.vram_mib:
            parts[f"{vendor}/gpumem"] = str(role.share.vram_mib)
        requests |= parts
        limits |= parts
    return {"requests": requests, "limits": limits}


def _volumes(role: RoleSpec) -> list[Document]:
    claims: list[Document] = [
        {"name": f"claim-{i}", "persistentVolumeClaim": {"claimName": volume.claim, "readOnly": volume.read_only}}
        for i, volume in enumerate(role.volumes)
    ]
    if role.shm_mib is not None:
        claims.append({"name": _SHM_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": f"{role.shm_mib}Mi"}})
    return claims


def _mounts(role: RoleSpec) -> list[Document]:
    mounts: list[Document] = [
        {"name": f"claim-{i}", "mountPath": volume.mount, "readOnly": volume.read_only}
        for i, volume in enumerate(role.volumes)
    ]
    if role.shm_mib is not None:
        mounts.append({"name": _SHM_VOLUME, "mountPath": _SHM_PATH})
    return mounts
