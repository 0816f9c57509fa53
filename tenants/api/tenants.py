"""`/tenants`: who uses the platform, under which terms."""

from collections.abc import Callable
from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import RatioField, StrictSerializer
from berth.common.errors import Problems
from berth.common.money import EXPONENTS
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import Tenant
from tenants.models.tenant import SLUG, SLUG_PATTERN
from tenants.permissions import Action
from tenants.services.tenants import change_tenant, check_new_slug, check_timezone, cohort_named, create_tenant

MOST_WEIGHT = 1000


def listed(check: Callable[[Any, Problems], Any]) -> Callable[[Any], None]:
    """A service's check of one value as a field's: what it finds is listed beside all else that is wrong."""

    def validate(value: Any) -> None:
        problems = Problems()
        check(value, problems)
        for found in problems.found:
            raise serializers.ValidationError(str(found.message), code=found.code)

    return validate


class TenantSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    cohort = serializers.CharField(source="cohort.name", default=None, allow_null=True)
    weight = RatioField(source="weight_ppm")
    service_tier = serializers.ChoiceField(choices=Tenant.ServiceTier.choices)
    isolation = serializers.ChoiceField(choices=Tenant.Isolation.choices)
    cost_centre = serializers.CharField()
    billing_timezone = serializers.CharField()
    currency = serializers.CharField()
    state = serializers.ChoiceField(choices=Tenant.State.choices)
    created_at = serializers.DateTimeField()


class TenantChangeSerializer(StrictSerializer):
    """What may be changed of a tenant; what is left out stays."""

    name = serializers.CharField(max_length=120)
    cohort = serializers.CharField(
        max_length=63,
        allow_null=True,
        validators=[listed(cohort_named)],
        help_text="The name of a cohort, or null for none.",
    )
    weight = RatioField(source="weight_ppm", most=MOST_WEIGHT)
    service_tier = serializers.ChoiceField(choices=Tenant.ServiceTier.choices)
    isolation = serializers.ChoiceField(choices=Tenant.Isolation.choices)
    cost_centre = serializers.CharField(max_length=64, allow_blank=True)
    billing_timezone = serializers.CharField(
        max_length=64, validators=[listed(check_timezone)], help_text="A name of the IANA list: Asia/Shanghai."
    )
    currency = serializers.ChoiceField(choices=sorted(EXPONENTS))
    state = serializers.ChoiceField(choices=Tenant.State.choices)


class TenantCreateSerializer(TenantChangeSerializer):
    """A new tenant is active."""

    slug = serializers.RegexField(
        SLUG_PATTERN, max_length=40, validators=[listed(check_new_slug)], error_messages={"invalid": SLUG.message}
    )
    state = serializers.ChoiceField(choices=[Tenant.State.ACTIVE.value])

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, field in fields.items():
            field.required = name in {"slug", "name"}
        return fields


class TenantFilter(django_filters.FilterSet):
    slug = django_filters.CharFilter()
    name = django_filters.CharFilter()
    cohort = django_filters.CharFilter(field_name="cohort__name")
    service_tier = django_filters.ChoiceFilter(choices=Tenant.ServiceTier.choices)
    isolation = django_filters.ChoiceFilter(choices=Tenant.Isolation.choices)
    cost_centre = django_filters.CharFilter()
    currency = django_filters.CharFilter()
    state = django_filters.ChoiceFilter(choices=Tenant.State.choices)


class TenantViewSet(BerthViewSet):
    """Tenants that one belongs to; platform roles see all."""

    required = {
        "list": Action.TENANT_READ,
        "retrieve": Action.TENANT_READ,
        "create": Action.TENANT_CREATE,
        "partial_update": Action.TENANT_CHANGE,
    }
    queryset = Tenant.objects.select_related("cohort")
    serializer_class = TenantSerializer
    filterset_class = TenantFilter
    lookup_field = "slug"
    ordering_fields = {"slug": "slug", "name": "name", "created_at": "created_at"}
    ordering = ("slug",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(TenantSerializer(self.get_object()).data)

    @extend_schema(request=TenantCreateSerializer, responses={201: TenantSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        tenant = create_tenant(by=self.user, **self.body(TenantCreateSerializer))
        return Response(TenantSerializer(tenant).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=TenantChangeSerializer, responses=TenantSerializer)
    def partial_update(self, request: Request, **_path: str) -> Response:
        tenant = self.get_object()
        changed = change_tenant(by=self.user, tenant=tenant, **self.body(TenantChangeSerializer, partial=True))
        return Response(TenantSerializer(changed).data)
