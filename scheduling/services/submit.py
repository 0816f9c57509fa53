"""Submit: a body is judged whole, then stored with its roles in one transaction, then the loop is woken. Nothing is decided here."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Final

from django.db import transaction
from django.db.models import Model

from berth.common import alarm, clock
from berth.common.inserting import next_keys
from scheduling.models import Job, JobDataset, JobDependency, Role, RoleFlavor
from scheduling.services.job_body import JobAsk
from scheduling.services.judging import Judged, judge
from scheduling.services.resolved import ResolvedJob, ResolvedRole, shape_key
from scheduling.transitions import Cause, store_new_jobs
from tenants.models import User
from tenants.permissions import Action

CYCLE: Final = "scheduling.cycle"
RING_EVERY_S: Final = 0.5
"""A burst of submits rings once: a cycle takes all that is there, and the periodic one comes within a second anyway."""


def submit_job(user: User, body: Any, *, cloned_from: Job | None = None) -> Job:
    """Store what `body` asks for; the job, of an array its first member.

    Raises InvalidError with every wrong field (also for what could never run), NotFoundError for a tenant that is not visible,
    ForbiddenError for a role that is too low. Over quota now is no reason to refuse: such a job waits and says why (SCH-21).
    """
    judged = judge(user, body, Action.JOB_SUBMIT)
    resolved = judged.raise_if_refused()
    now = clock.now()
    with transaction.atomic():
        members = resolved.ask.array.size if resolved.ask.array else 1
        job_keys, role_keys = next_keys((Job, members), (Role, members * len(resolved.roles)))
        jobs = _jobs(job_keys, user, resolved, judged, now, body, cloned_from)
        parts = _parts(jobs, role_keys, resolved, judged)
        store_new_jobs(jobs, parts, Cause(reason="submitted", at=now, actor=user.get_username()))
        _wake_the_loop()
    return jobs[0]


_rang = 0.0


def _wake_the_loop() -> None:
    global _rang  # noqa: PLW0603 - one bell a process
    at = clock.monotonic()
    if at - _rang >= RING_EVERY_S:
        _rang = at
        alarm.ring(CYCLE)


def _jobs(
    keys: Sequence[int],
    user: User,
    resolved: ResolvedJob,
    judged: Judged,
    now: datetime,
    body: Any,
    cloned_from: Job | None,
) -> list[Job]:
    """One row, or one per member of an array; the first member's id is the array's (`array_parent`), its own included."""
    array = resolved.ask.array
    shape = shape_key(resolved.shape, judged.config)
    jobs = [_job(user, resolved, judged, now) for _key in keys]
    for index, (key, job) in enumerate(zip(keys, jobs, strict=True)):
        job.pk, job.spec, job.shape_key, job.cloned_from = key, body, shape, cloned_from
        if array:
            job.array_index, job.array_size, job.array_limit = index, array.size, array.limit
            job.array_parent = jobs[0]
    return jobs


def _job(user: User, resolved: ResolvedJob, judged: Judged, now: datetime) -> Job:
    ask, queue = resolved.ask, resolved.queue
    return Job(
        tenant=queue.tenant,
        queue=queue,
        project_id=judged.project_id,
        user=user,
        name=ask.name,
        kind=ask.kind,
        tier=resolved.tier,
        priority=ask.priority,
        labels=dict(ask.labels),
        submitted_at=now,
        order_at=now,
        eligible_at=max(now, ask.not_before) if ask.not_before else now,
        not_before=ask.not_before,
        expected_runtime_s=ask.expected_runtime_s,
        max_runtime_s=ask.max_runtime_s,
        max_restarts=ask.max_restarts,
        deadline=ask.deadline,
        objective=ask.objective,
        callback_url=ask.callback_url,
        **_placement_fields(ask),
    )


def _placement_fields(ask: JobAsk) -> dict[str, Any]:
    return {
        "topology_mode": ask.topology_mode,
        "topology_level": ask.topology_level,
        "elastic_step": ask.elastic_step,
        "elastic_cooldown_s": ask.elastic_cooldown_s,
        "checkpoint_path": ask.checkpoint_path,
        "checkpoint_interval_s": ask.checkpoint_interval_s,
        "output_claim": ask.output_claim,
        "output_path": ask.output_path,
    }


def _parts(
    jobs: Sequence[Job], role_keys: Iterable[int], resolved: ResolvedJob, judged: Judged
) -> list[Iterable[Model]]:
    """Roles, accepted flavors, dependencies and datasets of every member; those of the first are left with it for the answer."""
    ask, keys = resolved.ask, iter(role_keys)
    roles = [[_role(next(keys), job, position, role) for position, role in enumerate(resolved.roles)] for job in jobs]
    accepted = [
        [_accepted(row, role, judged) for row, role in zip(of_job, resolved.roles, strict=True)] for of_job in roles
    ]
    after = [[JobDependency(job=job, on_job_id=each.job, condition=each.on) for each in ask.after] for job in jobs]
    datasets = [[JobDataset(job=job, name=name) for name in sorted(ask.datasets)] for job in jobs]
    for role, flavors in zip(roles[0], accepted[0], strict=True):
        _carry(role, role_flavors=flavors)
    _carry(jobs[0], roles=roles[0], dependencies=after[0], datasets=datasets[0])
    flat = chain.from_iterable
    return [flat(roles), flat(after), flat(datasets), flat(flat(accepted))]


def _accepted(row: Role, role: ResolvedRole, judged: Judged) -> list[RoleFlavor]:
    flavors = [judged.config.rows[flavor] for flavor in role.flavors]
    return [RoleFlavor(role=row, flavor=flavor, position=position) for position, flavor in enumerate(flavors)]


def _carry(row: Any, **parts: list[Any]) -> None:
    """Leave the parts with their row, as a prefetch would: the answer to a submit reads nothing that was just written."""
    row._prefetched_objects_cache = {}
    for name, rows in parts.items():
        found = getattr(row, name).all()
        found._result_cache, found._prefetch_done = rows, True
        row._prefetched_objects_cache[name] = found


def _role(key: int, job: Job, position: int, role: ResolvedRole) -> Role:
    ask = role.ask
    return Role(
        pk=key,
        job=job,
        position=position,
        name=ask.name,
        replicas=ask.replicas,
        minimum=ask.minimum,
        in_gang=ask.in_gang,
        period_s=ask.period_s,
        cards_m=ask.cards_m,
        cpu_m=role.cpu_m,
        memory_mib=role.memory_mib,
        vram_mib=ask.vram_mib,
        cpu_limit_m=ask.cpu_limit_m,
        memory_limit_mib=ask.memory_limit_mib,
        image=ask.image,
        command=list(ask.command),
        args=list(ask.args),
        env=dict(ask.env),
        env_from=list(ask.env_from),
        image_pull=list(ask.image_pull),
        volumes=[
            {"claim": volume.claim, "mount": volume.mount, "read_only": volume.read_only} for volume in ask.volumes
        ],
        ports=list(ask.ports),
        shm_mib=ask.shm_mib,
        run_as_user=ask.run_as_user,
        run_as_group=ask.run_as_group,
        fs_group=ask.fs_group,
    )
