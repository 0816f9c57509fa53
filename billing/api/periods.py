"""`/periods`: the months of tenants, and closing them."""

from typing import Any

import django_filters
from django.utils.translation import gettext_lazy as _
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import StrictSerializer
from berth.common.errors import NotFoundError
from billing.api.documents import StatementSerializer
from billing.metering import Month
from billing.models import BillingPeriod
from billing.services.closing import close_month
from tenants.access.viewset import BerthViewSet
from tenants.models import Tenant
from tenants.permissions import Action, require


class MonthField(serializers.Field[Month, str, str, Month]):
    """`YYYY-MM` ↔ Month."""

    default_error_messages = {"invalid": _("Give a month as YYYY-MM, from 2000-01 to 2199-12.")}

    def to_internal_value(self, data: Any) -> Month:
        try:
            return Month.parse(data if isinstance(data, str) else "")
        except ValueError:
            self.fail("invalid")

    def to_representation(self, value: Month) -> str:
        return str(value)


class MonthSchema(OpenApiSerializerFieldExtension):
    """How the OpenAPI document describes a month."""

    target_class = MonthField

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^[1-9][0-9]{3}-(0[1-9]|1[0-2])$", "example": "2026-04"}


class PeriodSerializer(serializers.Serializer[Any]):
    tenant = serializers.CharField(source="tenant.slug")
    period = serializers.CharField(source="label")
    to = serializers.DateTimeField(source="ends_at")
    timezone = serializers.CharField()
    state = serializers.ChoiceField(choices=BillingPeriod.State.choices)
    closed_at = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": serializers.DateTimeField(source="starts_at")}


class CloseSerializer(StrictSerializer):
    """`tenant` left out: everybody whose month it is."""

    tenant = serializers.SlugRelatedField(
        slug_field="slug", queryset=Tenant.objects.all(), required=False, allow_null=True, default=None
    )


class ClosedSerializer(serializers.Serializer[Any]):
    """The issued statements, in the order of tenants."""

    period = serializers.CharField()
    statements = StatementSerializer(many=True)


class PeriodFilter(django_filters.FilterSet):
    tenant = django_filters.CharFilter(field_name="tenant__slug")
    period = django_filters.CharFilter(field_name="label")
    state = django_filters.ChoiceFilter(choices=BillingPeriod.State.choices)


class PeriodViewSet(BerthViewSet):
    """Months of one's tenants, without gap or overlap."""

    required = {"list": Action.STATEMENT_READ, "close": Action.PERIOD_CLOSE}
    queryset = BillingPeriod.objects.select_related("tenant")
    serializer_class = PeriodSerializer
    filterset_class = PeriodFilter
    lookup_field = "period"
    ordering_fields = {"id": "id", "from": "starts_at"}
    ordering = ("-from",)

    def list(self, request: Request) -> Response:
        return self.pages()

    @extend_schema(request=CloseSerializer, responses=ClosedSerializer)
    @action(detail=True, methods=["post"])
    def close(self, request: Request, **_path: str) -> Response:
        """Issue the statements of an ended month; repeating it answers the same ones.

        Where something stops one tenant (a price is missing) the answer is that error; the others are issued all the same.
        """
        require(self.user, Action.PERIOD_CLOSE)
        try:
            month = Month.parse(self.kwargs["period"])
        except ValueError:
            raise NotFoundError from None
        tenant = self.body(CloseSerializer)["tenant"]
        closings = close_month(month, tenant=tenant, by=self.user)
        for closing in closings:
            if closing.error is not None:
                raise closing.error
        issued = [closing.statement for closing in closings]
        return Response({"period": str(month), "statements": StatementSerializer(issued, many=True).data})
