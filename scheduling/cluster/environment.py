"""The environment a pod of a run finds (section 7). PURE. A job may not set what is reserved here."""

import json
from collections.abc import Iterable, Mapping

from scheduling.cluster.names import pod_name, run_name
from scheduling.cluster.run_spec import CardShare, PodSpec, RoleSpec, RunSpec

RESERVED_NAMES = frozenset({"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "TF_CONFIG"})
RESERVED_PREFIXES = ("PET_", "BERTH_")
PARAMETER_SERVER_ROLES = frozenset({"ps", "worker", "chief", "evaluator"})


def reserved_names(names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that a job may not set, in order of name."""
    return tuple(sorted(name for name in names if name in RESERVED_NAMES or name.startswith(RESERVED_PREFIXES)))


def pod_address(run: RunSpec, pod: PodSpec) -> str:
    """The stable DNS name of a pod behind the run's headless Service."""
    stem = run_name(run.job_id, run.run_number)
    return f"{pod_name(run.job_id, run.run_number, pod.role, pod.index)}.{stem}.{run.namespace}.svc"


def pod_environment(run: RunSpec, role: RoleSpec, pod: PodSpec) -> dict[str, str]:
    """Every variable of one pod, the job's own first; the platform's win."""
    return {
        **role.env,
        **_rendezvous(run, role, pod),
        **_card_share(role),
        **_identity(run),
        **_checkpoint(run),
        **_parameter_servers(run, pod),
    }


def _gang(run: RunSpec) -> tuple[PodSpec, ...]:
    return tuple(sorted((pod for pod in run.pods if pod.rank is not None), key=lambda pod: pod.rank or 0))


def _rendezvous(run: RunSpec, role: RoleSpec, pod: PodSpec) -> dict[str, str]:
    gang = _gang(run)
    if pod.rank is None or not gang:
        return {}
    address, port = pod_address(run, gang[0]), str(run.master_port)
    processes, sizes = str(max(role.cards, 1)), _sizes(run)
    return {
        "MASTER_ADDR": address,
        "MASTER_PORT": port,
        "WORLD_SIZE": str(len(gang)),
        "RANK": str(pod.rank),
        "PET_MASTER_ADDR": address,
        "PET_MASTER_PORT": port,
        "PET_NNODES": str(len(gang)) if sizes is None else f"{sizes[0]}:{sizes[1]}",
        "PET_NODE_RANK": str(pod.rank),
        "PET_NPROC_PER_NODE": processes,
        "PET_RDZV_ID": run_name(run.job_id, run.run_number),
        **({} if sizes is None else {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": f"{address}:{port}"}),
    }


def _sizes(run: RunSpec) -> tuple[int, int] | None:
    """The smallest and the largest gang of an elastic run (SCH-10); None where it has one size.

    torchrun is told the range and a rendezvous that lets agents come and go; WORLD_SIZE and RANK are those of the pod's beginning.
    """
    gang = [role for role in run.roles if role.gang and role.replicas]
    if not any(role.minimum < role.replicas for role in gang):
        return None
    return sum(role.minimum for role in gang), sum(role.replicas for role in gang)


def card_percent(share: CardShare) -> int:
    """Hundredths of its card's processors that a share may use, rounded up: MPS and device plugins count no finer."""
    return -(-share.cards_m // 10)


def _card_share(role: RoleSpec) -> dict[str, str]:
    """How NVIDIA's MPS is told of a share and of its cap on the card's memory."""
    share = role.share
    if share is None or not share.by_mps:
        return {}
    memory = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={share.vram_mib}M"} if share.vram_mib else {}
    return {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(card_percent(share)), **memory}


def _identity(run: RunSpec) -> dict[str, str]:
    return {"BERTH_JOB_ID": str(run.job_id), "BERTH_RUN": str(run.run_number), "BERTH_API": run.api_url}


def _checkpoint(run: RunSpec) -> Mapping[str, str]:
    """Each attempt writes into a folder of its own: a fenced one cannot overwrite its successor (F25)."""
    if run.checkpoint is None:
        return {}
    variables = {
        "BERTH_CHECKPOINT_DIR": f"{run.checkpoint.path.rstrip('/')}/r{run.run_number}",
        "BERTH_CHECKPOINT_INTERVAL": str(run.checkpoint.interval_s),
    }
    if run.checkpoint.resume:
        variables["BERTH_RESUME"] = "1"
    if run.checkpoint.resume_from is not None:
        variables["BERTH_RESUME_FROM"] = run.checkpoint.resume_from
    return variables


def _parameter_servers(run: RunSpec, pod: PodSpec) -> Mapping[str, str]:
    """TF_CONFIG, for runs whose roles are those of a TensorFlow cluster. The evaluator reads it but is not a member."""
    names = {role.name for role in run.roles}
    if "ps" not in names or not names <= PARAMETER_SERVER_ROLES:
        return {}
    cluster: dict[str, list[str]] = {}
    for member in sorted(run.pods, key=lambda each: (each.role, each.index)):
        if member.role != "evaluator":
            cluster.setdefault(member.role, []).append(f"{pod_address(run, member)}:{run.master_port}")
    document = {"cluster": cluster, "task": {"type": pod.role, "index": pod.index}}
    return {"TF_CONFIG": json.dumps(document, sort_keys=True)}
