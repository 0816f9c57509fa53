"""Jobs that configured capacity and limits can never run (SCH-21): refused at submit, `impossible` when it became so since."""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.engine.asks import Option, PodAsk
from scheduling.engine.classes import JobClass
from scheduling.engine.nodes import NodeBook, NodeTable
from scheduling.engine.placement import place_gang
from scheduling.engine.quota import QuotaTree
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.tiers import TierRules
from scheduling.engine.units import ONE_PPM
from scheduling.engine.vocabulary import Tier, TopologyMode


@dataclass(frozen=True, slots=True)
class Impossible:
    """`detail` is `flavor`, `quota`, `max-pool-share`, `node-shape`, `cards` or `topology`. `lacks` are (resource key, need, have) in engine units."""

    detail: str
    lacks: tuple[tuple[str, int, int], ...] = ()


class Capacity:
    """The empty cluster: every node as if ready and idle, with its healthy cards. Built when first needed."""

    def __init__(self, snapshot: Snapshot, table: NodeTable, tree: QuotaTree, rules: TierRules) -> None:
        self._snapshot, self._table, self._tree, self._rules = snapshot, table, tree, rules
        self._book: NodeBook | None = None
        self._fits: dict[tuple[int, int, tuple[int, ...]], Impossible | None] = {}

    def find(self, job_class: JobClass) -> Impossible | None:
        """Why no flavor choice can ever run, judged by the choice that comes nearest; None where one can."""
        problems = [
            self._quota(job_class, option) or self._share(job_class, option) or self._nodes(job_class, option)
            for option in job_class.smallest
        ]
        if not problems:
            return Impossible("flavor")
        return None if None in problems else problems[0]

    def _quota(self, job_class: JobClass, option: Option) -> Impossible | None:
        """More than the queue could have if everybody else were idle; production: more than its tenant's backed nominal."""
        for column, amount in option.amounts:
            most = self._tree.potential(job_class.leaf, column)
            if job_class.tier == Tier.PRODUCTION:
                most = min(most, self._rules.backed(job_class.tenant, column, job_class.pool))
            if amount > most:
                return Impossible("quota", tuple((key, amount, most) for key in keys_of(self._snapshot, column)))
        return None

    def _share(self, job_class: JobClass, option: Option) -> Impossible | None:
        """More than its queue may hold of its pool at a time."""
        share = self._snapshot.queues[job_class.queue].max_pool_share_ppm
        most = option.cards_m if share is None else self._table.pool_cards_m[job_class.pool] * share // ONE_PPM
        return Impossible("max-pool-share", (("gpu", option.cards_m, most),)) if option.cards_m > most else None

    def _nodes(self, job_class: JobClass, option: Option) -> Impossible | None:
        key = (job_class.shape_index, job_class.pool, tuple(ask.flavor for ask in option.gang))
        if key not in self._fits:
            self._fits[key] = self._try(job_class, option)
        return self._fits[key]

    def _try(self, job_class: JobClass, option: Option) -> Impossible | None:
        if self._plainly_fits(job_class, option):
            return None
        book = self._empty()
        if place_gang(book, option.gang, job_class.shape, pool=job_class.pool) is not None:
            return None
        for ask in option.gang:
            nodes = self._own_nodes(job_class.pool, ask.flavor)
            room = [book.room(node, ask) for node in nodes]
            if not any(room):
                return Impossible("node-shape", self._larger_than_any_node(book, nodes, ask))
            if sum(room) < ask.count:
                each = max(room)
                return Impossible("cards", (("nodes", -(-ask.count // each), sum(room) // each),))
        return Impossible("topology", (("gpu", option.cards_m, self._best_domain(job_class, option)),))

    def _plainly_fits(self, job_class: JobClass, option: Option) -> bool:
        """The common case, without drawing up the empty cluster: one role, no domain required, enough nodes for its pods."""
        if len(option.gang) > 1 or job_class.shape.topology == TopologyMode.REQUIRED:
            return False
        ask, table, left = option.gang[0], self._table, option.gang[0].count
        if not ask.cards_m or any(table.headroom):
            return False
        for node, flavor in enumerate(table.flavor):
            if flavor == ask.flavor:
                left -= table.pods_when_empty(node, ask)
                if left <= 0:
                    return True
        return False

    def _larger_than_any_node(
        self, book: NodeBook, nodes: Sequence[int], ask: PodAsk
    ) -> tuple[tuple[str, int, int], ...]:
        """Each resource that no node has enough of; where every one fits on some node, all of the largest node's."""
        asked = (("gpu", ask.cards_m), ("cpu", ask.cpu_m), ("memory_gib", ask.memory_mib))
        free = [book.free_to(node, cpu_only=not ask.cards_m) for node in nodes]
        most = [max((amounts[axis] for amounts in free), default=0) for axis in range(3)]
        every = [(key, need, have) for (key, need), have in zip(asked, most, strict=True) if need]
        if ask.share is not None and ask.share.card_vram_mib:
            every.append(("vram_gib", ask.share.vram_mib, ask.share.card_vram_mib))
        return tuple(lack for lack in every if lack[1] > lack[2]) or tuple(every)

    def _best_domain(self, job_class: JobClass, option: Option) -> int:
        """Most milli-cards that one domain of the required level has, over the flavors asked."""
        table, level = self._table, job_class.shape.level
        flavors = {ask.flavor for ask in option.gang if ask.flavor >= 0}
        totals: dict[int, int] = {}
        for node, cards_m in enumerate(table.cards_m):
            domain = table.domain[table.levels.index(level)][node] if level in table.levels else node
            if table.flavor[node] in flavors and domain >= 0:
                totals[domain] = totals.get(domain, 0) + cards_m
        return max(totals.values(), default=0)

    def _own_nodes(self, pool: int, flavor: int) -> Sequence[int]:
        table = self._table
        return [node for node in range(len(table)) if table.pool[node] == pool and flavor in (-1, table.flavor[node])]

    def _empty(self) -> NodeBook:
        if self._book is None:
            table = self._table.all_open()
            self._book = NodeBook(table, table.cards_m[:], table.cpu_m[:], table.memory_mib[:], table.max_pods[:])
        return self._book


def keys_of(snapshot: Snapshot, column: int) -> tuple[str, ...]:
    """Resource keys of a quota column (docs/api-jobs.md): cards under their total and by flavor."""
    flavors = len(snapshot.flavors)
    if column < flavors:
        return "gpu", f"gpu:{snapshot.flavors[column].name}"
    return (("cpu", "memory_gib", "vram_gib")[column - flavors],)
