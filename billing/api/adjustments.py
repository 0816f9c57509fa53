"""`/adjustments`: corrections by hand in the open period, each with its reason (BIL-07)."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import StrictSerializer
from berth.common.json_kinds import ProseField
from berth.common.money import money_text
from billing.api.periods import MonthField
from billing.models import Adjustment, Statement
from billing.services.adjustments import post_adjustment
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import Tenant
from tenants.permissions import Action


class AdjustmentSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    tenant = serializers.CharField(source="tenant.slug")
    period = serializers.CharField(source="period.label")
    refers_to = serializers.CharField(source="refers_to.number", default=None, allow_null=True)
    kind = serializers.ChoiceField(choices=Adjustment.Kind.choices)
    amount = serializers.SerializerMethodField()
    currency = serializers.CharField()
    reason = serializers.CharField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    created_at = serializers.DateTimeField()

    def get_amount(self, row: Adjustment) -> str:
        return money_text(row.amount, row.currency)


class AdjustmentCreateSerializer(StrictSerializer):
    """`period` left out: the present one. `refers_to` is the number of an issued statement."""

    tenant = serializers.SlugRelatedField(slug_field="slug", queryset=Tenant.objects.all())
    period = MonthField(required=False, allow_null=True, default=None)
    refers_to = serializers.SlugRelatedField(
        slug_field="number", queryset=Statement.objects.all(), required=False, allow_null=True, default=None
    )
    kind = serializers.ChoiceField(choices=Adjustment.Kind.choices, default=Adjustment.Kind.ADJUSTMENT.value)
    amount = serializers.DecimalField(max_digits=18, decimal_places=6)
    currency = serializers.RegexField(r"^[A-Z]{3}$", required=False, default="")
    reason = ProseField(max_length=1000)


class AdjustmentFilter(django_filters.FilterSet):
    tenant = django_filters.CharFilter(field_name="tenant__slug")
    period = django_filters.CharFilter(field_name="period__label")


class AdjustmentViewSet(BerthViewSet):
    """Adjustments of one's tenants; platform roles see all."""

    required = {
        "list": Action.ADJUSTMENT_READ,
        "retrieve": Action.ADJUSTMENT_READ,
        "create": Action.ADJUSTMENT_CREATE,
    }
    queryset = Adjustment.objects.select_related("tenant", "period", "refers_to", "created_by")
    serializer_class = AdjustmentSerializer
    filterset_class = AdjustmentFilter
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "created_at": "created_at"}
    ordering = ("-id",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(AdjustmentSerializer(self.get_object()).data)

    @extend_schema(request=AdjustmentCreateSerializer, responses={201: AdjustmentSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        asked = self.body(AdjustmentCreateSerializer)
        made = post_adjustment(asked.pop("tenant"), asked.pop("period"), by=self.user, **asked)
        return Response(AdjustmentSerializer(made).data, status=status.HTTP_201_CREATED)
