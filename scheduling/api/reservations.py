"""`/reservations`: capacity kept for a queue, a tier or a job."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import CardsField, InstantField, StrictSerializer
from scheduling.models import Reservation
from scheduling.models.job import TIERS
from scheduling.services.reservations import release_by_hand, reserve_by_hand
from tenants.access.viewset import BerthViewSet, creates
from tenants.permissions import Action


class ReservationSchema(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    tenant = serializers.CharField(source="queue.tenant.slug", default=None, allow_null=True)
    queue = serializers.CharField(source="queue.name", default=None, allow_null=True)
    job = serializers.IntegerField(source="job_id", allow_null=True)
    tier = serializers.CharField()
    flavor = serializers.CharField(source="flavor.name", default=None, allow_null=True)
    amount = CardsField(source="amount_m")
    from_ = serializers.DateTimeField(source="from_at")
    to = serializers.DateTimeField(source="to_at", allow_null=True)
    released_at = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}


class ReservationCreateSerializer(StrictSerializer):
    flavor = serializers.CharField(max_length=63)
    amount = CardsField(source="amount_m", least="0.001")
    queue = serializers.CharField(max_length=81, required=False, default="", help_text="tenant/name")
    tier = serializers.ChoiceField(choices=[tier for tier, _label in TIERS], required=False, default="")
    from_ = InstantField(source="from_at")
    to = InstantField(source="to_at")

    def get_fields(self) -> dict[str, Any]:
        return {name.rstrip("_"): field for name, field in super().get_fields().items()}


class ReservationViewSet(BerthViewSet):
    """Reservations for one's tenants; platform roles see all."""

    required = {
        "list": Action.RESERVATION_READ,
        "create": Action.RESERVATION_CREATE,
        "release": Action.RESERVATION_CREATE,
    }
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    queryset = Reservation.objects.select_related("queue__tenant", "flavor")
    serializer_class = ReservationSchema
    ordering_fields = {"id": "id"}
    ordering = ("-id",)

    @extend_schema(responses=ReservationSchema(many=True))
    def list(self, request: Request) -> Response:
        return self.pages()

    @extend_schema(request=ReservationCreateSerializer, responses={201: ReservationSchema})
    @creates()
    def create(self, request: Request) -> Response:
        made = reserve_by_hand(by=self.user, **self.body(ReservationCreateSerializer))
        return Response(ReservationSchema(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=ReservationSchema)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, **_path: str) -> Response:
        released = release_by_hand(self.get_object(), by=self.user)
        return Response(ReservationSchema(released).data)
