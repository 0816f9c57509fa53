"""`/quota-requests`: a tenant asks for more, a platform admin decides."""

from decimal import Decimal
from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import InstantField, StrictSerializer
from berth.common.json_kinds import ProseField
from tenants.access.viewset import BerthViewSet, creates
from tenants.api.amounts import AskedAmountField, RowAmountField
from tenants.models import QuotaRequest, Resource
from tenants.permissions import Action
from tenants.services.quota_requests import approve_quota_request, create_quota_request, reject_quota_request

LEAST = Decimal("0.001")


class QuotaRequestSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    tenant = serializers.CharField(source="queue.tenant.slug")
    queue = serializers.CharField(source="queue.name")
    resource = serializers.ChoiceField(choices=Resource.choices)
    flavor = serializers.CharField(source="flavor.name", default=None, allow_null=True)
    amount = RowAmountField()
    until = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()
    state = serializers.ChoiceField(choices=QuotaRequest.State.choices)
    asked_by = serializers.CharField(source="asked_by.username")
    asked_at = serializers.DateTimeField()
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    answer = serializers.CharField()


class QuotaRequestCreateSerializer(StrictSerializer):
    tenant = serializers.CharField(max_length=40)
    queue = serializers.CharField(max_length=40)
    resource = serializers.ChoiceField(choices=Resource.choices)
    flavor = serializers.CharField(max_length=63, required=False, allow_null=True, default=None)
    amount = AskedAmountField(min_value=LEAST, help_text="How much more: cards, cores or GiB.")
    until = InstantField(required=False, allow_null=True, default=None)
    reason = ProseField(max_length=1000)


class AnswerSerializer(StrictSerializer):
    answer = ProseField(max_length=1000, required=False, allow_blank=True, default="")


class QuotaRequestFilter(django_filters.FilterSet):
    tenant = django_filters.CharFilter(field_name="queue__tenant__slug")
    queue = django_filters.CharFilter(field_name="queue__name")
    state = django_filters.ChoiceFilter(choices=QuotaRequest.State.choices)


class QuotaRequestViewSet(BerthViewSet):
    """Requests of one's tenants; platform roles see all."""

    required = {
        "list": Action.QUOTA_REQUEST_READ,
        "retrieve": Action.QUOTA_REQUEST_READ,
        "create": Action.QUOTA_REQUEST_CREATE,
        "approve": Action.QUOTA_REQUEST_DECIDE,
        "reject": Action.QUOTA_REQUEST_DECIDE,
    }
    queryset = QuotaRequest.objects.select_related("queue__tenant", "queue__pool", "flavor", "asked_by", "decided_by")
    serializer_class = QuotaRequestSerializer
    filterset_class = QuotaRequestFilter
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "asked_at": "asked_at"}
    ordering = ("-id",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(QuotaRequestSerializer(self.get_object()).data)

    @extend_schema(request=QuotaRequestCreateSerializer, responses={201: QuotaRequestSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        made = create_quota_request(by=self.user, **self.body(QuotaRequestCreateSerializer))
        return Response(QuotaRequestSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=AnswerSerializer, responses=QuotaRequestSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, **_path: str) -> Response:
        decided = approve_quota_request(by=self.user, request=self.get_object(), **self.body(AnswerSerializer))
        return Response(QuotaRequestSerializer(decided).data)

    @extend_schema(request=AnswerSerializer, responses=QuotaRequestSerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, **_path: str) -> Response:
        decided = reject_quota_request(by=self.user, request=self.get_object(), **self.body(AnswerSerializer))
        return Response(QuotaRequestSerializer(decided).data)
