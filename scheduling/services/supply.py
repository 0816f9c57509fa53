"""Keeps the books of supply when machines come, go or change: what pools physically have, and what each node was over time.

Must not judge a machine: what its rows say is what is written down (BIL-01, B11, SCH-15).
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Count, Q, Sum

from berth.common.units import MILLI
from scheduling.models import Card, Node, NodeInterval
from scheduling.selectors.asked_cards import per_card
from tenants.models import Pool, Resource
from tenants.services.capacity import record_capacity

Key = tuple[str, int | None]


def record_nodes(node_ids: Collection[int], *, at: datetime) -> None:
    """These nodes are new or changed: their intervals turn at `at`, and their pools' amounts are recorded anew.

    A node that is lost or not ready was ready until its last sign of life, which is also where bills stop (BIL-05).
    """
    nodes = list(
        Node.objects.filter(pk__in=node_ids)
        .select_related("pool")
        .annotate(cards_out=Count("cards", filter=Q(cards__health=Card.Health.FAILED)))
        .order_by("pk")
    )
    with transaction.atomic():
        for node in nodes:
            last_sign = None if node.state == Node.State.READY else node.last_sign_at
            _turn_interval(node, node.cards_out, at if last_sign is None else min(at, last_sign))
        record_pools({node.pool_id: node.pool for node in nodes}.values(), at=at)


def record_pools(pools: Iterable[Pool], *, at: datetime) -> None:
    """What the pools' machines can allocate, whole: cards in service and the rest of nodes that are not lost."""
    for pool in sorted(pools, key=lambda each: each.pk):
        record_capacity(pool=pool, amounts=_amounts(pool), at=at)


def _turn_interval(node: Node, cards_out: int, at: datetime) -> None:
    was = NodeInterval.objects.filter(node=node, during__upper_inf=True).first()
    facts = {
        "pool_id": node.pool_id,
        "tenant_id": node.pool.tenant_id,
        "flavor_id": node.flavor_id,
        "cards": node.gpus,
        "cards_out": cards_out,
        "state": node.state,
    }
    if was is not None:
        if all(getattr(was, name) == value for name, value in facts.items()):
            return
        if at <= was.during.lower:
            NodeInterval.objects.filter(pk=was.pk).update(**facts)
            return
        NodeInterval.objects.filter(pk=was.pk).update(during=DateTimeTZRange(was.during.lower, at, "[)"))
    NodeInterval.objects.create(node=node, during=DateTimeTZRange(at, None, "[)"), **facts)


def _amounts(pool: Pool) -> dict[Key, int]:
    nodes = Node.objects.filter(pool=pool).exclude(state=Node.State.LOST)
    plain = nodes.aggregate(cpu=Sum("cpu_m"), memory=Sum("memory_mib"))
    cards = (
        Card.objects.filter(node__in=nodes, health=Card.Health.OK)
        .values_list("flavor_id", "flavor__vram_mib", "flavor__mig_profile")
        .annotate(count=Count("pk"))
        .order_by("flavor_id")
    )
    amounts: dict[Key, int] = {
        (Resource.CPU.value, None): plain["cpu"] or 0,
        (Resource.MEMORY.value, None): plain["memory"] or 0,
        (Resource.VRAM.value, None): 0,
    }
    for flavor, vram_mib, profile, count in cards:
        amounts[Resource.GPU.value, flavor] = count * per_card(profile) * MILLI
        amounts[Resource.VRAM.value, None] += count * per_card(profile) * vram_mib
    return amounts
