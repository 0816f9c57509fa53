"""SCH-06: effective weights from decayed use and idle rate. Runs before the engine: the result is quantised into the tree."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, Decimal

from scheduling.engine.snapshot import TreeNode
from scheduling.engine.units import ONE_PPM

HISTORY_PPM = 300_000
"""k: how much of a weight hangs on past use."""
TARGET_PPM = 600_000
"""Utilisation below which held cards count as idle."""
LARGEST_PENALTY_PPM = 500_000
COVERAGE_PPM = 900_000
"""Share of held card-time that must have samples; below it utilisation is unknown, never idle."""
_EXACT = Context(prec=28)


@dataclass(frozen=True, slots=True)
class Usage:
    """A queue's past: use decayed with a half-life of 7 days, and utilisation over 7 days with its coverage (None = unknown)."""

    decayed_card_ms: int = 0
    utilisation_ppm: int | None = None
    coverage_ppm: int = 0


def weigh(tree: tuple[TreeNode, ...], usage: Mapping[int, Usage]) -> tuple[TreeNode, ...]:
    """The tree with `effective_weight_ppm` and `borrow_scale_ppm` set from `usage` (tree index of a queue -> its past).

    `weight x ((1-k) + k F) x (1-p)`, F = 2^-(U/S) over siblings (F = 1 without siblings); p from rolled-up utilisation.
    """
    rolled = _roll_up(tree, usage)
    return tuple(_weighed(tree, i, rolled) for i in range(len(tree)))


def _roll_up(tree: tuple[TreeNode, ...], usage: Mapping[int, Usage]) -> list[tuple[int, int, int]]:
    """Per node (decayed use, use x utilisation in ppm, use x coverage in ppm), summed over the queues below it."""
    sums = [(0, 0, 0)] * len(tree)
    for index, past in usage.items():
        held = max(1, past.decayed_card_ms)
        known = past.utilisation_ppm is not None
        part = (held, held * (past.utilisation_ppm or 0), held * (past.coverage_ppm if known else 0))
        above = index
        while above >= 0:
            a, b, c = sums[above]
            sums[above] = (a + part[0], b + part[1], c + part[2])
            above = tree[above].parent
    return sums


def _weighed(tree: tuple[TreeNode, ...], index: int, rolled: list[tuple[int, int, int]]) -> TreeNode:
    node = tree[index]
    siblings = [i for i, other in enumerate(tree) if other.parent == node.parent]
    history = _history_ppm(tree, index, siblings, rolled)
    penalty = _penalty_ppm(rolled[index])
    kept = (ONE_PPM - HISTORY_PPM) * ONE_PPM + HISTORY_PPM * history
    weight = node.weight_ppm * kept * (ONE_PPM - penalty) // ONE_PPM**3
    scale = ONE_PPM - penalty if node.kind == "queue" else ONE_PPM
    return replace(node, effective_weight_ppm=weight, borrow_scale_ppm=scale)


def _history_ppm(
    tree: tuple[TreeNode, ...], index: int, siblings: list[int], rolled: list[tuple[int, int, int]]
) -> int:
    used = sum(rolled[i][0] for i in siblings)
    weights = sum(tree[i].weight_ppm for i in siblings)
    if len(siblings) == 1 or used == 0 or tree[index].weight_ppm == 0:
        return ONE_PPM
    share_of_use = _EXACT.divide(Decimal(rolled[index][0] * weights), Decimal(used * tree[index].weight_ppm))
    return int(_EXACT.power(Decimal(2), -share_of_use) * ONE_PPM)


def _penalty_ppm(rolled: tuple[int, int, int]) -> int:
    use, busy, covered = rolled
    if use == 0 or covered < COVERAGE_PPM * use:
        return 0
    utilisation = busy // use
    return max(0, min(LARGEST_PENALTY_PPM, (TARGET_PPM - utilisation) * ONE_PPM // TARGET_PPM))
