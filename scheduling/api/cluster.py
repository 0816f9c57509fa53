"""`/cluster`: how busy pools and flavors are, what waits and why, how fast jobs get in, the limits in force."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.amounts import cards, gib
from scheduling.api.job_schema import NumberField
from scheduling.selectors.cluster_state import ClusterState, cluster_state
from scheduling.selectors.pool_load import FlavorLoad, PoolLoad
from tenants.access.limits import ORDINARY, PRIORITY
from tenants.access.viewset import BerthViewSet
from tenants.models import Pool
from tenants.permissions import Action

Fields = serializers.Serializer[Any]


class FlavorLoadSchema(Fields):
    name = serializers.CharField()
    capacity = NumberField(help_text="Cards in service.")
    out = NumberField(help_text="Cards that are there and not in service.")
    held = NumberField()
    free = NumberField()
    pending = NumberField(help_text="Cards that waiting jobs ask for, at the first flavor they accept.")
    busy = NumberField(allow_null=True, help_text="Held ÷ in service.")


class PoolLoadSchema(Fields):
    name = serializers.CharField()
    cluster = serializers.CharField()
    sharing = serializers.ChoiceField(choices=Pool.Sharing.choices)
    nodes = serializers.IntegerField()
    nodes_lost = serializers.IntegerField()
    cpu = NumberField(help_text="Cores.")
    cpu_held = NumberField()
    memory_gib = NumberField()
    memory_held_gib = NumberField()
    flavors = FlavorLoadSchema(many=True)
    busy = NumberField(allow_null=True)


class ClusterLimitsSchema(Fields):
    reason = serializers.CharField()
    ordinary_per_s = serializers.IntegerField()
    priority_per_s = serializers.IntegerField()


class ClusterSchema(Fields):
    as_of = serializers.DateTimeField()
    cycle = serializers.IntegerField(allow_null=True)
    time_scale = serializers.IntegerField()
    degraded = serializers.BooleanField()
    degraded_by = serializers.ListField(
        child=serializers.CharField(),
        help_text="`cluster-unreachable`, `decisions-late`, `nodes-lost`, `losses-held`: more nodes show no life than may be lost at once.",
    )
    busy = NumberField(allow_null=True, help_text="Held ÷ in service, all pools one may see.")
    pending_cards = NumberField()
    jobs = serializers.DictField(child=serializers.IntegerField(), help_text="State → jobs.")
    waiting = serializers.DictField(child=serializers.IntegerField(), help_text="Wait code → jobs.")
    admission_per_hour = NumberField(allow_null=True)
    limits = ClusterLimitsSchema()
    pools = PoolLoadSchema(many=True)


class ClusterViewSet(BerthViewSet):
    """The platform at a glance."""

    required = {"list": Action.SUPPLY_READ}
    pagination_class = None
    queryset = Pool.objects.none()
    serializer_class = ClusterSchema

    @extend_schema(operation_id="cluster", responses=ClusterSchema)
    def list(self, request: Request) -> Response:
        return Response(cluster_document(cluster_state(self.user)))


def _flavor(load: FlavorLoad) -> dict[str, Any]:
    return {
        "name": load.flavor.name,
        "capacity": cards(load.total),
        "out": cards(load.out),
        "held": cards(load.held),
        "free": cards(load.free),
        "pending": cards(load.pending),
        "busy": _busy([load]),
    }


def _pool(load: PoolLoad) -> dict[str, Any]:
    return {
        "name": load.pool.name,
        "cluster": load.pool.cluster.name,
        "sharing": load.pool.sharing,
        "nodes": load.nodes,
        "nodes_lost": load.nodes_lost,
        "cpu": cards(load.cpu_m),
        "cpu_held": cards(load.cpu_held_m),
        "memory_gib": gib(load.memory_mib),
        "memory_held_gib": gib(load.memory_held_mib),
        "flavors": [_flavor(flavor) for flavor in load.flavors],
        "busy": _busy(load.flavors),
    }


def cluster_document(state: ClusterState) -> dict[str, Any]:
    flavors = [flavor for pool in state.pools for flavor in pool.flavors]
    rate = state.admission_per_hour
    return {
        "as_of": state.as_of,
        "cycle": state.freshness.cycle,
        "time_scale": state.freshness.time_scale,
        "degraded": bool(state.degraded),
        "degraded_by": list(state.degraded),
        "busy": _busy(flavors),
        "pending_cards": cards(sum(flavor.in_cards(flavor.pending) for flavor in flavors)),
        "jobs": dict(state.jobs),
        "waiting": dict(state.waiting),
        "admission_per_hour": None if rate is None else round(float(rate), 3),
        "limits": {"reason": "ordinary", "ordinary_per_s": ORDINARY, "priority_per_s": PRIORITY},
        "pools": [_pool(load) for load in state.pools],
    }


def _busy(flavors: Sequence[FlavorLoad]) -> float | None:
    total = sum(flavor.in_cards(flavor.total) for flavor in flavors)
    return round(sum(flavor.in_cards(flavor.held) for flavor in flavors) / total, 4) if total else None
