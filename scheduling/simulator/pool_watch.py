"""SCH-15 in a replay, where nobody measures cards: how long over-committed pools have had too much of theirs allocated."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from scheduling.engine.policy import Policy
from scheduling.engine.snapshot import Pool
from scheduling.engine.units import CARD, NEVER, ONE_PPM
from scheduling.engine.vocabulary import NodeState
from scheduling.engine.watermark import NodeUse, how_busy
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.held import CARDS, Held


@dataclass(slots=True)
class PoolWatch:
    """Looks at what is allocated every `watermark_every_ms` from the instant it passes the high watermark."""

    cluster: Cluster
    policy: Policy
    _watched: dict[int, list[int]] = field(init=False)
    """Milli-cards in service by node, of pools with a factor above 1; 0 for the nodes of others."""
    _above_ms: dict[int, int] = field(default_factory=dict)
    _relieved_ms: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes, cards = self.cluster.nodes, self.cluster.cards
        self._watched = {
            index: [0] * len(nodes) for index, pool in enumerate(self.cluster.pools) if pool.factor_ppm > ONE_PPM
        }
        pools, states = nodes.pool.tolist(), nodes.state.tolist()
        for node, healthy in zip(cards.node.tolist(), cards.healthy.tolist(), strict=True):
            if healthy and pools[node] in self._watched and states[node] != NodeState.LOST:
                self._watched[pools[node]][node] += CARD

    def look(self, runs: Iterable[Held], now_ms: int) -> None:
        """Note which pools are above their high watermark now."""
        if not self._watched:
            return
        held = [0] * len(self.cluster.nodes)
        for run in runs:
            for node, cards_m in zip(run.nodes.tolist(), run.block[CARDS].tolist(), strict=True):
                held[node] += cards_m
        for pool, cards in self._watched.items():
            use = (NodeUse(cards_m, held_m, -1) for cards_m, held_m in zip(cards, held, strict=True))
            if how_busy(use).is_above(self.cluster.pools[pool].high_ppm):
                self._above_ms.setdefault(pool, now_ms)
            else:
                self._above_ms.pop(pool, None)

    def relieve(self, pool: int, now_ms: int) -> None:
        """Somebody had to leave the pool for it: samples count anew."""
        self._relieved_ms[pool] = now_ms
        self._above_ms.pop(pool, None)

    def pools(self, now_ms: int) -> tuple[Pool, ...]:
        """The pools with what the samples so far say."""
        if not self._watched:
            return self.cluster.pools
        return tuple(
            replace(pool, samples_above=self._samples(index, now_ms), relieved_ms=self._relieved_ms.get(index, -1))
            for index, pool in enumerate(self.cluster.pools)
        )

    def _samples(self, pool: int, now_ms: int) -> int:
        since_ms = self._above_ms.get(pool)
        return 0 if since_ms is None else 1 + (now_ms - since_ms) // max(1, self.policy.watermark_every_ms)

    def next_ms(self, now_ms: int) -> int:
        """When enough samples in a row will be above, or over-committed work may start again; NEVER where neither is ahead."""
        after_ms = (self.policy.watermark_samples - 1) * self.policy.watermark_every_ms
        ahead = [since_ms + after_ms for since_ms in self._above_ms.values()]
        ahead += [at_ms + self.policy.watermark_hold_ms for at_ms in self._relieved_ms.values()]
        return min((at_ms for at_ms in ahead if at_ms > now_ms), default=NEVER)
