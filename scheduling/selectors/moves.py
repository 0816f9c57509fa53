"""Moves that would free whole nodes (SCH-24), with the names that people know jobs and nodes by. Proposed on the picture of now; nothing is made."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from berth.common import clock
from scheduling.engine.defragment import Clearing, propose_moves
from scheduling.engine.snapshot import Snapshot
from scheduling.models import Job, Node
from scheduling.selectors.snapshot import load_snapshot
from scheduling.selectors.snapshot_rows import to_ms
from tenants.models import Pool

MS_PER_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class JobMove:
    """One pod that would go on elsewhere; `cards_m` milli-cards (of MIG flavors milli-instances)."""

    job: Job
    role: str
    index: int
    source: str
    target: str
    cards_m: int


@dataclass(frozen=True, slots=True)
class NodeMoves:
    """A node that would be wholly free, with `cards_m` milli-cards; `lost_card_ms` is card time since the last checkpoints."""

    node: Node
    cards_m: int
    moved_m: int
    lost_card_ms: int
    moves: tuple[JobMove, ...]

    @property
    def lost_card_hours(self) -> Decimal:
        return Decimal(self.lost_card_ms) / MS_PER_HOUR


@dataclass(frozen=True, slots=True)
class PoolMoves:
    """Of one pool, the node with the least to move first. `at` is the instant of the picture."""

    pool: Pool
    at: datetime
    nodes: tuple[NodeMoves, ...]

    @property
    def cards_m(self) -> int:
        return sum(each.cards_m for each in self.nodes)

    @property
    def moved_m(self) -> int:
        return sum(each.moved_m for each in self.nodes)


def moves_of_pool(pool: Pool) -> PoolMoves:
    """What would free nodes of one pool."""
    now = clock.now()
    snapshot = load_snapshot(now)
    at = next((index for index, row in enumerate(snapshot.pools) if row.id == pool.pk), None)
    found = () if at is None else propose_moves(snapshot, to_ms(now), pool=at)
    return PoolMoves(pool, now, tuple(_named(snapshot, found)))


def moves_of_pools() -> tuple[PoolMoves, ...]:
    """Of every pool in which anything would be freed, by name."""
    now = clock.now()
    snapshot = load_snapshot(now)
    by_pool: dict[int, list[NodeMoves]] = defaultdict(list)
    for each in _named(snapshot, propose_moves(snapshot, to_ms(now))):
        by_pool[each.node.pool_id].append(each)
    pools = Pool.objects.filter(pk__in=by_pool).order_by("name")
    return tuple(PoolMoves(pool, now, tuple(by_pool[pool.pk])) for pool in pools)


def _named(snapshot: Snapshot, found: tuple[Clearing, ...]) -> list[NodeMoves]:
    moves = [move for clearing in found for move in clearing.moves]
    nodes = Node.objects.in_bulk({int(node) for move in moves for node in (move.source, move.target)})
    jobs = Job.objects.select_related("queue", "tenant").in_bulk({int(move.job) for move in moves})
    held_m = _held_m(snapshot)
    return [
        NodeMoves(
            node=nodes[int(clearing.node)],
            cards_m=clearing.cards_m,
            moved_m=clearing.moved_m,
            lost_card_ms=clearing.lost_card_ms,
            moves=tuple(
                JobMove(
                    job=jobs[int(move.job)],
                    role=move.role,
                    index=move.index,
                    source=nodes[int(move.source)].name,
                    target=nodes[int(move.target)].name,
                    cards_m=held_m[move.job],
                )
                for move in clearing.moves
            ),
        )
        for clearing in found
    ]


def _held_m(snapshot: Snapshot) -> dict[Any, int]:
    """Milli-cards by running job."""
    held: dict[Any, int] = defaultdict(int)
    for run, cards_m in zip(snapshot.pods.run.tolist(), snapshot.pods.cards_m.tolist(), strict=True):
        held[snapshot.running.ids[run]] += cards_m
    return held
