"""A cluster as files describe it, in the engine's own tables, with the look-ups that jobs need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from berth.common.shown import shown
from scheduling.engine.snapshot import Cards, Flavor, Nodes, Pool, Queue, TreeNode
from scheduling.engine.vocabulary import CardMode, Tier
from scheduling.simulator.problems import WrongValueError

SHARED_POOL = "shared"
"""The pool of flavors, nodes and queues that name none."""
NOT_YET = {
    CardMode.SHARED: "shares of a card (SCH-13)",
    CardMode.MIG: "MIG instances (SCH-13)",
}
"""Card modes that asks may not use yet, as refusals name them."""


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

    def flavors_for(self, names: list[str], queue: int) -> tuple[int, ...]:
        """Flavor indexes of an ask for cards, in the order given; no names = all whole-card flavors of the queue's pool.

        A name without `@` means the queue's own pool. Raises `WrongValueError` for unknown names and modes that come later.
        """
        pool = self.pool_of(queue)
        if not names:
            allowed = {CardMode.WHOLE, CardMode.ANY}
            return tuple(i for i, flavor in enumerate(self.flavors) if flavor.pool == pool and flavor.mode in allowed)
        found = tuple(dict.fromkeys(self.resolve_flavor(name, pool) for name in names))
        for index in found:
            flavor = self.flavors[index]
            if flavor.mode in NOT_YET:
                raise WrongValueError(
                    f"{NOT_YET[flavor.mode]} are not supported yet: flavor {flavor.name} is `{flavor.mode}`"
                )
            if flavor.mode is CardMode.NONE:
                raise WrongValueError(f"flavor {flavor.name} has no cards")
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
