"""A cluster as files describe it, in the engine's own tables, with the look-ups that jobs need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from berth.common.shown import shown
from scheduling.engine.card_modes import SHARE_MODES, WHOLE_MODES, is_share
from scheduling.engine.snapshot import Cards, Flavor, Nodes, Pool, Queue, TreeNode
from scheduling.engine.units import CARD
from scheduling.engine.vocabulary import CardMode, Tier
from scheduling.simulator.problems import WrongValueError

SHARED_POOL = "shared"
"""The pool of flavors, nodes and queues that name none."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Engine tables sorted by id, plus per queue its default tier and per node its built-in number of cards."""

    flavors: tuple[Flavor, ...]
    pools: tuple[Pool, ...]
    nodes: Nodes
    cards: Cards
    tree: tuple[TreeNode, ...]
    queues: tuple[Queue, ...]
    default_tiers: tuple[Tier, ...]
    gpus: tuple[int, ...]
    queue_index: Mapping[str, int] = field(default_factory=dict)
    flavor_index: Mapping[str, int] = field(default_factory=dict)
    node_index: Mapping[str, int] = field(default_factory=dict)

    def pool_of(self, queue: int) -> int:
        """The pool whose flavors the queue's jobs may use; an unknown queue (-1) is looked up in the shared pool."""
        if queue >= 0:
            return self.queues[queue].pool
        names = [pool.name for pool in self.pools]
        return names.index(SHARED_POOL) if SHARED_POOL in names else 0

    def flavors_for(self, names: list[str], queue: int, cards_m: int = CARD) -> tuple[int, ...]:
        """Flavor indexes of an ask for cards, in the order given; no names = those of the queue's pool that hand out cards that way.

        MIG instances are meant where a flavor is named, or where the pool has nothing else. A name without `@` means the queue's own
        pool. Raises `WrongValueError` for unknown names; whether a flavor named can serve the ask is the engine's to say.
        """
        pool = self.pool_of(queue)
        if not names:
            modes = SHARE_MODES if is_share(cards_m) else WHOLE_MODES
            own = [index for index, flavor in enumerate(self.flavors) if flavor.pool == pool]
            found = tuple(index for index in own if self.flavors[index].mode in modes)
            return found or tuple(index for index in own if self.flavors[index].mode is not CardMode.NONE)
        found = tuple(dict.fromkeys(self.resolve_flavor(name, pool) for name in names))
        for index in found:
            if self.flavors[index].mode is CardMode.NONE:
                raise WrongValueError(f"flavor {self.flavors[index].name} has no cards")
        return found

    def resolve_flavor(self, name: str, pool: int) -> int:
        """The index of flavor `name` as seen from `pool`: `name@pool` where there is one, else the name itself."""
        if "@" not in name and self.pools:
            own = self.flavor_index.get(f"{name}@{self.pools[pool].name}")
            if own is not None:
                return own
        index = self.flavor_index.get(name)
        if index is None:
            raise WrongValueError(
                f"unknown flavor {shown(name)}; known: {', '.join(f.name for f in self.flavors) or 'none'}"
            )
        return index
