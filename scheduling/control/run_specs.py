"""Rows of a run -> the pure record that manifests are built from. Reads only."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.crypto import salted_hmac

from berth.common.units import MILLI, UNITS_PER_CARD
from scheduling.cluster.run_spec import (
    DEFAULT_USER_ID,
    CardShare,
    CheckpointSpec,
    PodSpec,
    RoleSpec,
    RunSpec,
    VolumeMount,
)
from scheduling.models import Job, Lease, Pod, Role, Run
from tenants.models import Flavor
from tenants.models.pool import DEFAULT_RESOURCE

GRACE = {
    "production": timedelta(seconds=30),
    "development": timedelta(seconds=300),
    "batch": timedelta(seconds=30),
}
DEFAULT_CHECKPOINT_INTERVAL_S = 300
EARLIER_RUNS = 50


def run_token(job_id: int, number: int) -> str:
    """The run's token: the same for every repeat of a dispatch, so that a Secret made twice says the same."""
    return salted_hmac("berth.run-token", f"{job_id}/{number}", algorithm="sha256").hexdigest()


def token_digest(job_id: int, number: int) -> str:
    """What is stored of the token: from the admission on, since a pod may report before its dispatch is written down."""
    return hashlib.sha256(run_token(job_id, number).encode()).hexdigest()


def read_run_specs(runs: Sequence[Run]) -> dict[int, RunSpec]:
    """The records of several runs by run id, in a constant number of queries. Runs come with job, tenant and queue."""
    jobs = [run.job_id for run in runs]
    roles: dict[int, list[Role]] = defaultdict(list)
    for role in Role.objects.filter(job_id__in=jobs).order_by("job_id", "position"):
        roles[role.job_id].append(role)
    pods: dict[int, list[Pod]] = defaultdict(list)
    present = Pod.objects.filter(run__in=runs, released_at__isnull=True)
    for pod in present.select_related("node").order_by("run_id", "rank", "pk"):
        pods[pod.run_id].append(pod)
    cards = _cards(runs)
    return {run.pk: _spec(run, roles[run.job_id], pods[run.pk], cards, _resume_path(run)) for run in runs}


@dataclass(slots=True)
class Cards:
    """What a pod holds: card indexes in slot order, the resource name they are asked for by, and its share where it has one."""

    indexes: list[int] = field(default_factory=list)
    resource: str = DEFAULT_RESOURCE
    share: CardShare | None = None


def _cards(runs: Sequence[Run]) -> dict[int, Cards]:
    """By pod; nothing for a pod without cards."""
    cards: dict[int, Cards] = defaultdict(Cards)
    rows = Lease.objects.filter(run__in=runs, card__isnull=False).order_by("pod_id", "slot")
    columns = ("pod_id", "card__index", "flavor_id", "quantity", "vram_mib")
    flavors: dict[int | None, Flavor] = {}
    for pod, index, flavor_id, units, vram_mib in rows.values_list(*columns):
        if flavor_id not in flavors:
            flavors.update(Flavor.objects.in_bulk())
        held, mode = cards[pod], flavors[flavor_id].mode
        held.indexes.append(index)
        held.resource = flavors[flavor_id].resource or DEFAULT_RESOURCE
        if units < UNITS_PER_CARD and mode != Flavor.Mode.MIG:
            held.share = CardShare(units * MILLI // UNITS_PER_CARD, vram_mib, by_mps=mode == Flavor.Mode.SHARED)
    return cards


def _resume_path(run: Run) -> str | None:
    """What an earlier attempt says it saved last, and where none ever said so, the folder of the last one that ran."""
    if not run.resumes:
        return None
    earlier = list(Run.objects.filter(job_id=run.job_id, number__lt=run.number).order_by("-number")[:EARLIER_RUNS])
    saved = [before for before in earlier if before.checkpoint_at is not None]
    ran = [before for before in earlier if before.started_at is not None]
    before = next(iter([*saved, *ran, *earlier]), None)
    if before is None:
        return None
    return before.checkpoint_path or f"{run.job.checkpoint_path.rstrip('/')}/r{before.number}"


def _spec(
    run: Run,
    roles: Sequence[Role],
    pods: Sequence[Pod],
    cards: dict[int, Cards],
    resume_from: str | None,
) -> RunSpec:
    job = run.job
    first_pod = {pod.role_name: pod for pod in reversed(pods)}
    return RunSpec(
        job_id=job.pk,
        run_number=run.number,
        namespace=run.namespace,
        tenant=job.tenant.slug,
        queue=job.queue.name,
        tier=job.tier,
        proof=token_digest(job.pk, run.number)[:32],
        grace_s=int(GRACE[job.tier].total_seconds()),
        roles=tuple(_role(role, first_pod.get(role.name), cards) for role in roles),
        pods=tuple(
            PodSpec(
                pod.role_name,
                pod.index,
                pod.rank if pod.in_gang else None,
                pod.node.name,
                tuple(cards[pod.pk].indexes) if pod.pk in cards else (),
                sent=bool(pod.uid),
                joined_after_s=_joined_after_s(run, pod),
            )
            for pod in pods
        ),
        labels={str(key): str(value) for key, value in job.labels.items()},
        api_url=f"{settings.BERTH_API_URL}/api/v1",
        token=run_token(job.pk, run.number),
        checkpoint=_checkpoint(job, resume_from),
        priority_class=f"berth-{job.tier}",
        expected_runtime_s=job.expected_runtime_s,
    )


def _joined_after_s(run: Run, pod: Pod) -> int | None:
    if pod.joined_at is None or run.started_at is None:
        return None
    return max(0, int((pod.joined_at - run.started_at).total_seconds()))


def _role(role: Role, pod: Pod | None, cards: dict[int, Cards]) -> RoleSpec:
    held = (cards.get(pod.pk) if pod is not None else None) or Cards()
    volumes: list[dict[str, Any]] = role.volumes
    return RoleSpec(
        name=role.name,
        image=role.image,
        cpu_millicores=role.cpu_m,
        memory_mib=role.memory_mib,
        command=tuple(role.command),
        args=tuple(role.args),
        env={str(key): str(value) for key, value in role.env.items()},
        env_from=tuple(role.env_from),
        image_pull=tuple(role.image_pull),
        cards=len(held.indexes),
        resource_name=held.resource,
        share=held.share,
        cpu_limit_millicores=role.cpu_limit_m,
        memory_limit_mib=role.memory_limit_mib,
        volumes=tuple(
            VolumeMount(entry["claim"], entry["mount"], bool(entry.get("read_only", False))) for entry in volumes
        ),
        ports=tuple(role.ports),
        shm_mib=role.shm_mib,
        run_as_user=role.run_as_user or DEFAULT_USER_ID,
        run_as_group=role.run_as_group or DEFAULT_USER_ID,
        fs_group=role.fs_group,
        gang=role.in_gang,
        replicas=role.replicas,
        minimum=role.minimum,
    )


def _checkpoint(job: Job, resume_from: str | None) -> CheckpointSpec | None:
    if not job.checkpoint_path:
        return None
    interval = job.checkpoint_interval_s or DEFAULT_CHECKPOINT_INTERVAL_S
    return CheckpointSpec(job.checkpoint_path, interval, resume=resume_from is not None, resume_from=resume_from)
