"""What a job may cost by the published prices: an estimate, never a bill (SCH-20)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from berth.common.units import MIB_PER_GIB, MILLI, PPM
from scheduling.models import EffectivePrice
from scheduling.selectors.configured import Configured
from scheduling.services.possible import able_flavors
from scheduling.services.resolved import ResolvedJob, ResolvedRole
from scheduling.simulator.eta import EARLIEST_PPM, LIKELY_PPM

S_PER_HOUR: Final = 3600
OWN, BORROWED = "card_hour", "borrowed_card_hour"
Prices = Mapping[tuple[str, int | None], Decimal]
"""(meter, flavor id or None) → price of a unit."""


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
    """From the cheapest flavor at the shortest time to the dearest at the longest; `likely` as the plan would place it.

    Only flavors that could ever hold the job count: nobody pays for more cards of a kind than there are.
    With an expected run time that is what `low` counts, and `likely` with the placement's slow-down (SCH-11); with a limit only, the
    shares of limits that jobs really use, the same as start ranges assume. Nobody pays for longer than the limit.
    """
    currency, prices = prices_of(job.queue.tenant_id)
    currency = currency or job.queue.tenant.currency
    able = [able_flavors(role, job, config) or role.flavors for role in job.roles]
    seconds = _seconds(job, expected.slowdown_ppm if expected else 0, _speeds(job, able, config, expected))
    hourly = [_hourly(role, flavors, config, prices, expected) for role, flavors in zip(job.roles, able, strict=True)]
    if seconds is None or any(rate is None for rate in hourly):
        return CostRange(None, None, None, currency)
    low, likely, high = (sum(rate[at] for rate in hourly if rate) for at in range(3))
    return CostRange(
        low=_round(low * seconds[0] / S_PER_HOUR),
        likely=_round(likely * seconds[1] / S_PER_HOUR),
        high=_round(high * seconds[2] / S_PER_HOUR),
        currency=currency,
    )


def _speeds(
    job: ResolvedJob, able: Sequence[Sequence[int]], config: Configured, expected: Expected | None
) -> tuple[Decimal, Decimal, Decimal]:
    """Of the fastest cards that could hold the job, of those it would get, and of the slowest; a gang is as fast as its slowest role."""
    fastest = likely = slowest = PPM
    roles = [
        (role, {int(config.flavors[at].id): config.flavors[at].speed_ppm for at in flavors})
        for role, flavors in zip(job.roles, able, strict=True)
        if role.ask.cards_m and role.ask.in_gang
    ]
    if roles:
        fastest = min(max(speeds.values()) for _role, speeds in roles)
        slowest = min(min(speeds.values()) for _role, speeds in roles)
        placed = expected.flavors if expected else {}
        likely = min(speeds.get(placed.get(role.ask.name, -1), max(speeds.values())) for role, speeds in roles)
    return Decimal(fastest) / PPM, Decimal(likely) / PPM, Decimal(slowest) / PPM


def _seconds(
    job: ResolvedJob, slowdown_ppm: int, speeds: tuple[Decimal, Decimal, Decimal]
) -> tuple[Decimal, Decimal, Decimal] | None:
    """Shortest, likely and longest run time; an expected one is that of cards of speed 1."""
    expected, limit = job.ask.expected_runtime_s, job.ask.max_runtime_s
    slowed = Decimal(PPM + slowdown_ppm) / PPM
    if expected is None and limit is None:
        return None
    if expected is None:
        most = Decimal(limit or 0)
        return most * EARLIEST_PPM / PPM, most * LIKELY_PPM / PPM, most
    fastest, likely, slowest = speeds
    most = expected * slowed / slowest if limit is None else Decimal(limit)
    return min(expected / fastest, most), min(expected * slowed / likely, most), most


def _hourly(
    role: ResolvedRole, flavors: Sequence[int], config: Configured, prices: Prices, expected: Expected | None
) -> tuple[Decimal, Decimal, Decimal] | None:
    """An hour of all pods of the role: cheapest, as placed, dearest of `flavors`. None where a price is missing."""
    pods = Decimal(role.ask.replicas)
    plain = pods * (
        Decimal(role.cpu_m) / MILLI * prices.get(("cpu_core_hour", None), Decimal(0))
        + Decimal(role.memory_mib) / MIB_PER_GIB * prices.get(("memory_gib_hour", None), Decimal(0))
    )
    if not role.ask.cards_m:
        return plain, plain, plain
    cards = pods * role.ask.cards_m / MILLI
    rates = {int(config.flavors[at].id): card_rates(int(config.flavors[at].id), prices) for at in flavors}
    known = {flavor: rate for flavor, rate in rates.items() if rate is not None}
    if len(known) < len(rates) or not known:
        return None
    chosen = known.get(expected.flavors.get(role.ask.name, -1)) if expected else None
    own, borrowed = chosen or min(known.values())
    share = Decimal(expected.borrowed_ppm if expected else 0) / PPM
    likely = own * (1 - share) + borrowed * share
    cheapest = min(min(rate) for rate in known.values())
    dearest = max(max(rate) for rate in known.values())
    return plain + cards * cheapest, plain + cards * likely, plain + cards * dearest


def card_rates(flavor: int, prices: Prices) -> tuple[Decimal, Decimal] | None:
    """Own and borrowed; where borrowed has no price of its own it costs the same."""
    own = prices.get((OWN, flavor), prices.get((OWN, None)))
    if own is None:
        return None
    return own, prices.get((BORROWED, flavor), prices.get((BORROWED, None), own))


def prices_of(tenant: int) -> tuple[str, Prices]:
    rows = list(EffectivePrice.objects.filter(tenant_id=tenant).values_list("meter", "flavor_id", "price", "currency"))
    return (rows[0][3] if rows else ""), {(meter, flavor): price for meter, flavor, price, _currency in rows}


def _round(amount: Decimal) -> Decimal:
    return round(amount, 2)
