"""`/cycles`: what the loop decided, pass by pass."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.errors import NotFoundError
from scheduling.models import Cycle
from tenants.access.viewset import BerthViewSet
from tenants.permissions import Action


class CycleSchema(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    epoch = serializers.IntegerField()
    duration_ms = serializers.IntegerField()
    load_ms = serializers.IntegerField()
    plan_ms = serializers.IntegerField()
    apply_ms = serializers.IntegerField()
    admitted = serializers.IntegerField()
    preempted = serializers.IntegerField()
    waiting = serializers.IntegerField()
    dropped = serializers.IntegerField()
    by_reason = serializers.DictField(child=serializers.IntegerField())
    failed = serializers.BooleanField()
    replayable = serializers.BooleanField()


class CycleViewSet(BerthViewSet):
    """Counts of the whole platform; they name nobody, so every signed-in person reads the same."""

    required = {"list": Action.CYCLE_READ, "retrieve": Action.CYCLE_READ}
    queryset = Cycle.objects.none()
    serializer_class = CycleSchema
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id"}
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[Any]:
        return Cycle.objects.extra(select={"replayable": "snapshot IS NOT NULL"}).defer("snapshot", "error")

    @extend_schema(responses=CycleSchema(many=True))
    def list(self, request: Request) -> Response:
        return self.pages()

    @extend_schema(responses=CycleSchema)
    def retrieve(self, request: Request, **_path: str) -> Response:
        found = self.get_queryset().filter(pk=self.kwargs["id"]).first()
        if found is None:
            raise NotFoundError
        return Response(CycleSchema(found).data)
