"""What scripts read about jobs beside their own rows: place in line, expected start, why they wait, who holds it, their runs.

For any number of jobs in a fixed number of queries. Other tenants are named only inside one cohort (SCH-21).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Prefetch, QuerySet

from scheduling.models import Job, JobDataset, JobDependency, Role, RoleFlavor, WaitReason
from scheduling.selectors.configured import Configured, configured
from scheduling.selectors.effective_weights import QueueWeights, weights_of_queues
from scheduling.selectors.positions import Position, positions_of
from scheduling.selectors.run_facts import RunFacts, runs_of_jobs
from scheduling.selectors.start_ranges import HitRate, StartRange, hit_rate, start_ranges_of
from scheduling.states import WAITING, JobState
from tenants.models import User
from tenants.scoping import sees_everything

Amounts = Mapping[str, int]
"""Resource key → milli-cards, millicores, MiB or nodes."""


@dataclass(frozen=True, slots=True)
class Holder:
    """`tenant` is "" for tenants outside the reader's cohort, summed; `queue` and `job` are told of the job's own tenant only."""

    amounts: Amounts
    tenant: str = ""
    queue: str = ""
    job: int | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobFacts:
    """`start`, `rate` and `weights` of queued jobs only; `runs` oldest first."""

    wait: WaitReason | None
    holders: tuple[Holder, ...]
    position: Position | None
    start: StartRange | None
    rate: HitRate | None
    runs: tuple[RunFacts, ...]
    weights: QueueWeights | None = None


NEW = JobFacts(wait=None, holders=(), position=None, start=None, rate=HitRate(0, 0), runs=())
"""Facts of a job that no cycle has seen yet."""


def jobs_with_parts(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """The same jobs with all rows that a job's document is made of."""
    accepted = RoleFlavor.objects.select_related("flavor").order_by("position")
    roles = Role.objects.order_by("position").prefetch_related(Prefetch("role_flavors", queryset=accepted))
    return jobs.select_related("tenant", "queue", "user", "project").prefetch_related(
        Prefetch("roles", queryset=roles),
        Prefetch("dependencies", queryset=JobDependency.objects.order_by("on_job_id")),
        Prefetch("datasets", queryset=JobDataset.objects.order_by("name")),
    )


def facts_of(jobs: Sequence[Job], reader: User) -> dict[int, JobFacts]:
    """Facts by job id, as `reader` may know them."""
    waiting = [job.pk for job in jobs if JobState(job.state) in WAITING]
    queued = [job.pk for job in jobs if job.state == JobState.QUEUED]
    waits = {wait.job_id: wait for wait in WaitReason.objects.filter(job_id__in=waiting, until__isnull=True)}
    positions, starts = positions_of(queued), start_ranges_of(queued)
    rate = hit_rate() if queued else None
    weights = weights_of_queues({job.queue_id for job in jobs if job.state == JobState.QUEUED})
    runs = runs_of_jobs([job.pk for job in jobs if job.runs_count])
    config = configured() if any(wait.holders for wait in waits.values()) else None
    return {
        job.pk: JobFacts(
            wait=waits.get(job.pk),
            holders=_holders(waits[job.pk], job, reader, config) if config and job.pk in waits else (),
            position=positions.get(job.pk),
            start=starts.get(job.pk),
            rate=rate if job.state == JobState.QUEUED else None,
            runs=runs.get(job.pk, ()),
            weights=weights.get(job.queue_id) if job.state == JobState.QUEUED else None,
        )
        for job in jobs
    }


def _holders(wait: WaitReason, job: Job, reader: User, config: Configured) -> tuple[Holder, ...]:
    """Own tenant's by queue and job, the cohort's by tenant, everybody else's as one unnamed sum at the end."""
    own: list[Holder] = []
    named: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    others: dict[str, int] = defaultdict(int)
    inside = None if sees_everything(reader) else _cohort_slugs(job, config)
    for row in wait.holders:
        amounts = {str(key): int(value) for key, value in (row.get("amounts") or {}).items()}
        tenant = str(row.get("tenant") or "")
        if tenant == job.tenant.slug:
            own.append(Holder(amounts, tenant, _queue_name(row), row.get("job"), _until(row)))
            continue
        into = named[tenant] if tenant and (inside is None or tenant in inside) else others
        for key, value in amounts.items():
            into[key] += value
    rest = [Holder(dict(amounts), tenant) for tenant, amounts in sorted(named.items())]
    return (*own, *rest, *([Holder(dict(others))] if others else []))


def _cohort_slugs(job: Job, config: Configured) -> Collection[str]:
    """Slugs of the tenants under the same root of the quota tree."""
    tree = config.tree
    at = config.tree_index.get(("tenant", job.tenant_id))
    if at is None:
        return frozenset()
    root = tree.path[at][-1]
    return frozenset(
        node.name for index, node in enumerate(tree.nodes) if node.kind == "tenant" and tree.path[index][-1] == root
    )


def _queue_name(row: Mapping[str, Any]) -> str:
    """Without the tenant that snapshots put in front."""
    return str(row.get("queue") or "").rpartition("/")[2]


def _until(row: Mapping[str, Any]) -> datetime | None:
    until = row.get("until_ms")
    return None if until is None else datetime.fromtimestamp(int(until) / 1000, UTC)
