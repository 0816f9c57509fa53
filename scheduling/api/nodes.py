"""`/nodes`: machines and cards as last observed; a platform admin may cordon and drain them, and fail those of a simulated cluster."""

from typing import Any

import django_filters
from django.utils.translation import ngettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from scheduling.api.amounts import cards, gib
from scheduling.api.job_schema import NumberField
from scheduling.control.node_operations import NODE_ORDERS, order_card, order_node
from scheduling.models import Card, Node
from scheduling.selectors.node_facts import NodeFacts, node_facts
from tenants.access.viewset import BerthViewSet
from tenants.models import Flavor
from tenants.permissions import Action

NODE_STATES = ("ready", "cordoned", "quarantined", "not-ready", "lost")
Fields = serializers.Serializer[Any]


class CardSchema(Fields):
    index = serializers.IntegerField()
    mode = serializers.ChoiceField(choices=Flavor.Mode.choices)
    health = serializers.ChoiceField(choices=Card.Health.choices)
    failed_by = serializers.ChoiceField(
        choices=Card.Evidence.choices,
        allow_null=True,
        help_text="How it is known: `named`, or `counted` where the device plugin tells of fewer cards and this one stands for the bad one.",
    )
    held = NumberField(help_text="The part of the card that is held.")


class NodeAmountsSchema(Fields):
    gpu = NumberField()
    cpu = NumberField()
    memory_gib = NumberField()


class QuarantineSchema(Fields):
    until = serializers.DateTimeField(
        help_text="Later with every time that it goes and comes back; `uncordon` or `recover` end it."
    )
    reason = serializers.CharField()
    flaps = serializers.IntegerField(help_text="How often it went and came back within ten minutes.")


class NodeSchema(Fields):
    cluster = serializers.CharField()
    name = serializers.CharField()
    pool = serializers.CharField()
    flavor = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=NODE_STATES)
    cordoned = serializers.BooleanField(help_text="By hand or by a taint: it starts nothing new.")
    barred_by = serializers.CharField(allow_null=True, help_text="The taint that does it, as kubectl writes it.")
    draining = serializers.BooleanField(
        help_text="What may be preempted leaves within its grace; production ends by itself."
    )
    quarantine = QuarantineSchema(
        allow_null=True, help_text="It came and went too often: it keeps what it runs and starts nothing."
    )
    capacity = NodeAmountsSchema(help_text="What is in service.")
    free = NodeAmountsSchema(help_text="What could be started on it; 0 while it starts nothing.")
    topology = serializers.DictField(child=serializers.CharField(), help_text="Level → domain.")
    cards = CardSchema(many=True)
    last_sign_at = serializers.DateTimeField(
        allow_null=True,
        help_text="Of a node in service the cluster's last full answer, which is of seconds ago; else its last sign of life.",
    )
    lost_at = serializers.DateTimeField(allow_null=True)


class NodeOrderSchema(NodeSchema):
    """The node as last observed: what was asked for shows in it once the cluster was looked at again, in a second or two.

    Only a node's silence takes longer to be noticed: it counts as lost after as long as its heartbeats may be late.
    """

    requested = serializers.ChoiceField(choices=tuple(NODE_ORDERS), help_text="The order that the cluster has taken.")


class NodeFilter(django_filters.FilterSet):
    name = django_filters.CharFilter()
    cluster = django_filters.CharFilter(field_name="cluster__name")
    pool = django_filters.CharFilter(field_name="pool__name")
    flavor = django_filters.CharFilter(field_name="flavor__name")
    state = django_filters.ChoiceFilter(choices=Node.State.choices)


