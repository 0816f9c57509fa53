"""What pools and flavors have, and how much of it is free now, from the rows of nodes, cards and open leases."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Count, F, Q, Sum

from berth.common.units import MILLI
from scheduling.models import Card, Lease, Node, NodeDomain
from scheduling.selectors.asked_cards import per_card, unit_of
from tenants.models import Flavor, Pool

POOL_STATES: Final = ("open", "draining", "unreachable")
READY = Q(state=Node.State.READY, cordoned=False)
ON_READY = Q(node__state=Node.State.READY, node__cordoned=False)


@dataclass(frozen=True, slots=True)
class Supply:
    """`capacity` is of machines that are not lost, `free` what a new pod could take: ready, not cordoned, in service, not held."""

    capacity: int = 0
    free: int = 0


@dataclass(slots=True)
class PoolSupply:
    """Milli-cards by flavor name, millicores, MiB; topology levels from wide to narrow."""

    cards: dict[str, Supply] = field(default_factory=dict)
    cpu: Supply = field(default_factory=Supply)
    memory: Supply = field(default_factory=Supply)
    nodes: int = 0
    nodes_ready: int = 0
    levels: list[str] = field(default_factory=list)


def flavor_supply(flavors: Iterable[Flavor]) -> dict[int, Supply]:
    """Flavor id → milli-cards, of MIG flavors milli-instances. Two queries, whatever the number of flavors."""
    ids = [flavor.pk for flavor in flavors]
    working = Q(health=Card.Health.OK)
    cards = (
        Card.objects.filter(flavor_id__in=ids)
        .exclude(node__state=Node.State.LOST)
        .values("flavor_id")
        .order_by("flavor_id")
        .annotate(all=Count("pk", filter=working), usable=Count("pk", filter=working & ON_READY))
    )
    profiles = {flavor.pk: flavor.mig_profile for flavor in flavors}
    held = dict(
        Lease.objects.filter(ON_READY, closed_at__isnull=True, card__flavor_id__in=ids, card__health=Card.Health.OK)
        .values("card__flavor_id")
        .order_by("card__flavor_id")
        .annotate(units=Sum("quantity"))
        .values_list("card__flavor_id", "units")
    )
    return {
        row["flavor_id"]: _supply(row["all"], row["usable"], held.get(row["flavor_id"], 0), profiles[row["flavor_id"]])
        for row in cards
    }


def _supply(cards: int, usable: int, held: int, profile: str) -> Supply:
    """Of cards as asks count them, a MIG card as its instances; `held` is in 1/7000 card."""
    each = MILLI * per_card(profile)
    return Supply(cards * each, max(0, usable * each - -(-held * MILLI // unit_of(profile))))


def pool_supply(pools: Iterable[Pool]) -> dict[int, PoolSupply]:
    """Pool id → what it has. Six queries, whatever the number of pools."""
    ids = [pool.pk for pool in pools]
    found = {pk: PoolSupply() for pk in ids}
    flavors = list(Flavor.objects.filter(pool_id__in=ids).order_by("name"))
    by_flavor = flavor_supply(flavors)
    for flavor in flavors:
        found[flavor.pool_id].cards[flavor.name] = by_flavor.get(flavor.pk, Supply())
    present = ~Q(state=Node.State.LOST)
    nodes = (
        Node.objects.filter(pool_id__in=ids)
        .values("pool_id")
        .order_by("pool_id")
        .annotate(
            count=Count("pk"),
            ready=Count("pk", filter=READY),
            cpu=Sum("cpu_m", filter=present, default=0),
            memory=Sum("memory_mib", filter=present, default=0),
            cpu_ready=Sum("cpu_m", filter=READY, default=0),
            memory_ready=Sum("memory_mib", filter=READY, default=0),
        )
    )
    held = {
        row["node__pool_id"]: row
        for row in Lease.objects.filter(ON_READY, closed_at__isnull=True, node__pool_id__in=ids)
        .values("node__pool_id")
        .order_by("node__pool_id")
        .annotate(cpu=Sum("cpu_m"), memory=Sum("memory_mib"))
    }
    for row in nodes:
        pool, taken = found[row["pool_id"]], held.get(row["pool_id"], {"cpu": 0, "memory": 0})
        pool.nodes, pool.nodes_ready = row["count"], row["ready"]
        pool.cpu = Supply(row["cpu"], max(0, row["cpu_ready"] - taken["cpu"]))
        pool.memory = Supply(row["memory"], max(0, row["memory_ready"] - taken["memory"]))
    for pool_id, levels in levels_of_pools(ids).items():
        found[pool_id].levels = levels
    return found


def levels_of_pools(ids: Collection[int]) -> dict[int, list[str]]:
    """Pool id → topology levels of its nodes, from wide to narrow. One query."""
    found: dict[int, list[str]] = {}
    levels = NodeDomain.objects.filter(node__pool_id__in=ids).values_list("node__pool_id", "level", "rank").distinct()
    for pool_id, level, _rank in levels.order_by("node__pool_id", F("rank").asc(), "level"):
        of_pool = found.setdefault(pool_id, [])
        if level not in of_pool:
            of_pool.append(level)
    return found


def pool_state(pool: Pool) -> str:
    """One of POOL_STATES. `pool` carries its cluster."""
    if not pool.cluster.reachable:
        return "unreachable"
    return "draining" if pool.draining else "open"
