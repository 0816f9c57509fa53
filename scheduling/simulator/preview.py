"""What would happen to one more job: admissible or not, when it would start, where, which quota pays, what it would cost.

The candidate joins the snapshot as the newest waiting job and the engine decides as in any cycle; nothing is changed or stored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from scheduling.engine.asks import list_options
from scheduling.engine.classes import ClassBook
from scheduling.engine.instances import SEVENTHS
from scheduling.engine.opening import open_state
from scheduling.engine.plan import Placement, Plan, Start, Wait
from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Id, Pending, Shape, Snapshot
from scheduling.engine.tiers import borrowed_part
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import WaitCode
from scheduling.simulator.eta import EARLIEST_PPM, LIKELY_PPM, CannotTell, Estimate, estimate_starts
from scheduling.simulator.frozen import frozen

Decide = Callable[[Snapshot, Policy, int], Plan]
MS_PER_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job as it would be submitted now; `queue` indexes the snapshot's queues, NEVER = no such time declared."""

    queue: int
    shape: Shape
    tier: int
    priority: int
    limit_ms: int = NEVER
    expected_ms: int = NEVER
    eligible_ms: int = 0
    deadline_ms: int = NEVER
    checkpoints: bool = False


@dataclass(frozen=True, slots=True)
class CostRange:
    """Price of the job's cards for its run time; exact, not rounded. None where no run time or no price is known."""

    low: Decimal
    likely: Decimal
    high: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A placement: pods, levels crossed with their slow-down, and what it strands (whole nodes broken, cards left on them)."""

    pods: tuple[Placement, ...]
    levels_crossed: tuple[str, ...]
    slowdown_ppm: int
    broken_nodes: int
    stranded_m: int


@dataclass(frozen=True, slots=True)
class Preview:
    """`wait` is the reason it would wait with, None where it would start now; `own_m` and `borrowed_m` are milli-cards."""

    admissible: bool
    estimate: Estimate
    wait: Wait | None
    spot: Spot | None
    own_m: int
    borrowed_m: int
    cost: CostRange | None


def preview_job(snapshot: Snapshot, candidate: Candidate, policy: Policy, now_ms: int, *, decide: Decide) -> Preview:
    """Decide with the candidate among the waiting. `decide` is the engine's door (`run_cycle`)."""
    with_it, job = with_candidate(snapshot, candidate, now_ms)
    plan = decide(with_it, policy, now_ms)
    start = next((start for start in plan.starts if start.job == job), None)
    wait = next((wait for wait in plan.waits if wait.job == job), None)
    admissible = wait is None or wait.code is not WaitCode.IMPOSSIBLE
    estimate = estimate_starts(with_it, plan, policy, now_ms)[job] if admissible else CannotTell("impossible")
    own_m, borrowed_m = _split(with_it, candidate, policy, now_ms, start)
    slowdown = start.slowdown_ppm if start is not None else 0
    return Preview(
        admissible=admissible,
        estimate=estimate,
        wait=wait,
        spot=None if start is None else _spot(snapshot, start),
        own_m=own_m,
        borrowed_m=borrowed_m,
        cost=estimate_cost(snapshot, candidate, slowdown),
    )


def with_candidate(snapshot: Snapshot, candidate: Candidate, now_ms: int) -> tuple[Snapshot, Id]:
    """The snapshot with the candidate as its last waiting job, and the id it got (above every other)."""
    shapes = snapshot.shapes if candidate.shape in snapshot.shapes else (*snapshot.shapes, candidate.shape)
    pending = snapshot.pending
    job = _next_id(pending.ids)
    row = {
        "queue": candidate.queue,
        "shape": shapes.index(candidate.shape),
        "tier": candidate.tier,
        "priority": candidate.priority,
        "submit_ms": now_ms,
        "eligible_ms": candidate.eligible_ms,
        "limit_ms": candidate.limit_ms,
        "expected_ms": candidate.expected_ms,
        "deadline_ms": candidate.deadline_ms,
        "hold": 0,
        "backoff_ms": 0,
        "attained_card_ms": 0,
        "checkpoints": candidate.checkpoints,
    }
    columns = {name: frozen(np.append(getattr(pending, name), np.array([value], getattr(pending, name).dtype)))
               for name, value in row.items()}  # fmt: skip
    return replace(snapshot, shapes=shapes, pending=Pending(ids=(*pending.ids, job), **columns)), job


