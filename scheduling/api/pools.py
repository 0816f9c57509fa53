"""`/pools`: nodes under one sharing rule, what they have and what is free."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import CardsField, CoresField, GibField, RatioField
from berth.common.turns import LEAST_QUANTUM_S, MOST_QUANTUM_S
from scheduling.api.moves_document import PoolMovesSchema, moves_document
from scheduling.selectors.moves import moves_of_pool
from scheduling.selectors.supply import POOL_STATES, PoolSupply, Supply, pool_state, pool_supply
from tenants.access.viewset import BerthViewSet
from tenants.models import Pool
from tenants.permissions import Action


class PoolAmountsSerializer(serializers.Serializer[Any]):
    gpu = serializers.DictField(child=CardsField(), help_text="Cards by flavor.")
    cpu = CoresField()
    memory_gib = GibField()


class PoolSerializer(serializers.Serializer[Any]):
    """Rows are made by `_row`."""

    name = serializers.CharField()
    cluster = serializers.CharField()
    sharing = serializers.ChoiceField(choices=Pool.Sharing.choices)
    tenant = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=POOL_STATES)
    factor = RatioField(help_text="How much more than it has may be granted (SCH-15).")
    high = RatioField(help_text="High watermark of use.")
    low = RatioField(help_text="Low watermark of use.")
    time_sharing = serializers.BooleanField(
        help_text="Whether waiting jobs take the turn of running ones of their tier that had more card time (SCH-27)."
    )
    quantum_s = serializers.IntegerField(
        min_value=LEAST_QUANTUM_S,
        max_value=MOST_QUANTUM_S,
        help_text="So long a job keeps its turn, in seconds; only looked at with `time_sharing`.",
    )
    nodes = serializers.IntegerField()
    nodes_ready = serializers.IntegerField()
    topology = serializers.ListField(child=serializers.CharField(), help_text="Levels, from wide to narrow.")
    capacity = PoolAmountsSerializer()
    free = PoolAmountsSerializer()


class PoolFilter(django_filters.FilterSet):
    name = django_filters.CharFilter()
    cluster = django_filters.CharFilter(field_name="cluster__name")
    sharing = django_filters.ChoiceFilter(choices=Pool.Sharing.choices)
    tenant = django_filters.CharFilter(field_name="tenant__slug")


class PoolViewSet(BerthViewSet):
    """Shared pools, and pools that are one's tenant's own."""

    required = {"list": Action.SUPPLY_READ, "retrieve": Action.SUPPLY_READ, "moves": Action.NODE_OPERATE}
    queryset = Pool.objects.select_related("cluster", "tenant")
    serializer_class = PoolSerializer
    filterset_class = PoolFilter
    lookup_field = "name"
    ordering_fields = {"name": "name"}
    ordering = ("name",)

    def list(self, request: Request) -> Response:
        return self.pages(with_rows=_with_supply)

    @extend_schema(responses=PoolSerializer)
    def retrieve(self, request: Request, **_path: str) -> Response:
        [row] = _with_supply([self.get_object()])
        return Response(PoolSerializer(row).data)

    @extend_schema(operation_id="pools_moves", responses=PoolMovesSchema)
    @action(detail=True, methods=["get"])
    def moves(self, request: Request, **_path: str) -> Response:
        """Moves of small, preemptible jobs with checkpoints that would free whole nodes (SCH-24). They are shown, not made."""
        return Response(moves_document(moves_of_pool(self.get_object())))


def _with_supply(pools: list[Pool]) -> list[dict[str, Any]]:
    supply = pool_supply(pools)
    return [_row(pool, supply[pool.pk]) for pool in pools]


def _row(pool: Pool, supply: PoolSupply) -> dict[str, Any]:
    return {
        "name": pool.name,
        "cluster": pool.cluster.name,
        "sharing": pool.sharing,
        "tenant": pool.tenant.slug if pool.tenant else None,
        "state": pool_state(pool),
        "factor": pool.factor_ppm,
        "high": pool.high_ppm,
        "low": pool.low_ppm,
        "time_sharing": pool.time_sharing,
        "quantum_s": pool.quantum_s,
        "nodes": supply.nodes,
        "nodes_ready": supply.nodes_ready,
        "topology": supply.levels,
        "capacity": _amounts(supply, "capacity"),
        "free": _amounts(supply, "free"),
    }


def _amounts(supply: PoolSupply, which: str) -> dict[str, Any]:
    def of(one: Supply) -> int:
        return one.free if which == "free" else one.capacity

    return {
        "gpu": {name: of(cards) for name, cards in supply.cards.items()},
        "cpu": of(supply.cpu),
        "memory_gib": of(supply.memory),
    }
