"""A job as answers show it (docs/api-jobs.md). Shapes rows and facts only; every amount is in people's units."""

from typing import Any

from berth.common.bodies import number
from berth.common.reasons import wait_message, wait_step
from berth.common.units import from_milli, from_ppm
from scheduling.api.amounts import amounts_document, cards, gib, money_document
from scheduling.api.run_document import run_document
from scheduling.api.weight_document import weights_document
from scheduling.models import Job, Role, WaitReason
from scheduling.selectors.job_events import JobEvent
from scheduling.selectors.job_facts import Holder, JobFacts
from scheduling.selectors.why_waiting import facts_of_wait


def job_document(job: Job, facts: JobFacts) -> dict[str, Any]:
    """The whole of it: as it was asked for, where it stands, when, and what it cost. `job` carries its parts."""
    return {
        "id": job.pk,
        **_ask(job),
        **_standing(job, facts),
        "runs": [run_document(run) for run in facts.runs],
        "cost": cost_document(job),
        **_times(job),
        "end_reason": job.end_reason or None,
        "restarts_used": job.restarts_used,
        "preemptions": job.preemptions,
        "node_losses": job.node_losses,
        "cloned_from": job.cloned_from_id,
    }


def cost_document(job: Job) -> dict[str, Any]:
    """`amount` is the one that billing recorded, null until it has."""
    found = money_document(job.cost_amount, job.cost_currency or job.tenant.currency)
    return {**found, "final": job.cost_final, "as_of": job.cost_as_of}


def _times(job: Job) -> dict[str, Any]:
    return {
        "submitted_at": job.submitted_at,
        "eligible_at": job.eligible_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    }


def _ask(job: Job) -> dict[str, Any]:
    return {
        "tenant": job.tenant.slug,
        "queue": job.queue.name,
        "name": job.name,
        "kind": job.kind,
        "tier": job.tier,
        "priority": job.priority,
        "project": job.project.slug if job.project is not None else None,
        "user": job.user.username,
        "labels": job.labels,
        "roles": [_role(role) for role in job.roles.all()],
        "topology": None
        if job.topology_mode == Job.Topology.NONE
        else {"mode": job.topology_mode, "level": job.topology_level or None},
        "elastic": None
        if job.elastic_step is None and job.elastic_cooldown_s is None
        else {"step": job.elastic_step, "cooldown": job.elastic_cooldown_s},
        "expected_runtime": job.expected_runtime_s,
        "max_runtime": job.max_runtime_s,
        "max_restarts": job.max_restarts,
        "checkpoint": {"path": job.checkpoint_path, "interval": job.checkpoint_interval_s}
        if job.checkpoint_path
        else None,
        "output": {"claim": job.output_claim, "path": job.output_path} if job.output_claim else None,
        "datasets": [dataset.name for dataset in job.datasets.all()],
        "objective": job.objective,
        "deadline": job.deadline,
        "not_before": job.not_before,
        "after": [{"job": after.on_job_id, "on": after.condition} for after in job.dependencies.all()],
        "array": None
        if job.array_size is None
        else {"id": job.array_parent_id, "index": job.array_index, "size": job.array_size, "limit": job.array_limit},
        "callback_url": job.callback_url or None,
        "cards": cards(sum(role.replicas * role.cards_m for role in job.roles.all())),
    }


def _role(role: Role) -> dict[str, Any]:
    return {
        "name": role.name,
        "replicas": role.replicas,
        "min_replicas": role.minimum,
        "gang": role.in_gang,
        "period": role.period_s,
        "resources": {
            "gpu": cards(role.cards_m),
            "flavors": [accepted.flavor.name for accepted in role.role_flavors.all()],
            "cpu": cards(role.cpu_m),
            "memory": gib(role.memory_mib),
            "vram_per_gpu": gib(role.vram_mib) if role.vram_mib else None,
        },
        "limits": {
            "cpu": None if role.cpu_limit_m is None else number(from_milli(role.cpu_limit_m)),
            "memory": None if role.memory_limit_mib is None else gib(role.memory_limit_mib),
        },
        "image": role.image,
        "command": role.command,
        "args": role.args,
        "env": role.env,
        "env_from": role.env_from,
        "image_pull": role.image_pull,
        "volumes": role.volumes,
        "ports": role.ports,
        "shm_gib": None if role.shm_mib is None else gib(role.shm_mib),
        "run_as_user": role.run_as_user,
        "run_as_group": role.run_as_group,
        "fs_group": role.fs_group,
    }


def _standing(job: Job, facts: JobFacts) -> dict[str, Any]:
    position = facts.position
    return {
        "state": job.state,
        "position": None if position is None else position.place,
        "cards_ahead": None if position is None else cards(position.cards_ahead_m),
        "eta": _eta(facts),
        "weights": None if facts.weights is None else weights_document(facts.weights),
        "wait": None if facts.wait is None else wait_document(facts.wait, facts.holders),
    }


def _eta(facts: JobFacts) -> dict[str, Any] | None:
    """Of queued jobs only; all null with `why_not` where it cannot be told."""
    rate, start = facts.rate, facts.start
    if rate is None:
        return None
    return {
        "earliest": None if start is None else start.earliest,
        "likely": None if start is None else start.likely,
        "latest": None if start is None else start.latest,
        "hit_rate": round(rate.held / rate.of, 3) if rate.of else None,
        "why_not": "not-yet-known" if start is None else start.why_not or None,
    }


def wait_document(wait: WaitReason, holders: tuple[Holder, ...]) -> dict[str, Any]:
    stored = facts_of_wait(wait)
    return {
        "code": wait.code,
        "message": wait_message(stored),
        "need": amounts_document(wait.need),
        "have": amounts_document(wait.have),
        "short": amounts_document(wait.short),
        "holders": [_holder(holder) for holder in holders],
        "suggestion": wait_step(stored),
        "since": wait.since,
        "reserved_start": wait.reserved_start,
        "kept": list(wait.kept_nodes),
    }


def _holder(holder: Holder) -> dict[str, Any]:
    """`tenant` null: other tenants, summed."""
    return {
        "tenant": holder.tenant or None,
        "queue": holder.queue or None,
        "job": holder.job,
        "amounts": amounts_document(holder.amounts),
        "until": holder.until,
    }


def event_document(event: JobEvent) -> dict[str, Any]:
    message = event.message
    if event.wait is not None:
        message = wait_message(facts_of_wait(event.wait))
    return {
        "at": event.at,
        "kind": event.kind,
        "code": event.code,
        "reason": event.reason or None,
        "message": message,
        "actor": event.actor or None,
        "run": event.run,
        "cycle": event.cycle,
        "until": event.until,
        "cards": None if event.cards_m is None else cards(event.cards_m),
        "card_seconds": event.card_s,
        "role": event.role or None,
        "from": event.old,
        "to": event.new,
    }


def ppm(value: int) -> int | float:
    """A share or weight as a plain number."""
    return number(from_ppm(value))
