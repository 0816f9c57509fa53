"""Jobs that configured capacity and limits can never run (SCH-21): refused at submit, `impossible` when it became so since."""

from collections.abc import Sequence
from dataclasses import dataclass

from scheduling.engine.asks import Option
from scheduling.engine.classes import JobClass
from scheduling.engine.nodes import NodeBook, NodeTable
from scheduling.engine.placement import place_gang
from scheduling.engine.quota import QuotaTree
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.tiers import TierRules
from scheduling.engine.vocabulary import Tier


@dataclass(frozen=True, slots=True)
class Impossible:
    """`detail` is `flavor`, `quota`, `node-shape`, `cards` or `topology`; need and have are of `column` (quota) or a node's cards."""

    detail: str
    need: int = 0
    have: int = 0
    column: int = -1


class Capacity:
    """The empty cluster: every node as if ready and idle, with its healthy cards. Built when first needed."""

    def __init__(self, snapshot: Snapshot, table: NodeTable, tree: QuotaTree, rules: TierRules) -> None:
        self._snapshot, self._table, self._tree, self._rules = snapshot, table, tree, rules
        self._book: NodeBook | None = None
        self._fits: dict[tuple[int, int], Impossible | None] = {}

    def find(self, job_class: JobClass) -> Impossible | None:
        """Why no flavor choice can ever run, judged by the choice that comes nearest; None where one can."""
        problems = [self._quota(job_class, option) or self._nodes(job_class, place, option)
                    for place, option in enumerate(job_class.options)]  # fmt: skip
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
                return Impossible("quota", amount, max(0, most), column)
        return None

    def _nodes(self, job_class: JobClass, place: int, option: Option) -> Impossible | None:
        key = (job_class.shape_index, job_class.pool * 1000 + place)
        if key not in self._fits:
            self._fits[key] = self._try(job_class, option)
        return self._fits[key]

    def _try(self, job_class: JobClass, option: Option) -> Impossible | None:
        book = self._empty()
        if place_gang(book, option.gang, job_class.shape, pool=job_class.pool) is not None:
            return None
        for ask in option.gang:
            hosts = [book.room(node, ask) for node in self._own_nodes(job_class.pool, ask.flavor)]
            if not any(hosts):
                largest = max((book.cards[node] for node in self._own_nodes(job_class.pool, ask.flavor)), default=0)
                return Impossible("node-shape", ask.cards_m, largest)
            if sum(hosts) < ask.count:
                return Impossible("cards", ask.count, sum(hosts))
        return Impossible("topology")

    def _own_nodes(self, pool: int, flavor: int) -> Sequence[int]:
        table = self._table
        return [node for node in range(len(table)) if table.pool[node] == pool and flavor in (-1, table.flavor[node])]

    def _empty(self) -> NodeBook:
        if self._book is None:
            table = self._table.all_open()
            self._book = NodeBook(table, table.cards_m[:], table.cpu_m[:], table.memory_mib[:], table.max_pods[:])
        return self._book
