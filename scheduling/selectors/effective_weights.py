"""Effective weights with what made them, for people: a queue's and its tenant's, as a cycle of this instant would weigh them (SCH-06)."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from berth.common import clock
from berth.common.units import PPM, from_ppm
from scheduling.engine.policy import PRESETS
from scheduling.engine.weights import Weighing, weighings
from scheduling.selectors.configured import configured
from scheduling.selectors.queue_use import usage_of_queues

CARD_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class WeightParts:
    """`effective = weight x ((1 - k) + k x history) x (1 - penalty)`; shares and weights in ppm, `history_weight_ppm` is k.

    `siblings`: whether there is anybody to share with; without them history says nothing. `utilisation_ppm` None: unknown.
    """

    weight_ppm: int
    history_weight_ppm: int
    coverage_needed_ppm: int
    siblings: bool
    found: Weighing

    @property
    def weight(self) -> Decimal:
        return from_ppm(self.weight_ppm)

    @property
    def effective(self) -> Decimal:
        return from_ppm(self.found.effective_weight_ppm)

    @property
    def history_part(self) -> Decimal:
        """What past use leaves of the weight: (1 - k) + k F."""
        return from_ppm(PPM - self.history_weight_ppm * (PPM - self.found.history_ppm) // PPM)

    @property
    def idle_part(self) -> Decimal:
        """What idle cards leave of it: 1 - p."""
        return from_ppm(PPM - self.found.penalty_ppm)

    @property
    def card_hours(self) -> Decimal:
        """Decayed card-equivalent use."""
        return Decimal(self.found.decayed_card_ms) / CARD_HOUR_MS

    @property
    def is_covered(self) -> bool:
        """Whether enough of what was held has samples for utilisation to count."""
        return self.found.utilisation_ppm is not None and self.found.coverage_ppm >= self.coverage_needed_ppm


@dataclass(frozen=True, slots=True)
class QueueWeights:
    """Of one queue among its tenant's, and of that tenant among its cohort's."""

    queue: WeightParts
    tenant: WeightParts


def weights_of_queues(queues: Iterable[int]) -> dict[int, QueueWeights]:
    """By queue id, in two queries where the kept configuration is still right; queues that are gone are left out."""
    wanted = list(queues)
    if not wanted:
        return {}
    config, policy = configured(), PRESETS["default"]
    if any(("queue", pk) not in config.tree_index for pk in wanted):
        config = configured(fresh=True)
    tree, at = config.tree, config.tree_index
    usage = {at["queue", pk]: past for pk, past in usage_of_queues(clock.now()).items() if ("queue", pk) in at}
    found = weighings(tree.nodes, usage, policy)

    def parts(index: int) -> WeightParts:
        parent = tree.parent[index]
        beside = tree.children[parent] if parent >= 0 else [i for i, above in enumerate(tree.parent) if above < 0]
        return WeightParts(
            tree.nodes[index].weight_ppm,
            policy.history_ppm,
            policy.idle_coverage_ppm,
            len(beside) > 1,
            found[index],
        )

    return {
        pk: QueueWeights(parts(at["queue", pk]), parts(tree.tenant[at["queue", pk]]))
        for pk in wanted
        if ("queue", pk) in at
    }
