"""How full pools are: cards by flavor, CPU and memory; what is there, out of service, held, free, and asked for by waiting jobs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from scheduling.models import Card, Lease, Node
from scheduling.selectors.asked_cards import asked_m, per_card
from scheduling.selectors.snapshot_rows import fetch
from tenants.models import Flavor, Pool

CARD = 1000
PENDING = """
    SELECT q.id, q.pool_id, f.flavor_id, sum(r.replicas * r.cards_m)::bigint, sum(r.replicas * r.cpu_m)::bigint,
           sum(r.replicas * r.memory_mib)::bigint, count(DISTINCT j.id)
      FROM scheduling_job j
      JOIN tenants_queue q ON q.id = j.queue_id
      JOIN scheduling_role r ON r.job_id = j.id
      LEFT JOIN LATERAL (SELECT flavor_id FROM scheduling_roleflavor WHERE role_id = r.id ORDER BY position LIMIT 1) f ON true
     WHERE j.state = 'queued'
     GROUP BY q.id, q.pool_id, f.flavor_id
"""
"""What waiting jobs ask for, each role counted at the first flavor it accepts."""


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """Of one queue at one flavor (None = without cards)."""

    queue: int
    pool: int
    flavor: int | None
    cards_m: int
    cpu_m: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class FlavorLoad:
    """Milli-cards, of a MIG flavor instances. `total` is in service on nodes that are not lost; `out` the rest of what is there; free = total − held, never below 0."""

    flavor: Flavor
    total: int
    out: int
    held: int
    pending: int

    @property
    def free(self) -> int:
        return max(0, self.total - self.held)

    def in_cards(self, amount_m: int) -> int:
        """Of one of its amounts the milli-cards of real cards: what can be summed over flavors."""
        return amount_m // per_card(self.flavor.mig_profile)


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """CPU in millicores, memory in MiB, of nodes that are not lost."""

    pool: Pool
    flavors: tuple[FlavorLoad, ...]
    nodes: int
    nodes_lost: int
    cpu_m: int
    cpu_held_m: int
    memory_mib: int
    memory_held_mib: int


def pending_asks() -> list[PendingAsk]:
    """One query."""
    return [PendingAsk(*row[:6]) for row in fetch(PENDING)]


def pool_loads(pools: Sequence[Pool]) -> list[PoolLoad]:
    """In the order of `pools`; five queries."""
    ids = [pool.pk for pool in pools]
    flavors: dict[int, list[Flavor]] = defaultdict(list)
    for flavor in Flavor.objects.filter(pool_id__in=ids).order_by("name", "id"):
        flavors[flavor.pool_id].append(flavor)
    cards = _cards(ids)
    held = _held(ids)
    nodes = _nodes(ids)
    pending: dict[int, int] = defaultdict(int)
    for ask in pending_asks():
        if ask.flavor is not None:
            pending[ask.flavor] += ask.cards_m
    return [
        PoolLoad(
            pool=pool,
            flavors=tuple(
                FlavorLoad(
                    flavor=flavor,
                    total=cards.get(flavor.pk, (0, 0))[0] * CARD * per_card(flavor.mig_profile),
                    out=cards.get(flavor.pk, (0, 0))[1] * CARD * per_card(flavor.mig_profile),
                    held=held.get((pool.pk, flavor.pk), (0, 0, 0))[0],
                    pending=pending[flavor.pk],
                )
                for flavor in flavors[pool.pk]
            ),
            cpu_held_m=sum(row[1] for key, row in held.items() if key[0] == pool.pk),
            memory_held_mib=sum(row[2] for key, row in held.items() if key[0] == pool.pk),
            **nodes.get(pool.pk, {"nodes": 0, "nodes_lost": 0, "cpu_m": 0, "memory_mib": 0}),
        )
        for pool in pools
    ]


def _cards(pools: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By flavor: cards in service, and cards that are not."""
    usable = Q(health=Card.Health.OK) & ~Q(node__state=Node.State.LOST)
    rows = (
        Card.objects.filter(node__pool_id__in=pools)
        .values_list("flavor_id")
        .annotate(usable=Count("pk", filter=usable), every=Count("pk"))
        .order_by()
    )
    return {flavor: (good, every - good) for flavor, good, every in rows}


def _held(pools: Sequence[int]) -> dict[tuple[int, int | None], tuple[int, int, int]]:
    """By pool and flavor: milli-cards, millicores, MiB of open leases."""
    rows = (
        Lease.objects.filter(closed_at__isnull=True, node__pool_id__in=pools)
        .values_list("node__pool_id", "flavor_id", "flavor__mig_profile")
        .annotate(units=Sum("quantity"), cpu=Sum("cpu_m"), memory=Sum("memory_mib"))
        .order_by()
    )
    return {
        (pool, flavor): (asked_m(units, profile), cpu, memory) for pool, flavor, profile, units, cpu, memory in rows
    }


def _nodes(pools: Sequence[int]) -> dict[int, Mapping[str, int]]:
    there = ~Q(state=Node.State.LOST)
    rows = (
        Node.objects.filter(pool_id__in=pools)
        .values("pool_id")
        .annotate(
            nodes=Count("pk"),
            nodes_lost=Count("pk", filter=~there),
            cpu=Sum("cpu_m", filter=there, default=0),
            memory=Sum("memory_mib", filter=there, default=0),
        )
        .order_by()
    )
    return {
        row["pool_id"]: {
            "nodes": row["nodes"],
            "nodes_lost": row["nodes_lost"],
            "cpu_m": row["cpu"],
            "memory_mib": row["memory"],
        }
        for row in rows
    }