class NodeViewSet(BerthViewSet):
    """Nodes of shared pools and of one's own partitions."""

    required = {
        "list": Action.SUPPLY_READ,
        "retrieve": Action.SUPPLY_READ,
        "fail": Action.NODE_OPERATE,
        "recover": Action.NODE_OPERATE,
        "cordon": Action.NODE_OPERATE,
        "uncordon": Action.NODE_OPERATE,
        "drain": Action.NODE_OPERATE,
        "fail_card": Action.NODE_OPERATE,
        "recover_card": Action.NODE_OPERATE,
    }
    queryset = Node.objects.select_related("cluster", "pool", "flavor")
    serializer_class = NodeSchema
    filterset_class = NodeFilter
    ordering_fields = {"id": "id", "name": "name"}
    ordering = ("name",)

    def get_object(self) -> Node:
        """By cluster and name."""
        lookup = {"cluster__name": self.kwargs["cluster"], "name": self.kwargs["name"]}
        return self.found(self.get_queryset(), **lookup)

    @extend_schema(operation_id="nodes_list", responses=NodeSchema(many=True))
    def list(self, request: Request) -> Response:
        nodes = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        return self.get_paginated_response([node_document(facts) for facts in node_facts(nodes)])

    @extend_schema(operation_id="nodes_retrieve", responses=NodeSchema)
    def retrieve(self, request: Request, **_path: str) -> Response:
        return self._answer(self.get_object())

    @extend_schema(operation_id="nodes_fail", request=None, responses={202: NodeOrderSchema})
    def fail(self, request: Request, **_path: str) -> Response:
        """The node falls silent; what it holds is lost and placed anew. 202: taken; the answer is the node as last observed."""
        return self._order("fail")

    @extend_schema(operation_id="nodes_recover", request=None, responses={202: NodeOrderSchema})
    def recover(self, request: Request, **_path: str) -> Response:
        """Ends a quarantine; a simulated node comes back."""
        return self._order("recover")

    @extend_schema(operation_id="nodes_cordon", request=None, responses={202: NodeOrderSchema})
    def cordon(self, request: Request, **_path: str) -> Response:
        """It starts nothing new and keeps what it runs."""
        return self._order("cordon")

    @extend_schema(operation_id="nodes_uncordon", request=None, responses={202: NodeOrderSchema})
    def uncordon(self, request: Request, **_path: str) -> Response:
        """Ends a cordon, a drain and a quarantine."""
        return self._order("uncordon")

    @extend_schema(operation_id="nodes_drain", request=None, responses={202: NodeOrderSchema})
    def drain(self, request: Request, **_path: str) -> Response:
        """A cordon that sends away what may be preempted, each with its tier's grace."""
        return self._order("drain")

    @extend_schema(operation_id="nodes_cards_fail", request=None, responses={202: NodeOrderSchema})
    def fail_card(self, request: Request, **_path: str) -> Response:
        """The card goes out of service; who holds it is placed anew."""
        return self._order_card("fail")

    @extend_schema(operation_id="nodes_cards_recover", request=None, responses={202: NodeOrderSchema})
    def recover_card(self, request: Request, **_path: str) -> Response:
        return self._order_card("recover")

    def _order(self, order: str) -> Response:
        node = self.get_object()
        order_node(self.user, node, order)
        return self._taken(node, order)

    def _order_card(self, order: str) -> Response:
        node = self.get_object()
        order_card(self.user, node, int(self.kwargs["index"]), order)
        return self._taken(node, order)

    def _taken(self, node: Node, order: str) -> Response:
        document = {**node_document(node_facts([node])[0]), "requested": order}
        return Response(document, status=status.HTTP_202_ACCEPTED)

    def _answer(self, node: Node) -> Response:
        return Response(node_document(node_facts([node])[0]))


def _quarantine(facts: NodeFacts) -> dict[str, Any] | None:
    if facts.quarantined_until is None:
        return None
    flaps = facts.node.flaps
    reason = ngettext(
        "Lost contact %(count)d time within ten minutes.", "Lost contact %(count)d times within ten minutes.", flaps
    )
    return {"until": facts.quarantined_until, "reason": reason % {"count": flaps}, "flaps": flaps}


def node_document(facts: NodeFacts) -> dict[str, Any]:
    node = facts.node
    return {
        "cluster": node.cluster.name,
        "name": node.name,
        "pool": node.pool.name,
        "flavor": node.flavor.name if node.flavor is not None else None,
        "state": facts.state,
        "cordoned": node.cordoned,
        "barred_by": node.barred_by or None,
        "draining": node.draining,
        "quarantine": _quarantine(facts),
        "capacity": {"gpu": cards(facts.usable_m), "cpu": cards(node.cpu_m), "memory_gib": gib(node.memory_mib)},
        "free": {
            "gpu": cards(facts.free_m),
            "cpu": cards(facts.cpu_free_m),
            "memory_gib": gib(facts.memory_free_mib),
        },
        "topology": facts.topology,
        "cards": [
            {
                "index": each.card.index,
                "mode": each.card.mode,
                "health": each.card.health,
                "failed_by": each.card.failed_by or None,
                "held": cards(each.held_m),
            }
            for each in facts.cards
        ],
        "last_sign_at": facts.last_sign_at,
        "lost_at": node.lost_at,
    }
