"""`/notifications`: what one is told, and that one has read it."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import StrictSerializer
from tenants.access.viewset import BerthViewSet
from tenants.models import Notification
from tenants.permissions import Action
from tenants.selectors.notifications import notifications_for
from tenants.services.notifications import mark_read

MOST_AT_ONCE = 500
BIGGEST_ID = 2**63 - 1


class NotificationSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    code = serializers.CharField()
    params = serializers.DictField()
    tenant = serializers.CharField(source="tenant.slug", default=None, allow_null=True)
    job = serializers.IntegerField(source="job_id", allow_null=True)
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)


class ReadSerializer(StrictSerializer):
    read = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=BIGGEST_ID), min_length=1, max_length=MOST_AT_ONCE
    )


class MarkedSerializer(serializers.Serializer[Any]):
    marked = serializers.IntegerField(help_text="How many became read.")


class NotificationViewSet(BerthViewSet):
    """Messages to the user and to their tenants, newest first. POST marks as read."""

    required = {"list": Action.NOTIFICATION_READ, "create": Action.NOTIFICATION_READ}
    queryset = Notification.objects.none()
    serializer_class = NotificationSerializer
    ordering_fields = {"id": "id"}
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[Any]:
        return notifications_for(self.user)

    def list(self, request: Request) -> Response:
        return self.pages()

    @extend_schema(request=ReadSerializer, responses={200: MarkedSerializer})
    def create(self, request: Request) -> Response:
        return Response({"marked": mark_read(by=self.user, ids=self.body(ReadSerializer)["read"])})
