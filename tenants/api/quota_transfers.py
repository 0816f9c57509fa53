"""`/quota-transfers`: tenants lend each other quota for a period."""

from decimal import Decimal
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import InstantField, StrictSerializer
from berth.common.json_kinds import ProseField
from tenants.access.viewset import BerthViewSet, creates
from tenants.api.amounts import AskedAmountField, RowAmountField
from tenants.models import QuotaTransfer, Resource
from tenants.permissions import Action
from tenants.services.quota_transfers import create_quota_transfer

LEAST = Decimal("0.001")
QUEUE_PATTERN = r"^[a-z0-9-]{1,40}/[a-z0-9-]{1,40}$"


class QueueNameField(serializers.CharField):
    """`tenant/queue`."""

    def to_representation(self, value: Any) -> str:
        return f"{value.tenant.slug}/{value.name}"


class QuotaTransferSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    giver = QueueNameField(help_text="tenant/queue")
    receiver = QueueNameField(help_text="tenant/queue")
    resource = serializers.ChoiceField(choices=Resource.choices)
    flavor = serializers.CharField(source="flavor.name", default=None, allow_null=True)
    amount = RowAmountField()
    valid_from = serializers.DateTimeField()
    valid_to = serializers.DateTimeField()
    agreed_by = serializers.CharField(source="agreed_by.username", default=None, allow_null=True)
    reason = serializers.CharField()


class QuotaTransferCreateSerializer(StrictSerializer):
    giver = serializers.RegexField(QUEUE_PATTERN, max_length=81, help_text="tenant/queue")
    receiver = serializers.RegexField(QUEUE_PATTERN, max_length=81, help_text="tenant/queue")
    resource = serializers.ChoiceField(choices=Resource.choices)
    flavor = serializers.CharField(max_length=63, required=False, allow_null=True, default=None)
    amount = AskedAmountField(min_value=LEAST, help_text="Cards, cores or GiB.")
    valid_from = InstantField(required=False, allow_null=True, default=None)
    valid_to = InstantField()
    reason = ProseField(max_length=500, required=False, allow_blank=True, default="")


class QuotaTransferViewSet(BerthViewSet):
    """Transfers that a tenant of one's own gives or takes; platform roles see all."""

    required = {
        "list": Action.QUOTA_TRANSFER_READ,
        "retrieve": Action.QUOTA_TRANSFER_READ,
        "create": Action.QUOTA_TRANSFER_CREATE,
    }
    queryset = QuotaTransfer.objects.select_related("giver__tenant", "receiver__tenant", "flavor", "agreed_by")
    serializer_class = QuotaTransferSerializer
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "valid_from": "valid_from", "valid_to": "valid_to"}
    ordering = ("-id",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(QuotaTransferSerializer(self.get_object()).data)

    @extend_schema(request=QuotaTransferCreateSerializer, responses={201: QuotaTransferSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        made = create_quota_transfer(by=self.user, **self.body(QuotaTransferCreateSerializer))
        return Response(QuotaTransferSerializer(made).data, status=status.HTTP_201_CREATED)
