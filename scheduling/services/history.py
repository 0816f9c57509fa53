"""Stores usage of the past as it would stand here had it run here: terminal jobs, ended runs, pods, leases, segments.

It must not judge rows: billing has checked names, overlaps and identities before. What the database still refuses fails whole.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from django.db import connection, transaction
from django.db.models import Max
from psycopg.types.range import TimestamptzRange

from scheduling import transitions
from scheduling.models import Card, Job, LeaseSegment, Node, Pod, Run
from scheduling.states import EndReason, JobState, RunState
from scheduling.transitions import Cause
from tenants.services.imported_users import ensure_users

IMPORTED_LABEL: Final = "berth.dev/imported"
_ROLE: Final = "imported"
_BATCH: Final = 2_000
_SLOTS: Final = 30_000
_NAME: Final = 63
_STATES: Final = {EndReason.SUCCEEDED.value: JobState.SUCCEEDED, EndReason.CANCELLED.value: JobState.CANCELLED}
_LEASE: Final = (
    *("id", "run_id", "pod_id", "slot", "node_id", "card_id"),
    *("flavor_id", "quantity", "borrowed", "cpu_m", "memory_mib", "vram_mib", "opened_at", "closed_at"),
)
_SEGMENT: Final = ("lease_id", "card_id", "kind", "during", "quantity", "borrowed")
_EVENT: Final = ("source", "event_id", "content_digest", "lease_id", "imported_at")
_Key = TypeVar("_Key", bound=Hashable)

JobKey = tuple[str, str]
"""Source, and the job's reference in it."""


@dataclass(frozen=True, slots=True)
class PastLease:
    """One card or share (1/7000) that one run of an imported job held during [start, end)."""

    source: str
    event_id: str
    digest: str
    tenant_id: int
    queue_id: int
    tier: str
    namespace: str
    username: str
    job_ref: str
    job_name: str
    run_number: int
    flavor_id: int
    cluster_id: int
    pool_id: int
    node: str
    card_index: int
    quantity: int
    start: datetime
    end: datetime
    end_reason: str
    borrowed: bool
    last_alive: datetime | None

    @property
    def job_key(self) -> JobKey:
        """Identity of the job across imports."""
        return self.source, self.job_ref


@dataclass(frozen=True, slots=True)
class Recorded:
    """Ids of all jobs that were touched, sorted, and of the leases that are new."""

    jobs: list[int]
    leases: list[int]


def record_history(leases: Sequence[PastLease], *, at: datetime) -> Recorded:
    """Store the leases under their jobs and runs, made where unknown.

    Their decayed use is counted by the caller, last of all: what does that holds up the loop until it commits.
    """
    if not leases:
        return Recorded([], [])
    with transaction.atomic():
        users = ensure_users(lease.username for lease in leases)
        cards = _cards(leases)
        jobs = _jobs(leases, users, at)
        runs = _runs(leases, jobs, at)
        placed = _pods(leases, runs, jobs, cards)
        stored = _store_leases(leases, runs, cards, placed, at)
    return Recorded(sorted({job.pk for job in jobs.values()}), stored)


def _cards(leases: Sequence[PastLease]) -> dict[tuple[int, str, int], tuple[int, int]]:
    """(node id, card id) by cluster, node name and index.

    Nodes that exist nowhere but in the import are lost from the start and their cards out of service, so that nothing
    is ever planned on them.
    """
    wanted = {(lease.cluster_id, lease.node): lease for lease in reversed(leases)}
    names = {lease.node for lease in leases}
    nodes = {(node.cluster_id, node.name): node.pk for node in Node.objects.filter(name__in=names)}
    missing = [
        Node(
            cluster_id=cluster_id,
            name=name,
            pool_id=lease.pool_id,
            flavor_id=lease.flavor_id,
            state=Node.State.LOST,
            cordoned=True,
            labels={IMPORTED_LABEL: lease.source},
        )
        for (cluster_id, name), lease in sorted(wanted.items())
        if (cluster_id, name) not in nodes
    ]
    nodes |= {(node.cluster_id, node.name): node.pk for node in Node.objects.bulk_create(missing, _BATCH)}
    known = {
        (card.node_id, card.index): card.pk for card in Card.objects.filter(node_id__in=sorted(set(nodes.values())))
    }
    needed = {(nodes[lease.cluster_id, lease.node], lease.card_index): lease for lease in reversed(leases)}
    new = [
        Card(node_id=node_id, index=index, flavor_id=lease.flavor_id, health=Card.Health.FAILED)
        for (node_id, index), lease in sorted(needed.items(), key=lambda item: item[0])
        if (node_id, index) not in known
    ]
    known |= {(card.node_id, card.index): card.pk for card in Card.objects.bulk_create(new, _BATCH)}
    return {
        (lease.cluster_id, lease.node, lease.card_index): (
            nodes[lease.cluster_id, lease.node],
            known[nodes[lease.cluster_id, lease.node], lease.card_index],
        )
        for lease in leases
    }


