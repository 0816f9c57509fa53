"""SCH-20: in which order a job's flavor choices are tried, by what it is after: the fastest cards, or the cheapest that are in time.

A choice is as fast as the slowest cards of its gang. What it costs is the price of an hour of its cards by the speed at which they
work: dear cards that are fast enough may be the cheaper ones. Choices whose price nobody knows come last.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from scheduling.engine.asks import Option
from scheduling.engine.snapshot import Flavor
from scheduling.engine.units import NEVER, ONE_PPM

CHEAPEST: Final = "cheapest"


def by_objective(options: Sequence[Option], objective: str, flavors: Sequence[Flavor]) -> tuple[Option, ...]:
    """The order to try them in; equally good ones stay in the order in which the roles name their flavors."""
    fastest = sorted(options, key=lambda option: -speed_ppm(option, flavors))
    if objective != CHEAPEST:
        return tuple(fastest)
    costs = [_cost(option, flavors) for option in options]
    unpriced = max((cost for cost in costs if cost is not None), default=Fraction(0)) + 1
    ranks = [unpriced if cost is None else cost for cost in costs]
    return tuple(options[place] for place in sorted(range(len(options)), key=ranks.__getitem__))


def in_time(
    options: Sequence[Option], flavors: Sequence[Flavor], *, expected_ms: int, left_ms: int
) -> tuple[int, ...] | None:
    """Places of the choices with which a run that began now would end before its deadline, in `left_ms`; None where all are.

    Where none is, all are tried, the fastest first: late is better than never, and no later than it must be.
    """
    if expected_ms >= NEVER:
        return None
    good = tuple(
        place for place, option in enumerate(options) if expected_ms * ONE_PPM <= left_ms * speed_ppm(option, flavors)
    )
    return None if len(good) == len(options) else good


def chosen_in_time(options: Sequence[Option], good: Sequence[int], flavors: Sequence[Flavor]) -> tuple[Option, ...]:
    """The choices that are left where only those at the places `good` are in time."""
    if good:
        return tuple(options[place] for place in good)
    return by_objective(options, "fastest", flavors)


def speed_ppm(option: Option, flavors: Sequence[Flavor]) -> int:
    """Of the slowest cards of the gang; that of the whole without any."""
    return min((flavors[ask.flavor].speed_ppm for ask in option.gang if ask.flavor >= 0), default=ONE_PPM)


def _cost(option: Option, flavors: Sequence[Flavor]) -> Fraction | None:
    """Of the work that cards of speed 1 do in an hour, in the price list's currency; None where a price is missing."""
    hour = Fraction(0)
    for ask in option.gang:
        if ask.flavor >= 0:
            price = flavors[ask.flavor].price
            if price is None:
                return None
            hour += Fraction(price) * ask.cards_m * ask.count * flavors[ask.flavor].sevenths
    return hour / speed_ppm(option, flavors)