def _next_id(ids: tuple[Id, ...]) -> Id:
    """Above every id of the snapshot, so that columns stay sorted and the candidate comes last among equals."""
    numbers = [job for job in ids if isinstance(job, int)]
    words = [job for job in ids if isinstance(job, str)]
    return f"{max(words)}~" if words else max(numbers, default=0) + 1


def _split(
    snapshot: Snapshot, candidate: Candidate, policy: Policy, now_ms: int, start: Start | None
) -> tuple[int, int]:
    """Milli-cards that nominal and borrowed quota would pay for: as started, else as quota stands now."""
    if start is not None:
        borrowed = sum(pod.borrowed_m for pod in start.pods)
        return sum(pod.cards_m for pod in start.pods) - borrowed, borrowed
    state = open_state(snapshot, policy, now_ms)
    classes = ClassBook(snapshot, state.tree.tenant, state.shares)
    job_class = classes.of(candidate.queue, snapshot.shapes.index(candidate.shape), candidate.tier)
    if not job_class.options:
        return 0, 0
    option = job_class.options[0]
    parts = borrowed_part(state.quota, job_class, option.amounts)
    borrowed = sum(amount for column, amount in parts.items() if column < len(snapshot.flavors))
    return option.cards_m - borrowed, borrowed


def _spot(snapshot: Snapshot, start: Start) -> Spot:
    place = {node: index for index, node in enumerate(snapshot.nodes.ids)}
    healthy = np.bincount(snapshot.cards.node[snapshot.cards.healthy], minlength=len(snapshot.nodes)) * CARD
    held = np.zeros(len(snapshot.nodes), dtype=np.int64)
    np.add.at(held, snapshot.pods.node, snapshot.pods.cards_m)
    taken: dict[int, int] = {}
    for pod in start.pods:
        if pod.cards_m:
            taken[place[pod.node]] = taken.get(place[pod.node], 0) + pod.cards_m
    broken = {
        node: int(healthy[node]) - cards for node, cards in taken.items() if held[node] == 0 and cards < healthy[node]
    }
    return Spot(start.pods, start.levels_crossed, start.slowdown_ppm, len(broken), sum(broken.values()))


def estimate_cost(snapshot: Snapshot, candidate: Candidate, slowdown_ppm: int) -> CostRange | None:
    """Cards x run time x list price of the dearest and cheapest flavor choice; likely is that of the first choice."""
    times = _run_times(candidate, slowdown_ppm)
    pool = snapshot.queues[candidate.queue].pool
    options = list_options(candidate.shape, pool, snapshot.flavors)
    if times is None or not options:
        return None
    rates: list[Decimal] = []
    currencies: set[str] = set()
    for option in options:
        rate = Decimal(0)
        for ask in (*option.gang, *option.later):
            if ask.flavor < 0:
                continue
            flavor = snapshot.flavors[ask.flavor]
            if flavor.price is None:
                return None
            currencies.add(flavor.currency)
            rate += flavor.price * ask.cards_m * ask.count * flavor.sevenths / (CARD * SEVENTHS)
        rates.append(rate)
    if len(currencies) != 1:
        return None
    low, likely, high = (Decimal(ms) / MS_PER_HOUR for ms in times)
    return CostRange(min(rates) * low, rates[0] * likely, max(rates) * high, currencies.pop())


def _run_times(candidate: Candidate, slowdown_ppm: int) -> tuple[int, int, int] | None:
    """Shortest, likely and longest run time in ms; the expected one is stretched by topology's slow-down (SCH-11)."""
    limit, expected = candidate.limit_ms, candidate.expected_ms
    if expected >= NEVER and limit >= NEVER:
        return None
    if expected < NEVER:
        expected = min(limit, expected * (ONE_PPM + slowdown_ppm) // ONE_PPM)
        return min(expected, candidate.expected_ms), expected, expected if limit >= NEVER else limit
    return limit * EARLIEST_PPM // ONE_PPM, limit * LIKELY_PPM // ONE_PPM, limit
