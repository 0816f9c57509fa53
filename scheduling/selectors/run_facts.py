"""Runs as scripts read them: when, where, on whose cards, and how each ended; seven queries at most for any number of jobs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Sum

from scheduling.models import Lease, Loan, Preemption, Run
from scheduling.selectors.asked_cards import asked_m
from scheduling.selectors.run_sizes import RunSize, sizes_of


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`cards_m` and `borrowed_m` are what its leases are (or were) for, open or closed; `nodes` by name. Pods that it goes (or went)
    on without are not counted (SCH-10)."""

    run: Run
    cards_m: int
    borrowed_m: int
    nodes: tuple[str, ...]
    flavors: tuple[str, ...]
    loans: tuple[Loan, ...]
    preemption: Preemption | None
    size: RunSize | None = None
    """None where its job has one size only."""


def runs_of_jobs(job_ids: Sequence[int]) -> dict[int, tuple[RunFacts, ...]]:
    """Runs by job id, oldest first."""
    if not job_ids:
        return {}
    runs = list(
        Run.objects.filter(job_id__in=job_ids).select_related("preemption", "cluster").order_by("job_id", "number")
    )
    held = _held([run.pk for run in runs])
    loans = _loans([run.pk for run in runs])
    sizes = sizes_of(runs)
    found: dict[int, list[RunFacts]] = defaultdict(list)
    for run in runs:
        rows = held.get(run.pk, [])
        found[run.job_id].append(
            RunFacts(
                run=run,
                cards_m=sum(held for _node, _flavor, _borrowed, held in rows),
                borrowed_m=sum(held for _node, _flavor, borrowed, held in rows if borrowed),
                nodes=tuple(sorted({node for node, *_rest in rows})),
                flavors=tuple(sorted({flavor for _node, flavor, *_rest in rows if flavor})),
                loans=tuple(loans.get(run.pk, ())),
                preemption=getattr(run, "preemption", None),
                size=sizes.get(run.pk),
            )
        )
    return {job: tuple(rows) for job, rows in found.items()}


def _held(run_ids: Sequence[int]) -> dict[int, list[tuple[str, str | None, bool, int]]]:
    found: dict[int, list[tuple[str, str | None, bool, int]]] = defaultdict(list)
    rows = (
        Lease.objects.filter(run_id__in=run_ids, pod__released_at__isnull=True)
        .values_list("run_id", "node__name", "flavor__name", "flavor__mig_profile", "borrowed")
        .annotate(units=Sum("quantity"))
        .order_by("run_id", "node__name", "flavor__name", "borrowed")
    )
    for run, node, flavor, profile, borrowed, units in rows:
        found[run].append((node, flavor, borrowed, asked_m(units, profile)))
    return found


def _loans(run_ids: Sequence[int]) -> dict[int, list[Loan]]:
    found: dict[int, list[Loan]] = defaultdict(list)
    rows = (
        Loan.objects.filter(run_id__in=run_ids)
        .select_related("flavor")
        .prefetch_related("sides__queue__tenant", "sides__tenant", "sides__cohort")
    )
    for loan in rows.order_by("id"):
        found[loan.run_id].append(loan)
    return found
