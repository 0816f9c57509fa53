"""`/queues`: a tenant's lines of jobs, their quota and what stands on it. Writing is the tenants' services' own."""

from collections import defaultdict
from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import MAX_AMOUNT, RatioField, StrictSerializer
from berth.common.errors import Problems
from berth.common.parsing import storable
from scheduling.api.amounts import cards, gib
from scheduling.api.job_document import ppm
from scheduling.api.job_schema import NumberField
from scheduling.api.weight_document import QueueWeightsSchema, weights_document
from scheduling.selectors.queue_numbers import QueueNumbers, QuotaNumbers, queue_numbers
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import Pool, Queue, Quota
from tenants.models.tenant import SLUG, SLUG_PATTERN
from tenants.permissions import Action
from tenants.services.queues import change_queue, create_queue
from tenants.services.quota_lines import read_quota

MOST_WEIGHT = 1000
LEAST_LOAN_S, MOST_LOAN_S = 60, 30 * 86_400
NUMBERS = ("nominal", "borrowing_limit", "lending_limit", "used", "own", "borrowed", "lent", "pending")
Fields = serializers.Serializer[Any]


class QuotaLineSchema(Fields):
    nominal = NumberField(allow_null=True)
    borrowing_limit = NumberField(allow_null=True, help_text="null = no limit.")
    lending_limit = NumberField(allow_null=True, help_text="null = no limit.")
    mode = serializers.ChoiceField(choices=Quota.Mode.choices)
    used = NumberField()
    own = NumberField()
    borrowed = NumberField()
    lent = NumberField()
    pending = NumberField(help_text="What waiting jobs ask for, at the first flavor they accept.")


class QuotaSchema(Fields):
    gpu = serializers.DictField(child=QuotaLineSchema(), help_text="By flavor, in cards.")
    cpu = QuotaLineSchema(required=False, help_text="Cores.")
    memory = QuotaLineSchema(required=False, help_text="GiB.")
    vram = QuotaLineSchema(required=False, help_text="GiB.")
    storage = QuotaLineSchema(required=False, help_text="GiB.")
    iops = QuotaLineSchema(required=False)


class QueueSchema(Fields):
    tenant = serializers.CharField()
    name = serializers.CharField()
    environment = serializers.ChoiceField(choices=Queue.Environment.choices)
    default_tier = serializers.ChoiceField(choices=Queue.Tier.choices)
    pool = serializers.CharField()
    state = serializers.ChoiceField(choices=Queue.State.choices)
    weight = NumberField()
    effective_weight = NumberField()
    weights = QueueWeightsSchema()
    loan_period_s = serializers.IntegerField()
    strict_expiry = serializers.BooleanField()
    max_pool_share = NumberField(allow_null=True)
    share = NumberField(allow_null=True, help_text="Dominant share of its pool over the effective weight.")
    quota = QuotaSchema()
    used = serializers.DictField()
    borrowed = serializers.DictField()
    lent = serializers.DictField()
    pending = serializers.DictField()


class AskedLineSchema(Fields):
    nominal = serializers.FloatField(required=False, min_value=0, max_value=MAX_AMOUNT)
    borrowing_limit = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=MAX_AMOUNT)
    lending_limit = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=MAX_AMOUNT)
    mode = serializers.ChoiceField(choices=Quota.Mode.choices, required=False)


class QuotaDocumentField(serializers.JSONField):
    """`{gpu: {FLAVOR: {nominal, borrowing_limit, lending_limit, mode}}, cpu: {…}, …}`; every wrong place is named."""

    def to_internal_value(self, data: Any) -> Any:
        value = super().to_internal_value(data)
        pool = self.context.get("pool")
        if pool is not None:
            problems = Problems()
            read_quota(value, pool=pool, problems=problems, where="")
            if problems.found:
                raise serializers.ValidationError(_nested(problems))
        return value


def _nested(problems: Problems) -> Any:
    """What is wrong below `quota`, as the serializers tell it: by resource, flavor and member."""
    found: dict[str, Any] = {}
    for problem in problems.found:
        error = serializers.ErrorDetail(str(problem.message), code=problem.code)
        *above, last = problem.field.strip(".").split(".")
        if not last:
            return [error]
        below = found
        for step in above:
            below = below.setdefault(step, {})
        below[last] = [error]
    return found


class QueueChangeSerializer(StrictSerializer):
    default_tier = serializers.ChoiceField(choices=Queue.Tier.choices)
    weight = RatioField(source="weight_ppm", most=MOST_WEIGHT)
    loan_period_s = serializers.IntegerField(min_value=LEAST_LOAN_S, max_value=MOST_LOAN_S)
    strict_expiry = serializers.BooleanField()
    max_pool_share = RatioField(source="max_pool_share_ppm", least="0.000001", most=1, allow_null=True)
    state = serializers.ChoiceField(choices=Queue.State.choices)
    quota = QuotaDocumentField(help_text="Lines to set, by resource and flavor; null ends a line.")


