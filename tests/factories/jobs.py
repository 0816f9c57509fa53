"""Jobs, runs and leases as rows, without the loop that would make them."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from berth.common import clock
from berth.common.units import UNITS_PER_CARD, gib_to_mib, to_milli
from scheduling.models import Card, Job, Lease, Pod, Role, RoleFlavor, Run
from tenants.models import Flavor, Queue, User
from tests.factories.names import unique
from tests.factories.queues import a_queue
from tests.factories.tenants import a_member_of


def a_job(
    queue: Queue | None = None,
    *,
    user: User | None = None,
    flavor: Flavor | None = None,
    replicas: int = 1,
    minimum: int | None = None,
    gpu: Decimal | int | str = 1,
    cpu: int = 8,
    memory_gib: int = 64,
    submitted_at: datetime | None = None,
    **fields: Any,
) -> Job:
    """A job with one gang role `worker`, queued unless `fields` say otherwise, elastic with a `minimum`; it accepts `flavor`, else all of its pool."""
    queue = queue or a_queue()
    at = submitted_at or clock.now()
    values: dict[str, Any] = {
        "tenant": queue.tenant,
        "user": user or a_member_of(queue.tenant),
        "name": unique("job"),
        "tier": queue.default_tier,
        "shape_key": unique("shape"),
        "submitted_at": at,
        "order_at": at,
        "eligible_at": at,
    }
    job = Job.objects.create(queue=queue, **values | fields)
    role = Role.objects.create(
        job=job,
        position=0,
        name="worker",
        replicas=replicas,
        minimum=minimum or replicas,
        cards_m=to_milli(gpu),
        cpu_m=to_milli(cpu),
        memory_mib=gib_to_mib(memory_gib),
        image="registry.example/train:1",
    )
    accepted = [flavor] if flavor else list(Flavor.objects.filter(pool=queue.pool).order_by("name"))
    RoleFlavor.objects.bulk_create(
        RoleFlavor(role=role, flavor=found, position=position) for position, found in enumerate(accepted)
    )
    return job


def a_run(job: Job, *, number: int = 1, admitted_at: datetime | None = None, **fields: Any) -> Run:
    """An attempt of the job, admitted unless `fields` say otherwise; the job's own state is left alone."""
    at = admitted_at or clock.now()
    values: dict[str, Any] = {
        "cluster": job.queue.pool.cluster,
        "namespace": f"{job.tenant.slug}-{job.queue.environment}",
        "admitted_at": at,
        "admitted_wall": clock.wall_now(),
    }
    return Run.objects.create(job=job, number=number, **values | fields)


def a_lease(
    run: Run, card: Card, *, rank: int = 0, slot: int = 0, opened_at: datetime | None = None, **fields: Any
) -> Lease:
    """One pod's hold on one whole card, open unless `fields` say otherwise; slots of one rank share a pod."""
    pod, _made = Pod.objects.get_or_create(
        run=run,
        role_name="worker",
        index=rank,
        defaults={"rank": rank, "name": f"j{run.job_id}-r{run.number}-worker-{rank}", "node": card.node},
    )
    values: dict[str, Any] = {
        "quantity": UNITS_PER_CARD,
        "flavor": card.flavor,
        "opened_at": opened_at or run.admitted_at,
    }
    return Lease.objects.create(run=run, pod=pod, slot=slot, node=card.node, card=card, **values | fields)