def _jobs(leases: Sequence[PastLease], users: dict[str, int], at: datetime) -> dict[JobKey, Job]:
    of_job = _grouped(leases, lambda lease: lease.job_key)
    jobs = {(job.source, job.source_ref): job for job in _imported_jobs(of_job)}
    for key, job in jobs.items():
        job.started_at = min([job.started_at or at, *(lease.start for lease in of_job[key])])
        job.ended_at = max([job.ended_at or at, *(lease.end for lease in of_job[key])])
        job.runs_count = max(job.runs_count, *(lease.run_number for lease in of_job[key]))
    Job.objects.bulk_update(jobs.values(), ["started_at", "ended_at", "runs_count"], _BATCH)
    new = [_job(key, some, users) for key, some in sorted(of_job.items()) if key not in jobs]
    Job.objects.bulk_create(new, _BATCH)
    transitions.record_new_jobs(new, Cause(reason="imported", at=at))
    return jobs | {(job.source, job.source_ref): job for job in new}


def _job(key: JobKey, leases: Sequence[PastLease], users: dict[str, int]) -> Job:
    last = max(leases, key=lambda lease: (lease.run_number, lease.end, lease.event_id))
    start = min(lease.start for lease in leases)
    return Job(
        tenant_id=last.tenant_id,
        queue_id=last.queue_id,
        user_id=users[last.username],
        name=last.job_name[:_NAME],
        tier=last.tier,
        state=_STATES.get(last.end_reason, JobState.FAILED).value,
        shape_key=_ROLE,
        submitted_at=start,
        order_at=start,
        eligible_at=start,
        started_at=start,
        ended_at=max(lease.end for lease in leases),
        end_reason=last.end_reason,
        runs_count=max(lease.run_number for lease in leases),
        source=key[0],
        source_ref=key[1],
    )


def _runs(leases: Sequence[PastLease], jobs: dict[JobKey, Job], at: datetime) -> dict[tuple[JobKey, int], Run]:
    of_run = _grouped(leases, lambda lease: (lease.job_key, lease.run_number))
    keys = {job.pk: key for key, job in jobs.items()}
    runs = {
        (keys[run.job_id], run.number): run
        for run in Run.objects.filter(job_id__in=sorted(keys))
        if (keys[run.job_id], run.number) in of_run
    }
    for key, run in runs.items():
        run.started_at = min([run.started_at or at, *(lease.start for lease in of_run[key])])
        run.ended_at = max([run.ended_at or at, *(lease.end for lease in of_run[key])])
    Run.objects.bulk_update(runs.values(), ["started_at", "ended_at"], _BATCH)
    new = [_run(jobs[key[0]], key[1], some) for key, some in sorted(of_run.items()) if key not in runs]
    Run.objects.bulk_create(new, _BATCH)
    tenant_ids = {job.pk: job.tenant_id for job in jobs.values()}
    transitions.record_new_runs(new, Cause(reason="imported", at=at), tenant_ids=tenant_ids)
    return runs | {(keys[run.job_id], run.number): run for run in new}


def _run(job: Job, number: int, leases: Sequence[PastLease]) -> Run:
    last = max(leases, key=lambda lease: (lease.end, lease.event_id))
    start = min(lease.start for lease in leases)
    return Run(
        job=job,
        number=number,
        cluster_id=last.cluster_id,
        namespace=last.namespace,
        state=RunState.ENDED.value,
        admitted_at=start,
        admitted_wall=start,
        started_at=start,
        ended_at=last.end,
        last_sign_at=last.last_alive or last.end,
        end_reason=last.end_reason,
    )


@dataclass(slots=True)
class _Place:
    """A pod of an imported run, and its next free slot."""

    pod: Pod
    next_slot: int


def _pods(
    leases: Sequence[PastLease],
    runs: dict[tuple[JobKey, int], Run],
    jobs: dict[JobKey, Job],
    cards: dict[tuple[int, str, int], tuple[int, int]],
) -> list[tuple[Pod, int]]:
    """(pod, slot) of each lease: a pod for each node of a run, slots counted on from what is stored."""
    places, counts = _places(sorted({run.pk for run in runs.values()}))
    placed: list[tuple[Pod, int]] = []
    new: list[Pod] = []
    for lease in leases:
        run = runs[lease.job_key, lease.run_number]
        node_id = cards[lease.cluster_id, lease.node, lease.card_index][0]
        place = places.get((run.pk, node_id))
        if place is None or place.next_slot >= _SLOTS:
            place = _Place(_pod(run, jobs[lease.job_key], node_id, counts[run.pk]), 0)
            counts[run.pk] += 1
            places[run.pk, node_id] = place
            new.append(place.pod)
        placed.append((place.pod, place.next_slot))
        place.next_slot += 1
    Pod.objects.bulk_create(new, _BATCH)
    return placed


