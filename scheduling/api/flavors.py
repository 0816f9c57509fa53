"""`/flavors`: kinds of card, what there is of each and what is free."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import CardsField, GibField, RatioField
from scheduling.selectors.supply import POOL_STATES, Supply, flavor_supply, levels_of_pools, pool_state
from tenants.access.viewset import BerthViewSet
from tenants.models import Flavor
from tenants.permissions import Action


class FlavorSerializer(serializers.Serializer[Any]):
    """Rows are pairs of a flavor and its supply."""

    name = serializers.CharField(source="flavor.name")
    pool = serializers.CharField(source="flavor.pool.name")
    cards = serializers.ChoiceField(source="flavor.mode", choices=Flavor.Mode.choices)
    mig_profile = serializers.CharField(source="flavor.mig_profile")
    card_model = serializers.CharField(source="flavor.card_model")
    resource_name = serializers.CharField(source="flavor.resource")
    vram_gib = GibField(source="flavor.vram_mib")
    speed = RatioField(source="flavor.speed_ppm")
    weight = RatioField(source="flavor.weight_ppm")
    state = serializers.ChoiceField(choices=POOL_STATES, help_text="Its pool's.")
    topology = serializers.ListField(
        child=serializers.CharField(), help_text="Levels of its pool, from wide to narrow."
    )
    capacity = CardsField(
        source="supply.capacity", help_text="Cards in service on nodes that are not lost; of a MIG flavor, instances."
    )
    free = CardsField(source="supply.free", help_text="Cards that a new pod could take now.")


class FlavorFilter(django_filters.FilterSet):
    name = django_filters.CharFilter()
    pool = django_filters.CharFilter(field_name="pool__name")
    cards = django_filters.ChoiceFilter(field_name="mode", choices=Flavor.Mode.choices)


class FlavorViewSet(BerthViewSet):
    """Flavors of shared pools, and of pools that are one's tenant's own."""

    required = {"list": Action.SUPPLY_READ, "retrieve": Action.SUPPLY_READ}
    queryset = Flavor.objects.select_related("pool__tenant", "pool__cluster")
    serializer_class = FlavorSerializer
    filterset_class = FlavorFilter
    lookup_field = "name"
    ordering_fields = {"name": "name", "pool": "pool__name"}
    ordering = ("name",)

    def list(self, request: Request) -> Response:
        return self.pages(with_rows=_with_supply)

    @extend_schema(responses=FlavorSerializer)
    def retrieve(self, request: Request, **_path: str) -> Response:
        [row] = _with_supply([self.get_object()])
        return Response(FlavorSerializer(row).data)


def _with_supply(flavors: list[Flavor]) -> list[dict[str, Any]]:
    supply, levels = flavor_supply(flavors), levels_of_pools({flavor.pool_id for flavor in flavors})
    return [
        {
            "flavor": flavor,
            "supply": supply.get(flavor.pk, Supply()),
            "state": pool_state(flavor.pool),
            "topology": levels.get(flavor.pool_id, []),
        }
        for flavor in flavors
    ]
