"""Clone: the same ask again, as a new job of whoever asks."""

from collections.abc import Mapping
from typing import Any, Final

from berth.common.units import from_milli, mib_to_gib
from scheduling.models import Job, Role
from scheduling.services.submit import submit_job
from tenants.models import User

LEFT_OUT: Final[tuple[Any, ...]] = (None, "", [], {})


def clone_job(user: User, job: Job, changes: Mapping[str, Any] | None = None) -> Job:
    """Submit `body_of(job)` again, with whole fields replaced by `changes`. Raises what submit raises: limits may have moved."""
    return submit_job(user, {**body_of(job), **(changes or {})}, cloned_from=job)


def body_of(job: Job) -> dict[str, Any]:
    """The body that asks for this job: as it was sent, else (imported jobs) written from its rows.

    A single member of an array is cloned alone; the first one stands for the whole array.
    """
    body = dict(job.spec) if job.spec else _written(job)
    if job.array_index:
        body.pop("array", None)
    return body


def _written(job: Job) -> dict[str, Any]:
    body = {
        "tenant": job.tenant.slug,
        "queue": job.queue.name,
        "name": job.name,
        "kind": job.kind,
        "tier": job.tier,
        "priority": job.priority,
        "project": job.project.slug if job.project else None,
        "roles": [_role(role) for role in job.roles.prefetch_related("role_flavors__flavor").order_by("position")],
        "topology": {"mode": job.topology_mode, "level": job.topology_level or None},
        "expected_runtime": job.expected_runtime_s,
        "max_runtime": job.max_runtime_s,
        "max_restarts": job.max_restarts,
        "checkpoint": {"path": job.checkpoint_path, "interval": job.checkpoint_interval_s}
        if job.checkpoint_path
        else None,
        "output": {"claim": job.output_claim, "path": job.output_path} if job.output_claim else None,
        "datasets": [dataset.name for dataset in job.datasets.order_by("name")],
        "objective": job.objective,
        "labels": dict(job.labels),
    }
    return {key: value for key, value in body.items() if value not in LEFT_OUT}


def _role(role: Role) -> dict[str, Any]:
    resources = {
        "gpu": float(from_milli(role.cards_m)) if role.cards_m % 1000 else role.cards_m // 1000,
        "flavors": [accepted.flavor.name for accepted in role.role_flavors.all()],
        "cpu": float(from_milli(role.cpu_m)),
        "memory": float(mib_to_gib(role.memory_mib)),
    }
    return {
        "name": role.name,
        "replicas": role.replicas,
        "resources": resources if role.cards_m else {"cpu": resources["cpu"], "memory": resources["memory"]},
        "image": role.image or "imported",
        "command": list(role.command),
        "args": list(role.args),
        "env": dict(role.env),
    }
