"""Lists of jobs as people read them: filtered and paged in the database, with why each waits and what it holds, in a fixed number of queries."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django.db.models import Case, F, IntegerField, Prefetch, Q, QuerySet, Value, When

from berth.common import clock
from scheduling.engine.units import CARD
from scheduling.models import Job, Loan, Role, RoleFlavor, Transition, WaitReason
from scheduling.selectors.job_times import ran_s, runs_by_job, state_since
from scheduling.selectors.positions import Position, positions_of
from scheduling.selectors.start_ranges import StartRange, start_ranges_of
from scheduling.states import HOLDING, TERMINAL, JobState
from tenants.models import Tenant, User

PAGE_SIZE = 50
COUNT_CAP = 10_000
"""Beyond this a list says "more than", so that no page counts a million rows."""

_CURSOR: Final = re.compile(
    r"(?P<side>after|before)_((?P<cost>None|-?[0-9]{1,20}(\.[0-9]{1,12})?(E-[0-9]{1,2})?)_)?(?P<job>[0-9]{1,18})"
)
SORTS: Final = ("newest", "oldest", "dearest")
WAITING_FIRST: Final = (JobState.FAILED, JobState.QUEUED, JobState.STOPPING, JobState.STARTING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobFilters:
    """What the address asks for; empty means no filter. `states` and `tiers` are any-of."""

    tenant: str = ""
    queue: str = ""
    states: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    user: str = ""
    label: str = ""
    q: str = ""

    def active(self) -> list[tuple[str, str]]:
        """(field, value) of each filter that is set, in the order chips are shown; the tenant is the page's own choice."""
        pairs = [("state", value) for value in self.states] + [("tier", value) for value in self.tiers]
        pairs += [(name, getattr(self, name)) for name in ("queue", "user", "label", "q") if getattr(self, name)]
        return pairs

    def without(self, field: str) -> "JobFilters":
        empty: Any = () if field in ("state", "tier") else ""
        return replace(self, **{{"state": "states", "tier": "tiers"}.get(field, field): empty})


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a list. `cards_m` is the ask of all its pods; `since` when its present state began; `ran_s` over all runs."""

    job: Job
    cards_m: int
    flavors: tuple[str, ...]
    vram_mib: int
    wait: WaitReason | None
    position: Position | None
    start: StartRange | None
    loan_until: datetime | None
    since: datetime
    ran_s: float | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """`total` is capped at 10,000 (`more_than_total` says so); cursors are None where there is no such page."""

    rows: tuple[JobRow, ...]
    total: int
    more_than_total: bool
    older: str | None
    newer: str | None

    @property
    def more(self) -> bool:
        return self.older is not None or self.newer is not None


def filtered_jobs(user: User, filters: JobFilters) -> QuerySet[Job]:
    """Jobs the user may see that match every filter."""
    jobs: QuerySet[Job] = Job.objects.visible_to(user)
    if filters.tenant:
        jobs = jobs.filter(tenant__slug=filters.tenant)
    if filters.queue:
        jobs = jobs.filter(queue__name=filters.queue)
    if filters.states:
        jobs = jobs.filter(state__in=filters.states)
    if filters.tiers:
        jobs = jobs.filter(tier__in=filters.tiers)
    if filters.user:
        jobs = jobs.filter(user__username=filters.user)
    if filters.label:
        key, _, value = filters.label.partition("=")
        jobs = jobs.filter(labels__contains={key: value}) if value else jobs.filter(labels__has_key=key)
    if filters.q:
        jobs = jobs.filter(_matches(filters.q))
    return jobs


def job_page(
    user: User, filters: JobFilters, *, sort: str = "newest", cursor: str = "", size: int = PAGE_SIZE
) -> JobPage:
    """One page. A cursor that does not parse is the first page."""
    jobs = filtered_jobs(user, filters)
    total = jobs.order_by()[: COUNT_CAP + 1].count()
    backwards, edge = _read_cursor(cursor, sort)
    keys = _keys(sort)
    chosen = jobs.order_by(*(_turn(key) for key in keys) if backwards else keys)
    if edge is not None:
        chosen = chosen.filter(_beyond(sort, edge, backwards=backwards))
    found = list(_with_parts(chosen[: size + 1]))
    overflow, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    older = bool(found) and (overflow or backwards)
    newer = bool(found) and (overflow if backwards else edge is not None)
    return JobPage(
        rows=job_rows(found),
        total=min(total, COUNT_CAP),
        more_than_total=total > COUNT_CAP,
        older=_write_cursor("after", sort, found[-1]) if older else None,
        newer=_write_cursor("before", sort, found[0]) if newer else None,
    )


def matches_without_each(user: User, filters: JobFilters) -> list[tuple[str, str, int]]:
    """For a list that found nothing: how many rows there would be with each filter dropped (capped)."""
    return [
        (field, value, filtered_jobs(user, filters.without(field)).order_by()[: COUNT_CAP + 1].count())
        for field, value in filters.active()
    ]


def worst_first(user: User, tenant: Tenant | None, *, only_own: bool, size: int) -> tuple[tuple[JobRow, ...], int]:
    """Live and freshly failed jobs, those that need somebody first, and how many there are in all."""
    jobs: QuerySet[Job] = Job.objects.visible_to(user).filter(
        state__in=[state.value for state in WAITING_FIRST if state not in TERMINAL]
    )
    if tenant is not None:
        jobs = jobs.filter(tenant=tenant)
    if only_own:
        jobs = jobs.filter(user=user)
    rank = Case(
        *(When(state=state.value, then=Value(place)) for place, state in enumerate(WAITING_FIRST)),
        default=Value(9),
        output_field=IntegerField(),
    )
    found = list(_with_parts(jobs.annotate(rank=rank).order_by("rank", "order_at", "id")[:size]))
    return job_rows(found), jobs.order_by()[: COUNT_CAP + 1].count()


def job_rows(jobs: Sequence[Job]) -> tuple[JobRow, ...]:
    """Rows of these jobs, which carry their roles (`with_parts`): five more queries, whatever their number."""
    queued = [job.pk for job in jobs if job.state == JobState.QUEUED]
    live = [job.pk for job in jobs if job.state in HOLDING]
    waits = {
        wait.job_id: wait for wait in WaitReason.objects.filter(job_id__in=[job.pk for job in jobs], until__isnull=True)
    }
    positions, starts = positions_of(queued), start_ranges_of(queued)
    loans = dict(
        Loan.objects.filter(run__job_id__in=live, ended_at__isnull=True).values_list("run__job_id", "expires_at")
    )
    since, now = _since(jobs), clock.now()
    runs = runs_by_job([job.pk for job in jobs if job.runs_count])
    return tuple(
        JobRow(
            job=job,
            cards_m=sum(role.replicas * role.cards_m for role in job.roles.all()),
            flavors=tuple(
                dict.fromkeys(
                    accepted.flavor.name
                    for role in job.roles.all()
                    for accepted in role.role_flavors.all()
                    if role.cards_m
                )
            ),
            vram_mib=sum(role.replicas * _vram_mib(role) for role in job.roles.all()),
            wait=waits.get(job.pk),
            position=positions.get(job.pk),
            start=starts.get(job.pk),
            loan_until=loans.get(job.pk),
            since=state_since(job, runs.get(job.pk, ()), since.get(job.pk) or job.submitted_at),
            ran_s=ran_s(runs.get(job.pk, ()), now),
        )
        for job in jobs
    )


def _vram_mib(role: Role) -> int:
    """Of one pod: what it asks for, else what its whole cards have of the flavor it would rather take (SCH-02). 0: unknown."""
    first = next((accepted.flavor for accepted in role.role_flavors.all()), None)
    return role.vram_mib or (first.vram_mib * role.cards_m // CARD if first and role.cards_m else 0)


def _with_parts(jobs: QuerySet[Job]) -> QuerySet[Job]:
    accepted = RoleFlavor.objects.select_related("flavor").order_by("position")
    roles = Role.objects.order_by("position").prefetch_related(Prefetch("role_flavors", queryset=accepted))
    return jobs.select_related("tenant", "queue", "user").prefetch_related(Prefetch("roles", queryset=roles))


def _since(jobs: Sequence[Job]) -> dict[int, datetime]:
    """When each job's present state began. Bounded from below by the oldest submit, so that partitions are pruned."""
    if not jobs:
        return {}
    rows = (
        Transition.objects.filter(
            job_id__in=[job.pk for job in jobs], subject="job", at__gte=min(job.submitted_at for job in jobs)
        )
        .order_by("job_id", "-at", "-id")
        .distinct("job_id")
    )
    return {row.job_id: row.at for row in rows}


