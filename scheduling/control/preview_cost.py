"""What a job may cost by the published prices: an estimate, never a bill (SCH-20)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from typing import Final

from berth.common.units import MIB_PER_GIB, MILLI, PPM
from scheduling.engine.asks import MOST_OPTIONS
from scheduling.engine.instances import SEVENTHS
from scheduling.engine.objective import CHEAPEST
from scheduling.engine.snapshot import Flavor
from scheduling.models import EffectivePrice
from scheduling.selectors.configured import Configured
from scheduling.services.possible import able_flavors
from scheduling.services.resolved import ResolvedJob, ResolvedRole
from scheduling.simulator.eta import EARLIEST_PPM, LIKELY_PPM

S_PER_HOUR: Final = 3600
OWN, BORROWED = "card_hour", "borrowed_card_hour"
Prices = Mapping[tuple[str, int | None], Decimal]
"""(meter, flavor id or None) → price of a unit."""
Pick = tuple[int, ...]
"""A flavor of `Configured.flavors` a role, -1 for a role without cards."""
Costs = tuple[Decimal, Decimal, Decimal]
"""Least, likely, most."""


@dataclass(frozen=True, slots=True)
class CostRange:
    """All None where no run time is declared, or a price is missing."""

    low: Decimal | None
    likely: Decimal | None
    high: Decimal | None
    currency: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What the plan says about the placement: flavor chosen per role (its id), share of the cards that would be borrowed, slow-down."""

    flavors: Mapping[str, int]
    borrowed_ppm: int = 0
    slowdown_ppm: int = 0


def estimate_cost(job: ResolvedJob, config: Configured, expected: Expected | None) -> CostRange:
    """From the choice of flavors that costs least to the one that costs most; `likely` as the plan would place it.

    Only flavors that could ever hold the job count: nobody pays for more cards of a kind than there are.
    With an expected run time (on cards of speed 1, SCH-20) that is what `low` counts, and `likely` with the placement's slow-down
    (SCH-11); with a limit only, the shares of limits that jobs really use, the same as start ranges assume. Nobody pays for longer
    than the limit.
    """
    currency, prices = prices_of(job.queue.tenant_id)
    currency = currency or job.queue.tenant.currency
    picks = list(_picks(job, config))
    rated = [_rated(job, pick, config, prices, expected) for pick in picks]
    costs = [cost for cost in rated if cost is not None]
    if len(costs) < len(rated) or not costs:
        return CostRange(None, None, None, currency)
    placed = _placed(job, picks, config, expected, costs)
    return CostRange(
        low=_round(min(low for low, _likely, _high in costs)),
        likely=_round(costs[placed][1]),
        high=_round(max(high for _low, _likely, high in costs)),
        currency=currency,
    )


def _picks(job: ResolvedJob, config: Configured) -> Iterator[Pick]:
    """A flavor for each role that has cards, -1 for the others; roles take flavors in the order they name them."""
    choices = [(able_flavors(role, job, config) or role.flavors) if role.ask.cards_m else (-1,) for role in job.roles]
    return islice(product(*choices), MOST_OPTIONS)


def _placed(
    job: ResolvedJob, picks: Sequence[Pick], config: Configured, expected: Expected | None, costs: Sequence[Costs]
) -> int:
    """The place of the choice that the plan made; where the job would wait, of the one it is after."""
    ids = [[int(config.flavors[at].id) if at >= 0 else -1 for at in pick] for pick in picks]
    if expected is not None:
        wanted = [expected.flavors.get(role.ask.name, -1) for role in job.roles]
        if wanted in ids:
            return ids.index(wanted)
    if job.ask.objective == CHEAPEST:
        return min(range(len(picks)), key=lambda place: costs[place][1])
    return max(range(len(picks)), key=lambda place: (_speed(job, picks[place], config), -place))


def _speed(job: ResolvedJob, pick: Pick, config: Configured) -> Decimal:
    """A gang is as fast as its slowest cards."""
    speeds = [
        config.flavors[at].speed_ppm for role, at in zip(job.roles, pick, strict=True) if at >= 0 and role.ask.in_gang
    ]
    return Decimal(min(speeds, default=PPM)) / PPM


def _rated(job: ResolvedJob, pick: Pick, config: Configured, prices: Prices, expected: Expected | None) -> Costs | None:
    """What one choice may cost, at the least, likely and at most. None where no run time is declared, or a price is missing."""
    seconds = _seconds(job, expected.slowdown_ppm if expected else 0, _speed(job, pick, config))
    share = Decimal(expected.borrowed_ppm if expected else 0) / PPM
    hourly = [_hourly(role, at, config, prices, share) for role, at in zip(job.roles, pick, strict=True)]
    rates = [rate for rate in hourly if rate is not None]
    if seconds is None or len(rates) < len(hourly):
        return None
    low, likely, high = (sum(rate[at] for rate in rates) * seconds[at] / S_PER_HOUR for at in range(3))
    return low, likely, high


def _seconds(job: ResolvedJob, slowdown_ppm: int, speed: Decimal) -> Costs | None:
    """Shortest, likely and longest run time."""
    expected, limit = job.ask.expected_runtime_s, job.ask.max_runtime_s
    slowed = Decimal(PPM + slowdown_ppm) / PPM
    if expected is None and limit is None:
        return None
    if expected is None:
        most = Decimal(limit or 0)
        return most * EARLIEST_PPM / PPM, most * LIKELY_PPM / PPM, most
    most = expected * slowed / speed if limit is None else Decimal(limit)
    return min(expected / speed, most), min(expected * slowed / speed, most), most


def _hourly(role: ResolvedRole, at: int, config: Configured, prices: Prices, share: Decimal) -> Costs | None:
    """An hour of all pods of the role on the flavor: its lower price, with `share` of the cards borrowed, its higher price."""
    pods = Decimal(role.ask.replicas)
    plain = pods * (
        Decimal(role.cpu_m) / MILLI * prices.get(("cpu_core_hour", None), Decimal(0))
        + Decimal(role.memory_mib) / MIB_PER_GIB * prices.get(("memory_gib_hour", None), Decimal(0))
    )
    if at < 0:
        return plain, plain, plain
    rates = card_rates(config.flavors[at], prices)
    if rates is None:
        return None
    cards = pods * role.ask.cards_m / MILLI
    own, borrowed = rates
    likely = own * (1 - share) + borrowed * share
    return plain + cards * min(rates), plain + cards * likely, plain + cards * max(rates)


def card_rates(flavor: Flavor, prices: Prices) -> tuple[Decimal, Decimal] | None:
    """Own and borrowed, of what an ask counts as one: a MIG instance costs its sevenths of a card's price.

    Where borrowed has no price of its own it costs the same.
    """
    pk = int(flavor.id)
    own = prices.get((OWN, pk), prices.get((OWN, None)))
    if own is None:
        return None
    borrowed = prices.get((BORROWED, pk), prices.get((BORROWED, None), own))
    return own * flavor.sevenths / SEVENTHS, borrowed * flavor.sevenths / SEVENTHS


def prices_of(tenant: int) -> tuple[str, Prices]:
    rows = list(EffectivePrice.objects.filter(tenant_id=tenant).values_list("meter", "flavor_id", "price", "currency"))
    return (rows[0][3] if rows else ""), {(meter, flavor): price for meter, flavor, price, _currency in rows}


def _round(amount: Decimal) -> Decimal:
    return round(amount, 2)
