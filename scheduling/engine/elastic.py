"""SCH-10: the sizes a job may have. Pods are the unit, steps go down from the full size, and the minimum is always one of them.

Which size a job gets is decided elsewhere.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, TypeVar

from scheduling.engine.asks import Option, total_charge
from scheduling.engine.snapshot import Shape

FEW_SIZES: Final = 16
"""So many sizes are tried one by one; of more the largest that fits is found by halving, since a smaller one fits no worse."""
Found = TypeVar("Found")


def is_elastic(shape: Shape) -> bool:
    return any(role.in_gang and role.minimum < role.replicas for role in shape.roles)


def resizable_role(shape: Shape) -> int:
    """The one role that may be resized while the job runs: the first with a range; -1 where none has one."""
    return next((place for place, role in enumerate(shape.roles) if role.in_gang and role.minimum < role.replicas), -1)


@lru_cache(maxsize=4096)
def grid(replicas: int, minimum: int, step: int) -> tuple[int, ...]:
    """Sizes of one role, the smallest first: whole steps down from the full size, and the minimum."""
    return tuple(sorted({minimum, *range(replicas, minimum - 1, -max(1, step))}))


def size_above(shape: Shape, role: int, size: int) -> int | None:
    """The next size of the role's grid; None at full size."""
    sizes = grid(shape.roles[role].replicas, shape.roles[role].minimum, shape.elastic_step)
    place = bisect_left(sizes, size + 1)
    return sizes[place] if place < len(sizes) else None


def size_below(shape: Shape, role: int, size: int) -> int | None:
    """The size one step smaller; None at the minimum."""
    sizes = grid(shape.roles[role].replicas, shape.roles[role].minimum, shape.elastic_step)
    place = bisect_left(sizes, size)
    return sizes[place - 1] if place else None


def list_sizes(shape: Shape, options: Sequence[Option], flavors: int) -> tuple[tuple[Option, ...], ...]:
    """The options at every size that a start may have, the full one first; only that one for a job without a range."""
    if not is_elastic(shape):
        return (tuple(options),)
    spans = [role.replicas - role.minimum if role.in_gang else 0 for role in shape.roles]
    smaller = grid(sum(spans), 0, shape.elastic_step)[:-1]
    sizes = [tuple(options)]
    for left in reversed(smaller):
        counts = {
            role.name: role.replicas - cut
            for role, cut in zip(shape.roles, _spread(sum(spans) - left, spans), strict=True)
        }
        sizes.append(tuple(_of_size(option, counts, flavors) for option in options))
    return tuple(sizes)


def _spread(amount: int, spans: Sequence[int]) -> list[int]:
    """A reduction over the roles in proportion to their ranges: by largest remainder, the earlier role first."""
    total = sum(spans)
    parts = [amount * span // total for span in spans]
    rest = sorted(range(len(spans)), key=lambda role: (-(amount * spans[role] % total), role))
    for role in rest[: amount - sum(parts)]:
        parts[role] += 1
    return parts


def _of_size(option: Option, counts: dict[str, int], flavors: int) -> Option:
    gang = tuple(replace(ask, count=counts[ask.role]) for ask in option.gang)
    return replace(
        option,
        gang=gang,
        amounts=total_charge([(ask, ask.count) for ask in gang], flavors),
        cards_m=sum(ask.cards_m * ask.count for ask in gang),
    )


def largest_fitting(
    sizes: Sequence[tuple[Option, ...]], attempt: Callable[[tuple[Option, ...]], Found | None]
) -> Found | None:
    """What `attempt` finds for the largest of the sizes (largest first) for which it finds anything."""
    if len(sizes) <= FEW_SIZES:
        return _first(attempt(options) for options in sizes)
    best, low, high = None, 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        found = attempt(sizes[middle])
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle
    return best


def _first(found: Iterable[Found | None]) -> Found | None:
    return next((each for each in found if each is not None), None)
