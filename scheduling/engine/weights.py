"""SCH-06: effective weights from decayed use and idle rate. Runs before the engine: the result is quantised into the tree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Final

from scheduling.engine.policy import PRESETS, Policy
from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import ONE_PPM

HALF_LIFE_MS: Final = 7 * 86_400_000
"""After this long a card-second that was held counts half. Stored use is decayed by it, so it is no policy field."""
_BITS: Final = 64


def _roots() -> tuple[int, ...]:
    """2^-(1/2), 2^-(1/4), 2^-(1/8) ... in units of 2^-64, by integer square roots."""
    found = [isqrt(1 << (2 * _BITS - 1))]
    while len(found) < _BITS // 2:
        found.append(isqrt(found[-1] << _BITS))
    return tuple(found)


_ROOTS: Final = _roots()


@dataclass(frozen=True, slots=True)
class Usage:
    """A queue's past: use decayed with a half-life of 7 days, utilisation over 7 days and its coverage (None = unknown).

    `held_card_ms` is the card-time of those 7 days, 0 where a file does not tell it: then queues are rolled up by decayed use.
    """

    decayed_card_ms: int = 0
    utilisation_ppm: int | None = None
    coverage_ppm: int = 0
    held_card_ms: int = 0


@dataclass(frozen=True, slots=True)
class Weighing:
    """What made a tree node's effective weight: its parts, of the use of all queues below it.

    `penalty_ppm` is p, 0 where too little is covered; `utilisation_ppm` is None where nothing is known.
    """

    effective_weight_ppm: int
    history_ppm: int
    penalty_ppm: int
    utilisation_ppm: int | None
    coverage_ppm: int
    decayed_card_ms: int


@dataclass(slots=True)
class _Rolled:
    """Summed over the queues below a node; `covered` and `busy` in card-time x ppm (x ppm)."""

    decayed: int = 0
    held: int = 0
    covered: int = 0
    busy: int = 0

    def add(self, past: Usage) -> None:
        held = max(1, past.held_card_ms or past.decayed_card_ms)
        self.decayed += past.decayed_card_ms
        self.held += held
        if past.utilisation_ppm is not None:
            self.covered += held * past.coverage_ppm
            self.busy += held * past.coverage_ppm * past.utilisation_ppm

    @property
    def coverage_ppm(self) -> int:
        return self.covered // self.held if self.held else 0

    @property
    def utilisation_ppm(self) -> int | None:
        """Over the time that has samples: time without them is unknown, never idle."""
        return self.busy // self.covered if self.covered else None


def weigh(
    tree: tuple[TreeNode, ...], usage: Mapping[int, Usage], policy: Policy = PRESETS["default"]
) -> tuple[TreeNode, ...]:
    """The tree with `effective_weight_ppm` and `borrow_scale_ppm` set from `usage` (tree index of a queue -> its past)."""
    return tuple(
        replace(
            node,
            effective_weight_ppm=found.effective_weight_ppm,
            borrow_scale_ppm=ONE_PPM - found.penalty_ppm if node.kind == "queue" else ONE_PPM,
        )
        for node, found in zip(tree, weighings(tree, usage, policy), strict=True)
    )


def weighings(tree: Sequence[TreeNode], usage: Mapping[int, Usage], policy: Policy) -> tuple[Weighing, ...]:
    """By tree index: `weight x ((1-k) + k F) x (1-p)`, F = 2^-(U/S) over siblings (1 without siblings), p from rolled-up use."""
    rolled = _roll_up(tree, usage)
    siblings: dict[int, list[int]] = {}
    for index, node in enumerate(tree):
        siblings.setdefault(node.parent, []).append(index)
    sums = {
        parent: (len(below), sum(rolled[i].decayed for i in below), sum(tree[i].weight_ppm for i in below))
        for parent, below in siblings.items()
    }
    return tuple(_weighing(node, rolled[i], sums[node.parent], policy) for i, node in enumerate(tree))


def _roll_up(tree: Sequence[TreeNode], usage: Mapping[int, Usage]) -> list[_Rolled]:
    sums = [_Rolled() for _ in tree]
    for index, past in usage.items():
        above = index
        while above >= 0:
            sums[above].add(past)
            above = tree[above].parent
    return sums


def _weighing(node: TreeNode, rolled: _Rolled, siblings: tuple[int, int, int], policy: Policy) -> Weighing:
    history, penalty = _history_ppm(node, rolled, siblings), _penalty_ppm(rolled, policy)
    kept = (ONE_PPM - policy.history_ppm) * ONE_PPM + policy.history_ppm * history
    weight = node.weight_ppm * kept * (ONE_PPM - penalty) // ONE_PPM**3
    return Weighing(weight, history, penalty, rolled.utilisation_ppm, rolled.coverage_ppm, rolled.decayed)


def _history_ppm(node: TreeNode, rolled: _Rolled, siblings: tuple[int, int, int]) -> int:
    """F: 1 for who used nothing, 1/2 for who used as much as its weight stands for, 1/4 for twice that."""
    count, used, weights = siblings
    if count == 1 or not used or not node.weight_ppm:
        return ONE_PPM
    return _half_to((rolled.decayed * weights << (_BITS // 2)) // (used * node.weight_ppm))


def _half_to(exponent: int) -> int:
    """2^-exponent in ppm, the exponent in units of 2^-32. In integers, so that no machine rounds it another way."""
    whole, part = divmod(exponent, 1 << (_BITS // 2))
    value = 1 << _BITS
    for root, bit in zip(_ROOTS, _bits_of(part), strict=True):
        if bit:
            value = value * root >> _BITS
    return value * ONE_PPM >> _BITS + min(whole, _BITS)


def _bits_of(part: int) -> Iterable[int]:
    """The bits of a fraction, the halves first."""
    return (part >> place & 1 for place in range(_BITS // 2 - 1, -1, -1))


def _penalty_ppm(rolled: _Rolled, policy: Policy) -> int:
    """p: how far utilisation lies below its target, 0 where too little of what was held has samples."""
    utilisation, target = rolled.utilisation_ppm, policy.idle_target_ppm
    if utilisation is None or not target or rolled.covered < policy.idle_coverage_ppm * rolled.held:
        return 0
    return max(0, min(policy.idle_penalty_ppm, (target - utilisation) * ONE_PPM // target))
