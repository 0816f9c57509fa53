"""One job as its page shows it: where it stands, why, when, its runs and pods, and everything that happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Prefetch

from berth.common import clock
from berth.common.errors import NotFoundError
from scheduling.models import Job, Loan, Pod, Role, RoleFlavor, Run
from scheduling.selectors.job_costs import JobCost, job_cost, running_estimate_end
from scheduling.selectors.job_events import JobEvent, job_events
from scheduling.selectors.job_facts import JobFacts, facts_of
from scheduling.selectors.job_times import by_cluster_clock, ran_s, state_since
from scheduling.selectors.run_facts import RunFacts
from scheduling.selectors.why_waiting import WhyWaiting, why_waiting
from tenants.models import User

RUNS_SHOWN: Final = 20
PODS_SHOWN: Final = 64
EVENTS_SHOWN: Final = 60
HUES: Final = {"queued": "neutral", "suspended": "neutral", "starting": "start", "running": "blue", "stopping": "amber"}


@dataclass(frozen=True, slots=True)
class JobView:
    """`stretches` are (hue, seconds) of the job's states, oldest first; `events` and `runs` newest first; `ran_s` over all runs."""

    job: Job
    roles: tuple[Role, ...]
    cards_m: int
    flavors: tuple[str, ...]
    since: datetime
    facts: JobFacts
    why: WhyWaiting | None
    cost: JobCost
    ran_s: float | None
    ends_about: datetime | None
    runs: tuple[RunFacts, ...]
    pods: tuple[Pod, ...]
    pods_total: int
    stretches: tuple[tuple[str, int], ...]
    events: tuple[JobEvent, ...]
    events_total: int

    @property
    def loans(self) -> tuple[Loan, ...]:
        """Loans in force, of the live run."""
        return tuple(loan for row in self.runs[:1] for loan in row.loans if loan.ended_at is None)

    @property
    def live_run(self) -> RunFacts | None:
        return self.runs[0] if self.runs and self.runs[0].run.ended_at is None else None

    @property
    def told(self) -> Run | None:
        """The newest run that reported something, else the newest of a job that saves itself; None where nothing is to be told."""
        reported = next((row.run for row in self.runs if row.run.reported_at is not None), None)
        newest = self.runs[0].run if self.runs and self.job.checkpoint_path else None
        return reported or newest

    @property
    def held_m(self) -> int:
        """What the live run holds, else what the job asks for, in milli-cards."""
        return self.live_run.cards_m if self.live_run else self.cards_m

    @property
    def own_m(self) -> int:
        """What the live run holds inside its tenant's nominal, in milli-cards."""
        return self.live_run.cards_m - self.live_run.borrowed_m if self.live_run else 0

    @property
    def run_since(self) -> datetime | None:
        """When the live run began to run, or to start; None where none lives."""
        return (self.live_run.run.started_at or self.live_run.run.admitted_at) if self.live_run else None


def visible_job(user: User, job_id: int) -> Job:
    """With tenant, queue, user, roles and accepted flavors. Raises NotFoundError, also for what is not visible."""
    accepted = RoleFlavor.objects.select_related("flavor").order_by("position")
    roles = Role.objects.order_by("position").prefetch_related(Prefetch("role_flavors", queryset=accepted))
    job: Job | None = (
        Job.objects.visible_to(user)
        .select_related("tenant__cohort", "queue__pool", "user", "project", "cloned_from")
        .prefetch_related(Prefetch("roles", queryset=roles))
        .filter(pk=job_id)
        .first()
    )
    if job is None:
        raise NotFoundError
    return job


def job_view(user: User, job: Job) -> JobView:
    """Everything on the page of a job that `visible_job` found, in a fixed number of queries."""
    facts = facts_of([job], user)[job.pk]
    lived = [row.run for row in facts.runs]
    events = by_cluster_clock(job, job_events(job), lived)
    states = [event for event in events if event.kind == "job"]
    runs = tuple(reversed(facts.runs[-RUNS_SHOWN:]))
    pods, pods_total = _pods(runs[0].run) if runs else ((), 0)
    roles = tuple(job.roles.all())
    return JobView(
        job=job,
        roles=roles,
        cards_m=sum(role.replicas * role.cards_m for role in roles),
        flavors=tuple(dict.fromkeys(a.flavor.name for role in roles if role.cards_m for a in role.role_flavors.all())),
        since=state_since(job, lived, states[-1].at if states else job.submitted_at),
        facts=facts,
        why=why_waiting(facts, [event.wait for event in reversed(events) if event.wait is not None]),
        cost=job_cost(job),
        ran_s=ran_s(lived, clock.now()),
        ends_about=running_estimate_end(job),
        runs=runs,
        pods=pods,
        pods_total=pods_total,
        stretches=_stretches(job, states),
        events=tuple(event for event in reversed(events) if event.kind != "run")[:EVENTS_SHOWN],
        events_total=sum(event.kind != "run" for event in events),
    )


def _pods(run: Run) -> tuple[tuple[Pod, ...], int]:
    pods = Pod.objects.filter(run=run).select_related("node").annotate(slots=Count("leases")).order_by("rank", "pk")
    shown = tuple(pods[:PODS_SHOWN])
    return shown, len(shown) if len(shown) < PODS_SHOWN else Pod.objects.filter(run=run).count()


def _stretches(job: Job, states: Sequence[JobEvent]) -> tuple[tuple[str, int], ...]:
    """How long each state lasted, from the submit to the end or now."""
    end = job.ended_at or clock.now()
    edges = [(job.submitted_at, "queued"), *((event.at, event.code) for event in states[1:])]
    closing = [at for at, _state in edges[1:]] + [end]
    return tuple(
        (HUES[state], max(0, int((until - at) / timedelta(seconds=1))))
        for (at, state), until in zip(edges, closing, strict=True)
        if state in HUES
    )
