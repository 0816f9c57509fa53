"""The places that a plan promises to its backfill heads, for run-outs: later jobs must keep clear of them (SCH-08)."""

from dataclasses import dataclass

from scheduling.engine.free import NO_POD_LIMIT, Leftover
from scheduling.engine.plan import Plan
from scheduling.engine.state import State
from scheduling.engine.vocabulary import ReservationKind


@dataclass(frozen=True, slots=True)
class Promise:
    """`left` is what others may hold of the promised nodes from `at_ms` on; the head's own tenant takes no quota past it."""

    job: int
    at_ms: int
    pool: int
    tenant: int
    left: Leftover


def promises_of(state: State, plan: Plan) -> tuple[Promise, ...]:
    """Of all heads the plan leaves standing, those reserved in earlier cycles included; by time, then job."""
    snapshot = state.snapshot
    gone = {release.reservation for release in plan.releases}
    node_at = {node: place for place, node in enumerate(snapshot.nodes.ids)}
    standing = [
        (row.job, row.from_ms, dict(row.cards), row.nodes)
        for row in snapshot.reservations
        if row.kind == ReservationKind.BACKFILL and row.id not in gone
    ]
    standing += [
        (row.job, row.from_ms, {node_at[node]: cards_m for node, cards_m in row.cards}, tuple(map(node_at.__getitem__, row.nodes)))
        for row in plan.reserves
        if row.kind == ReservationKind.BACKFILL
    ]  # fmt: skip
    index = {job: place for place, job in enumerate(snapshot.pending.ids)}
    found = [_promise(state, index[job], at_ms, cards, nodes) for job, at_ms, cards, nodes in standing if job in index]
    return tuple(sorted(found, key=lambda promise: (promise.at_ms, promise.job)))


def _promise(state: State, job: int, at_ms: int, cards: dict[int, int], nodes: tuple[int, ...]) -> Promise:
    queue = state.snapshot.queues[int(state.snapshot.pending.queue[job])]
    left = Leftover(
        (node, (state.table.cards_m[node] - cards.get(node, 0), 1 << 60, 1 << 60, NO_POD_LIMIT)) for node in nodes
    )
    return Promise(job, at_ms, queue.pool, state.tree.tenant[queue.node], left)