def _places(run_ids: list[int]) -> tuple[dict[tuple[int, int], _Place], dict[int, int]]:
    """Stored pods of the runs by run and node (the newest of each), and how many pods each run has."""
    counts: dict[int, int] = defaultdict(int)
    places: dict[tuple[int, int], _Place] = {}
    stored = Pod.objects.filter(run_id__in=run_ids).annotate(last=Max("leases__slot")).order_by("id")
    for pod in stored:
        counts[pod.run_id] += 1
        places[pod.run_id, pod.node_id] = _Place(pod, 0 if pod.last is None else pod.last + 1)
    return places, counts


def _pod(run: Run, job: Job, node_id: int, index: int) -> Pod:
    succeeded = run.end_reason == EndReason.SUCCEEDED
    return Pod(
        run=run,
        role_name=_ROLE,
        rank=index,
        index=index,
        name=f"j{job.pk}-r{run.number}-{_ROLE}-{index}",
        node_id=node_id,
        phase=Pod.Phase.SUCCEEDED if succeeded else Pod.Phase.GONE,
        started_at=run.started_at,
        finished_at=run.ended_at,
        last_sign_at=run.last_sign_at,
    )


def _store_leases(
    leases: Sequence[PastLease],
    runs: dict[tuple[JobKey, int], Run],
    cards: dict[tuple[int, str, int], tuple[int, int]],
    placed: Sequence[tuple[Pod, int]],
    at: datetime,
) -> list[int]:
    """COPY leases, their segments and the identities of the rows they came from; returns the leases' ids.

    Triggers and keys plan their look-ups once a session, by the size a table has then. On a table that starts empty that
    is a scan of all of it, and the import would take the square of its rows: here they are planned anew, by index.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("DISCARD PLANS")
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('scheduling_lease', 'id')) FROM generate_series(1, %s)",
            [len(leases)],
        )
        ids = [row[0] for row in cursor.fetchall()]
        with cursor.copy(f"COPY scheduling_lease ({', '.join(_LEASE)}) FROM STDIN") as copy:
            for lease_id, lease, (pod, slot) in zip(ids, leases, placed, strict=True):
                node_id, card_id = cards[lease.cluster_id, lease.node, lease.card_index]
                run_id = runs[lease.job_key, lease.run_number].pk
                held = (lease.flavor_id, lease.quantity, lease.borrowed, 0, 0, 0, lease.start, lease.end)
                copy.write_row((lease_id, run_id, pod.pk, slot, node_id, card_id, *held))
        with cursor.copy(f"COPY scheduling_leasesegment ({', '.join(_SEGMENT)}) FROM STDIN") as copy:
            for lease_id, lease in zip(ids, leases, strict=True):
                card_id = cards[lease.cluster_id, lease.node, lease.card_index][1]
                for kind, during in _segments(lease):
                    copy.write_row((lease_id, card_id, kind.value, during, lease.quantity, lease.borrowed))
        with cursor.copy(f"COPY scheduling_importedevent ({', '.join(_EVENT)}) FROM STDIN") as copy:
            for lease_id, lease in zip(ids, leases, strict=True):
                copy.write_row((lease.source, lease.event_id, lease.digest, lease_id, at))
        cursor.execute("SET LOCAL enable_seqscan = on")
    return ids


def _segments(lease: PastLease) -> Iterator[tuple[LeaseSegment.Kind, TimestamptzRange]]:
    """All of it is charged, except what lies after the last sign of life (B14)."""
    alive = lease.end if lease.last_alive is None else max(lease.start, lease.last_alive)
    if lease.start < alive:
        yield LeaseSegment.Kind.BILLABLE, TimestamptzRange(lease.start, alive, "[)")
    if alive < lease.end:
        yield LeaseSegment.Kind.AFTER_LAST_SIGN, TimestamptzRange(alive, lease.end, "[)")


def _grouped(leases: Iterable[PastLease], key: Callable[[PastLease], _Key]) -> dict[_Key, list[PastLease]]:
    found: dict[_Key, list[PastLease]] = defaultdict(list)
    for lease in leases:
        found[key(lease)].append(lease)
    return found


def _imported_jobs(keys: Iterable[JobKey]) -> Iterator[Job]:
    by_source: dict[str, list[str]] = defaultdict(list)
    for source, reference in keys:
        by_source[source].append(reference)
    for source, references in sorted(by_source.items()):
        yield from Job.objects.filter(source=source, source_ref__in=references).order_by("id")