def _matches(text: str) -> Q:
    number = text.lower().removeprefix("j")
    by_name = Q(name__icontains=text)
    return by_name | Q(pk=int(number)) if number.isdecimal() and len(number) < 19 else by_name


def _keys(sort: str) -> tuple[Any, ...]:
    if sort == "oldest":
        return ("id",)
    if sort == "dearest":
        return (F("cost_amount").desc(nulls_last=True), "-id")
    return ("-id",)


def _turn(key: Any) -> Any:
    if isinstance(key, str):
        return key.removeprefix("-") if key.startswith("-") else f"-{key}"
    return key.expression.asc(nulls_first=True)


def _beyond(sort: str, edge: tuple[Decimal | None, int], *, backwards: bool) -> Q:
    cost, pk = edge
    if sort == "oldest":
        return Q(pk__lt=pk) if backwards else Q(pk__gt=pk)
    by_id = Q(pk__gt=pk) if backwards else Q(pk__lt=pk)
    if sort != "dearest":
        return by_id
    if cost is None:
        return (Q(cost_amount__isnull=True) & by_id) | (Q(cost_amount__isnull=False) if backwards else Q(pk__in=[]))
    same = Q(cost_amount=cost) & by_id
    return same | Q(cost_amount__gt=cost) if backwards else same | Q(cost_amount__lt=cost) | Q(cost_amount__isnull=True)


def _write_cursor(side: str, sort: str, job: Job) -> str:
    cost = f"{job.cost_amount}_" if sort == "dearest" else ""
    return f"{side}_{cost}{job.pk}"


def _read_cursor(cursor: str, sort: str) -> tuple[bool, tuple[Decimal | None, int] | None]:
    """What was not written by `_write_cursor` for this sort stands for the first page."""
    found = _CURSOR.fullmatch(cursor)
    if found is None or (found["cost"] is None) == (sort == "dearest"):
        return False, None
    cost = Decimal(found["cost"]) if found["cost"] not in (None, "None") else None
    return found["side"] == "before", (cost, int(found["job"]))
