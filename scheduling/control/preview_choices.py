"""SCH-20: what a job that accepts several kinds of cards would take, after speed and after price: both, with end and cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from scheduling.control.preview_cost import S_PER_HOUR, Prices, card_rates, prices_of
from scheduling.engine.asks import Option, list_options
from scheduling.engine.objective import CHEAPEST, by_objective, speed_ppm
from scheduling.engine.plan import Start
from scheduling.engine.snapshot import Flavor, Snapshot
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.simulator.preview import Candidate

FASTEST: Final = "fastest"
MS_PER_S: Final = 1000


@dataclass(frozen=True, slots=True)
class Choice:
    """`objectives` that lead to it, flavor names by role, run time and cost (None where nothing is declared or priced).

    `in_time` is None without a deadline. `chosen` is what the job would start on now.
    """

    objectives: tuple[str, ...]
    flavors: dict[str, str]
    speed_ppm: int
    runtime_ms: int | None
    cost: Decimal | None
    in_time: bool | None
    chosen: bool


def list_choices(
    snapshot: Snapshot, candidate: Candidate, start: Start | None, tenant: int, now_ms: int
) -> tuple[Choice, ...]:
    """The fastest and the cheapest choice, once where they are the same; none for a job with one choice only."""
    flavors = snapshot.flavors
    options = list_options(candidate.shape, snapshot.queues[candidate.queue].pool, flavors)
    if len(options) < 2:
        return ()
    _currency, prices = prices_of(tenant)
    best = {objective: by_objective(options, objective, flavors)[0] for objective in (FASTEST, CHEAPEST)}
    found = []
    for option in dict.fromkeys(best.values()):
        objectives = tuple(objective for objective, its in best.items() if its == option)
        found.append(_choice(option, objectives, candidate, start, prices, flavors, now_ms))
    return tuple(found)


def _choice(
    option: Option,
    objectives: tuple[str, ...],
    candidate: Candidate,
    start: Start | None,
    prices: Prices,
    flavors: tuple[Flavor, ...],
    now_ms: int,
) -> Choice:
    speed = speed_ppm(option, flavors)
    runtime = (
        min(candidate.expected_ms * ONE_PPM // speed, candidate.limit_ms) if candidate.expected_ms < NEVER else None
    )
    names = {ask.role: flavors[ask.flavor].name for ask in option.gang if ask.flavor >= 0}
    begun = {} if start is None else {pod.role: pod.flavor for pod in start.pods if pod.flavor is not None}
    return Choice(
        objectives=objectives,
        flavors=names,
        speed_ppm=speed,
        runtime_ms=runtime,
        cost=None if runtime is None else _cost(option, prices, flavors, runtime),
        in_time=None
        if candidate.deadline_ms >= NEVER or runtime is None
        else now_ms + runtime <= candidate.deadline_ms,
        chosen=bool(begun)
        and all(begun.get(ask.role) == flavors[ask.flavor].id for ask in option.gang if ask.flavor >= 0),
    )


def _cost(option: Option, prices: Prices, flavors: tuple[Flavor, ...], runtime_ms: int) -> Decimal | None:
    """Of its cards at the tenant's own price; what is borrowed or not is told where the quota is."""
    hourly = list(_hourly(option, prices, flavors))
    known = [rate for rate in hourly if rate is not None]
    if len(known) < len(hourly):
        return None
    return round(sum(known, Decimal(0)) * runtime_ms / MS_PER_S / S_PER_HOUR, 2)


def _hourly(option: Option, prices: Prices, flavors: tuple[Flavor, ...]) -> Iterator[Decimal | None]:
    for ask in option.gang:
        if ask.flavor >= 0:
            rates = card_rates(flavors[ask.flavor], prices)
            yield None if rates is None else rates[0] * ask.cards_m * ask.count / CARD
