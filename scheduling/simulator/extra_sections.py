"""`budgets`, `recent_evictions`, `reservations` and `transfers` of a plan file (docs/simulator.md)."""

from dataclasses import replace
from decimal import Decimal

from berth.common.shown import shown
from scheduling.engine.snapshot import CPU, MEMORY, VRAM, Eviction, Queue, Reservation, TreeNode
from scheduling.engine.units import NEVER
from scheduling.engine.vocabulary import ReservationKind
from scheduling.simulator import quantities
from scheduling.simulator.cluster import Cluster
from scheduling.simulator.documents import Fields
from scheduling.simulator.problems import WrongValueError
from scheduling.simulator.tree_section import TIERS


def read_budgets(document: Fields, cluster: Cluster) -> tuple[Queue, ...]:
    """The queues with what is left of their tenant's budget: `budgets: {TENANT: {limit, spent, reserved}}`."""
    section = document.below("budgets")
    left = {}
    for tenant, _ in section.named():
        entry = section.below(tenant)
        limit = entry.need("limit", quantities.decimal, None)
        spent = entry.take("spent", quantities.decimal, Decimal(0))
        reserved = entry.take("reserved", quantities.decimal, Decimal(0))
        entry.take("currency", quantities.word, "")
        entry.close()
        if all(queue.tenant != tenant for queue in cluster.queues):
            section.problem(tenant, "unknown tenant")
        if limit is not None:
            left[tenant] = limit - spent - reserved
    return tuple(replace(queue, budget_remaining=left.get(queue.tenant)) for queue in cluster.queues)


def read_evictions(document: Fields, cluster: Cluster, now_ms: int) -> tuple[Eviction, ...]:
    """`recent_evictions: [{evictor: a/main, victim: b/main, job: r1, at: TIME}]`, oldest first."""
    found = []
    for entry in document.each("recent_evictions"):
        evictor = entry.need("evictor", _queue_of(cluster), 0)
        victim = entry.need("victim", _queue_of(cluster), 0)
        job = entry.take("job", quantities.word, "")
        found.append(Eviction(evictor, victim, job, entry.take("at", quantities.instant, now_ms)))
        entry.close()
    return tuple(sorted(found, key=lambda e: (e.at_ms, str(e.job), e.evictor, e.victim)))


class _Lookup:
    """A parser for names that are in an index."""

    def __init__(self, index: dict[str, int], what: str) -> None:
        self._index, self._what = index, what

    def __call__(self, text: str) -> int:
        if text not in self._index:
            raise WrongValueError(f"unknown {self._what} {shown(text)}; known: {', '.join(self._index) or 'none'}")
        return self._index[text]


def _queue_of(cluster: Cluster) -> _Lookup:
    return _Lookup(dict(cluster.queue_index), "queue")


def read_reservations(document: Fields, cluster: Cluster, now_ms: int) -> tuple[Reservation, ...]:
    """`reservations: [{id, kind, queue: a/main, tier, job, flavor, cards, nodes, from, to}]`, by id."""
    found = []
    for number, entry in enumerate(document.each("reservations")):
        nodes = entry.words("nodes", _Lookup(dict(cluster.node_index), "node"))
        reservation = Reservation(
            id=entry.take("id", quantities.word, f"reservation-{number:04d}"),
            kind=ReservationKind(entry.take("kind", quantities.one_of(*(k.value for k in ReservationKind)), "manual")),
            from_ms=entry.take("from", quantities.instant, now_ms),
            to_ms=entry.take("to", quantities.instant, NEVER),
            flavor=entry.take("flavor", _Lookup(dict(cluster.flavor_index), "flavor"), -1),
            amount_m=entry.take("cards", quantities.milli_cards, 0),
            nodes=tuple(sorted(nodes)),
            queue=entry.take("queue", _queue_of(cluster), -1),
            tier=TIERS[entry.take("tier", quantities.one_of(*TIERS), "batch")] if entry.value("tier") else -1,
            job=entry.take("job", quantities.word, None),
        )
        entry.close()
        if reservation.to_ms <= reservation.from_ms:
            entry.problem("to", "must be after from")
        found.append(reservation)
    return tuple(sorted(found, key=lambda r: str(r.id)))


def read_transfers(document: Fields, cluster: Cluster, tree: tuple[TreeNode, ...], now_ms: int) -> tuple[TreeNode, ...]:
    """The tree with transfers of nominal quota that are active now applied.

    `transfers: [{from: a/main, to: b/main, flavor: F or resource: cpu|memory|vram, amount, starts, ends}]`; sums stay the same.
    """
    index = {str(node.id): i for i, node in enumerate(tree)}
    columns = [*(f"gpu:{flavor.name}" for flavor in cluster.flavors), CPU, MEMORY, VRAM]
    amounts = [list(node.nominal) for node in tree]
    for entry in document.each("transfers"):
        giver = entry.need("from", _Lookup(index, "queue or tenant"), -1)
        taker = entry.need("to", _Lookup(index, "queue or tenant"), -1)
        column, amount = _amount(entry, cluster, columns)
        starts = entry.take("starts", quantities.instant, 0)
        ends = entry.take("ends", quantities.instant, NEVER)
        entry.close()
        if column < 0 or giver < 0 or taker < 0 or not starts <= now_ms < ends:
            continue
        if (amounts[giver][column] or 0) < amount:
            entry.problem("amount", f"{tree[giver].id} has less than that to give")
        amounts[giver][column] = (amounts[giver][column] or 0) - amount
        amounts[taker][column] = (amounts[taker][column] or 0) + amount
    return tuple(replace(node, nominal=tuple(amounts[i])) for i, node in enumerate(tree))


def _amount(entry: Fields, cluster: Cluster, columns: list[str]) -> tuple[int, int]:
    resource = entry.take("resource", quantities.one_of("gpu", CPU, MEMORY, VRAM), "gpu")
    if resource == "gpu":
        flavor = entry.need("flavor", _Lookup(dict(cluster.flavor_index), "flavor"), -1)
        return flavor, entry.need("amount", quantities.milli_cards, 0)
    parse = quantities.millicores if resource == CPU else quantities.mebibytes
    return columns.index(resource), entry.need("amount", parse, 0)