class QueueCreateSerializer(QueueChangeSerializer):
    tenant = serializers.CharField(max_length=40)
    name = serializers.RegexField(SLUG_PATTERN, max_length=40, error_messages={"invalid": SLUG.message})
    pool = serializers.CharField(max_length=63)
    environment = serializers.ChoiceField(choices=Queue.Environment.choices)

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        fields.pop("state")
        for name, field in fields.items():
            field.required = name in {"tenant", "name", "pool"}
        return fields


class QueueFilter(django_filters.FilterSet):
    tenant = django_filters.CharFilter(field_name="tenant__slug")
    pool = django_filters.CharFilter(field_name="pool__name")
    name = django_filters.CharFilter(field_name="name")
    environment = django_filters.ChoiceFilter(choices=Queue.Environment.choices)
    default_tier = django_filters.ChoiceFilter(choices=Queue.Tier.choices)
    state = django_filters.ChoiceFilter(choices=Queue.State.choices)


class QueueViewSet(BerthViewSet):
    """Queues of one's tenants; platform roles see all."""

    required = {
        "list": Action.QUEUE_READ,
        "retrieve": Action.QUEUE_READ,
        "create": Action.QUEUE_CREATE,
        "partial_update": Action.QUEUE_CHANGE,
    }
    queryset = Queue.objects.select_related("tenant", "pool")
    serializer_class = QueueSchema
    filterset_class = QueueFilter
    ordering_fields = {"id": "id", "tenant": "tenant__slug", "name": "name"}
    ordering = ("id",)

    def get_object(self) -> Queue:
        """By tenant and name."""
        lookup = {"tenant__slug": self.kwargs["tenant"], "name": self.kwargs["name"]}
        return self.found(self.get_queryset(), **lookup)

    @extend_schema(operation_id="queues_list", responses=QueueSchema(many=True))
    def list(self, request: Request) -> Response:
        queues = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        numbers = queue_numbers(queues)
        return self.get_paginated_response([queue_document(queue, numbers[queue.pk]) for queue in queues])

    @extend_schema(operation_id="queues_retrieve", responses=QueueSchema)
    def retrieve(self, request: Request, **_path: str) -> Response:
        return self._answer(self.get_object())

    @extend_schema(request=QueueCreateSerializer, responses={201: QueueSchema})
    @creates()
    def create(self, request: Request) -> Response:
        pool = self._pool_named(request.data)
        made = create_queue(by=self.user, **self.body(QueueCreateSerializer, pool=pool))
        return self._answer(made, status.HTTP_201_CREATED)

    @extend_schema(operation_id="queues_partial_update", request=QueueChangeSerializer, responses=QueueSchema)
    def partial_update(self, request: Request, **_path: str) -> Response:
        queue = self.get_object()
        body = self.body(QueueChangeSerializer, partial=True, pool=queue.pool)
        return self._answer(change_queue(by=self.user, queue=queue, **body))

    def _pool_named(self, body: Any) -> Pool | None:
        """The pool whose flavors the body's quota may name."""
        name = body.get("pool") if isinstance(body, dict) else None
        return Pool.objects.filter(name=name).first() if isinstance(name, str) and storable(name) else None

    def _answer(self, queue: Queue, status_code: int = status.HTTP_200_OK) -> Response:
        return Response(queue_document(queue, queue_numbers([queue])[queue.pk]), status=status_code)


def queue_document(queue: Queue, numbers: QueueNumbers) -> dict[str, Any]:
    quota = _by_resource(numbers)
    return {
        "tenant": queue.tenant.slug,
        "name": queue.name,
        "environment": queue.environment,
        "default_tier": queue.default_tier,
        "pool": queue.pool.name,
        "state": queue.state,
        "weight": ppm(queue.weight_ppm),
        "effective_weight": ppm(numbers.weights.queue.found.effective_weight_ppm),
        "weights": weights_document(numbers.weights),
        "loan_period_s": queue.loan_period_s,
        "strict_expiry": queue.strict_expiry,
        "max_pool_share": None if queue.max_pool_share_ppm is None else ppm(queue.max_pool_share_ppm),
        "share": None if numbers.share is None else round(float(numbers.share), 6),
        "quota": quota,
        **{name: _only(quota, name) for name in ("used", "borrowed", "lent", "pending")},
    }


def _by_resource(numbers: QueueNumbers) -> dict[str, Any]:
    found: dict[str, Any] = defaultdict(dict)
    found["gpu"] = {}
    for (resource, flavor), line in sorted(numbers.lines.items()):
        if flavor:
            found[resource][flavor] = _line(resource, line)
        else:
            found[resource] = _line(resource, line)
    return dict(found)


def _line(resource: str, line: QuotaNumbers) -> dict[str, Any]:
    unit = {"gpu": cards, "cpu": cards, "memory": gib, "vram": gib}.get(resource, int)
    amounts = {name: getattr(line, name) for name in NUMBERS}
    return {
        "mode": line.mode,
        **{name: None if amount is None else unit(amount) for name, amount in amounts.items()},
    }


def _only(quota: dict[str, Any], number: str) -> dict[str, Any]:
    """One number of every line, in the same places."""
    return {
        resource: {flavor: line[number] for flavor, line in lines.items()} if resource == "gpu" else lines[number]
        for resource, lines in quota.items()
    }
