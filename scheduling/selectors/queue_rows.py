"""Queues as people read them: their line, what they hold of cards, and what waits in them."""

from dataclasses import dataclass

from django.db.models import BigIntegerField, Count, ExpressionWrapper, F, Sum

from berth.common.errors import NotFoundError
from scheduling.models import Job, Lease, Role
from scheduling.selectors.asked_cards import asked_m
from scheduling.states import HOLDING, JobState
from tenants.models import Pool, Queue, Tenant, User


@dataclass(frozen=True, slots=True)
class QueueRow:
    """`held_m` and `waiting_m` in milli-cards over all flavors."""

    queue: Queue
    held_m: int
    running_jobs: int
    waiting_jobs: int
    waiting_m: int


def visible_queue(user: User, tenant: str, name: str) -> Queue:
    """Raises NotFoundError, also for a queue that is not visible."""
    queue: Queue | None = (
        Queue.objects.visible_to(user)
        .select_related("tenant__cohort", "pool")
        .filter(tenant__slug=tenant, name=name)
        .first()
    )
    if queue is None:
        raise NotFoundError
    return queue


def queue_rows(tenant: Tenant) -> list[QueueRow]:
    """All queues of a tenant by name, in four queries."""
    queues = list(Queue.objects.filter(tenant=tenant).select_related("pool", "tenant").order_by("name", "id"))
    ids = [queue.pk for queue in queues]
    held: dict[int, int] = {}
    leases = Lease.objects.filter(closed_at__isnull=True, run__job__queue_id__in=ids)
    for queue_id, profile, units in (
        leases.values_list("run__job__queue_id", "flavor__mig_profile").annotate(units=Sum("quantity")).order_by()
    ):
        held[queue_id] = held.get(queue_id, 0) + asked_m(units, profile)
    jobs: dict[tuple[int, bool], int] = {}
    counted = (
        Job.objects.filter(queue_id__in=ids, state__in=[JobState.QUEUED, *HOLDING])
        .values_list("queue_id", "state")
        .annotate(jobs=Count("pk"))
        .order_by()
    )
    for queue_id, state, count in counted:
        key = (queue_id, state == JobState.QUEUED)
        jobs[key] = jobs.get(key, 0) + count
    asked = ExpressionWrapper(F("replicas") * F("cards_m"), output_field=BigIntegerField())
    waiting = dict(
        Role.objects.filter(job__queue_id__in=ids, job__state=JobState.QUEUED)
        .values_list("job__queue_id")
        .annotate(total=Sum(asked))
        .order_by()
    )
    return [
        QueueRow(
            queue,
            held.get(queue.pk, 0),
            jobs.get((queue.pk, False), 0),
            jobs.get((queue.pk, True), 0),
            waiting.get(queue.pk, 0),
        )
        for queue in queues
    ]


def tenant_pools(tenant: Tenant) -> list[Pool]:
    """Pools that the tenant's queues run in, by name."""
    return list(Pool.objects.filter(queues__tenant=tenant).distinct().order_by("name", "id"))
