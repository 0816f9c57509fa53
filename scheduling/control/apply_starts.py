"""Starts of a plan become rows: run, pods, leases, loans, all reserved before any cluster hears of them (F01)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from berth.common import clock
from scheduling.cluster.names import pod_name
from scheduling.control.lock import Leadership
from scheduling.control.run_specs import token_digest
from scheduling.engine.plan import LoanOpen, Placement, Start
from scheduling.engine.units import CARD
from scheduling.models import Card, Job, Lease, Loan, LoanSide, Pod, Role, Run
from scheduling.selectors.asked_cards import mig_profiles, unit_of
from scheduling.states import JobState
from scheduling.transitions import Cause, move_jobs, record_new_runs

BATCH = 2_000


@dataclass(slots=True)
class Started:
    """Jobs that started, jobs whose decision was stale (they changed meanwhile), and jobs whose rows the database refused."""

    started: list[int] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


def apply_starts(starts: Sequence[Start], *, now: datetime, cycle_id: int, leadership: Leadership) -> Started:
    """All starts at once; where the database refuses, one by one, so that a bad one takes only itself down (SCH-23)."""
    done = Started()
    if not starts:
        return done
    try:
        with transaction.atomic():
            _apply(starts, done, now=now, cycle_id=cycle_id, leadership=leadership)
    except IntegrityError:
        done = Started()
        for start in starts:
            try:
                with transaction.atomic():
                    _apply([start], done, now=now, cycle_id=cycle_id, leadership=leadership)
            except IntegrityError as error:
                done.refused[int(start.job)] = str(error).partition("\n")[0]
    return done


def _apply(starts: Sequence[Start], done: Started, *, now: datetime, cycle_id: int, leadership: Leadership) -> None:
    cause = Cause(reason="admitted", at=now, cycle_id=cycle_id, epoch=leadership.epoch)
    wanted = {int(start.job): start for start in starts}
    changes = {"runs_count": F("runs_count") + 1, "planner_faults": 0}
    moved = move_jobs(sorted(wanted), old=(JobState.QUEUED,), new=JobState.STARTING, cause=cause, changes=changes)
    jobs = Job.objects.select_related("tenant", "queue__pool").in_bulk(moved)
    runs = _create_runs(jobs, wanted, now=now, epoch=leadership.epoch)
    record_new_runs(list(runs.values()), cause, tenant_ids={job.pk: job.tenant_id for job in jobs.values()})
    pods = _create_pods(runs, wanted)
    _create_leases(runs, pods, wanted, now)
    _create_loans(runs, jobs, wanted, now)
    done.started += moved
    done.stale += sorted(set(wanted) - set(moved))


def _create_runs(jobs: Mapping[int, Job], starts: Mapping[int, Start], *, now: datetime, epoch: int) -> dict[int, Run]:
    wall = clock.wall_now()
    rows = [
        Run(
            job=job,
            number=job.runs_count,
            cluster_id=job.queue.pool.cluster_id,
            namespace=f"{job.tenant.slug}-{job.queue.environment}",
            epoch=epoch,
            admitted_at=now,
            admitted_wall=wall,
            slowdown_ppm=starts[pk].slowdown_ppm,
            levels_crossed=",".join(starts[pk].levels_crossed)[:200],
            resumes=job.runs_count > 1 and bool(job.checkpoint_path),
            token_digest=token_digest(pk, job.runs_count),
        )
        for pk, job in sorted(jobs.items())
    ]
    return {run.job_id: run for run in Run.objects.bulk_create(rows, BATCH)}


def _create_pods(runs: Mapping[int, Run], starts: Mapping[int, Start]) -> dict[tuple[int, str, int], Pod]:
    """Ranks run over the gang in the order of roles and indexes; roles outside it follow."""
    roles = {
        (job, name): (not in_gang, position)
        for job, name, in_gang, position in Role.objects.filter(job_id__in=runs).values_list(
            "job_id", "name", "in_gang", "position"
        )
    }
    rows = []
    for job, run in sorted(runs.items()):
        ordered = sorted(starts[job].pods, key=lambda pod: (*roles[job, pod.role], pod.index))
        rows += [
            Pod(
                run=run,
                role_name=pod.role,
                rank=rank,
                index=pod.index,
                name=pod_name(job, run.number, pod.role, pod.index),
                node_id=pod.node,
                in_gang=not roles[job, pod.role][0],
            )
            for rank, pod in enumerate(ordered)
        ]
    return {(pod.run_id, pod.role_name, pod.index): pod for pod in Pod.objects.bulk_create(rows, BATCH)}


def _create_leases(
    runs: Mapping[int, Run], pods: Mapping[tuple[int, str, int], Pod], starts: Mapping[int, Start], now: datetime
) -> None:
    cards = _Cards(pod for job in runs for pod in starts[job].pods)
    rows = []
    for job, run in sorted(runs.items()):
        for placement in starts[job].pods:
            pod = pods[run.pk, placement.role, placement.index]
            rows += [Lease(run=run, pod=pod, opened_at=now, **slot) for slot in _slots(placement, cards)]
    Lease.objects.bulk_create(rows, BATCH)


def create_leases(
    run: Run, pods: Mapping[tuple[str, int], Pod], placements: Sequence[Placement], now: datetime
) -> None:
    """Of pods that join a run, by role and index."""
    cards = _Cards(placements)
    rows = [
        Lease(run=run, pod=pods[placement.role, placement.index], opened_at=now, **slot)
        for placement in placements
        for slot in _slots(placement, cards)
    ]
    Lease.objects.bulk_create(rows, BATCH)


class _Cards:
    """Cards of the nodes of some placements, and the MIG profiles of flavors; two queries."""

    def __init__(self, placements: Iterable[Placement]) -> None:
        nodes = {pod.node for pod in placements if pod.cards}
        found = Card.objects.filter(node_id__in=nodes).values_list("pk", "node_id", "index")
        self.ids: Mapping[tuple[Any, int], int] = {(node, index): pk for pk, node, index in found}
        self.profiles = mig_profiles() if nodes else {}

    def units(self, placement: Placement) -> int:
        """What one lease of the pod holds of its card, in 1/7000: all of it, its share, or as many sevenths as a MIG instance is."""
        profile = self.profiles.get(int(placement.flavor or 0))
        return min(placement.cards_m, CARD) * unit_of(profile) // CARD


def _slots(placement: Placement, cards: _Cards) -> list[dict[str, Any]]:
    """One lease a card or MIG instance, own ones first; CPU and memory stand on the first. A share has one lease.

    A pod without cards has one lease all the same.
    """
    common = {"node_id": placement.node, "flavor_id": placement.flavor}
    first = {"cpu_m": placement.cpu_m, "memory_mib": placement.memory_mib}
    if not placement.cards_m:
        return [{**common, **first, "slot": 0}]
    count = max(1, placement.cards_m // CARD)
    unit_m = min(placement.cards_m, CARD)
    own = count - placement.borrowed_m // unit_m
    return [
        {
            **common,
            **(first if slot == 0 else {}),
            "slot": slot,
            "card_id": cards.ids[placement.node, index],
            "quantity": cards.units(placement),
            "borrowed": slot >= own,
            "vram_mib": placement.vram_mib // count,
        }
        for slot, index in enumerate(placement.cards)
    ]


def _create_loans(runs: Mapping[int, Run], jobs: Mapping[int, Job], starts: Mapping[int, Start], now: datetime) -> None:
    open_loans(
        [(run, jobs[job].queue_id, loan) for job, run in sorted(runs.items()) for loan in starts[job].loans], now=now
    )


def open_loans(loans: Sequence[tuple[Run, int, LoanOpen]], *, now: datetime) -> None:
    """Loans to (run, its queue) and the sides that lend them."""
    rows = Loan.objects.bulk_create(
        [
            Loan(
                run=run,
                queue_id=queue_id,
                flavor_id=loan.flavor,
                amount_m=loan.amount_m,
                opened_at=now,
                expires_at=datetime.fromtimestamp(loan.expires_ms / 1000, UTC),
            )
            for run, queue_id, loan in loans
        ],
        BATCH,
    )
    sides = [
        LoanSide(loan=row, amount_m=amount, **{f"{kind}_id": pk})
        for row, (_run, _queue, loan) in zip(rows, loans, strict=True)
        for kind, pk, amount in loan.sides
    ]
    LoanSide.objects.bulk_create(sides, BATCH)
