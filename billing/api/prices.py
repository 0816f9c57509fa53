"""`/price-books` and `/rates`: prices with effective dates. Of a rate only the end can be changed (BIL-03)."""

from typing import Any

import django_filters
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.bodies import InstantField, StrictSerializer
from berth.common.json_kinds import ProseField
from berth.common.parsing import storable
from billing.api.documents import price_text
from billing.models import PriceBook, Rate
from billing.models.price import MeterChoices
from billing.services.prices import NewRate, create_price_book, create_rate, end_rate
from tenants.access.viewset import BerthViewSet, creates
from tenants.models import Flavor, Tenant
from tenants.permissions import Action


class PriceBookSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    name = serializers.CharField()
    currency = serializers.CharField()
    note = serializers.CharField()


class PriceBookCreateSerializer(StrictSerializer):
    name = serializers.CharField(max_length=63)
    currency = serializers.RegexField(r"^[A-Z]{3}$")
    note = ProseField(max_length=500, required=False, allow_blank=True, default="")


class PriceBookField(serializers.PrimaryKeyRelatedField[PriceBook]):
    """A book by its id or its name, in answers by its id."""

    def to_internal_value(self, data: Any) -> PriceBook:
        if isinstance(data, float) or data == "":
            self.fail("incorrect_type", data_type=type(data).__name__)
        if not isinstance(data, str) or (data.isascii() and data.isdecimal()):
            return super().to_internal_value(data)
        found = PriceBook.objects.filter(name=data).first() if storable(data) else None
        if found is None:
            raise serializers.ValidationError(_("There is no such price book."), code="does-not-exist")
        return found


class RateSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    price_book = serializers.IntegerField(source="price_book_id")
    meter = serializers.ChoiceField(choices=MeterChoices.choices)
    flavor = serializers.CharField(source="flavor.name", default=None, allow_null=True)
    tenant = serializers.CharField(source="tenant.slug", default=None, allow_null=True)
    price = serializers.SerializerMethodField()
    currency = serializers.CharField()
    to = serializers.DateTimeField(source="valid_to", allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": serializers.DateTimeField(source="valid_from")}

    def get_price(self, row: Rate) -> str:
        return price_text(row.price, row.currency)


class RateCreateSerializer(StrictSerializer):
    """`flavor` null: any (not for cards). `tenant` null: everybody. `to` null: for good."""

    price_book = PriceBookField(queryset=PriceBook.objects.all())
    meter = serializers.ChoiceField(choices=MeterChoices.choices)
    flavor = serializers.SlugRelatedField(
        slug_field="name", queryset=Flavor.objects.all(), required=False, allow_null=True, default=None
    )
    tenant = serializers.SlugRelatedField(
        slug_field="slug", queryset=Tenant.objects.all(), required=False, allow_null=True, default=None
    )
    price = serializers.DecimalField(max_digits=18, decimal_places=6, min_value=0)
    currency = serializers.RegexField(r"^[A-Z]{3}$", required=False, default="")
    to = InstantField(source="valid_to", required=False, allow_null=True, default=None)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": InstantField(source="valid_from")}


class RateEndSerializer(StrictSerializer):
    to = InstantField(source="valid_to", allow_null=True)


class PriceBookFilter(django_filters.FilterSet):
    name = django_filters.CharFilter()
    currency = django_filters.CharFilter()


class RateFilter(django_filters.FilterSet):
    price_book = django_filters.NumberFilter(field_name="price_book_id", min_value=1, max_value=2**63 - 1)
    meter = django_filters.ChoiceFilter(choices=MeterChoices.choices)
    flavor = django_filters.CharFilter(field_name="flavor__name")
    tenant = django_filters.CharFilter(field_name="tenant__slug")
    currency = django_filters.CharFilter()


class PriceBookViewSet(BerthViewSet):
    """Books of rates in one currency."""

    required = {"list": Action.PRICE_READ, "retrieve": Action.PRICE_READ, "create": Action.PRICE_CHANGE}
    queryset = PriceBook.objects.all()
    serializer_class = PriceBookSerializer
    filterset_class = PriceBookFilter
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "name": "name"}
    ordering = ("id",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(PriceBookSerializer(self.get_object()).data)

    @extend_schema(request=PriceBookCreateSerializer, responses={201: PriceBookSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        made = create_price_book(by=self.user, **self.body(PriceBookCreateSerializer))
        return Response(PriceBookSerializer(made).data, status=status.HTTP_201_CREATED)


class RateViewSet(BerthViewSet):
    """General rates, and those agreed with one's tenants."""

    required = {
        "list": Action.PRICE_READ,
        "retrieve": Action.PRICE_READ,
        "create": Action.PRICE_CHANGE,
        "partial_update": Action.PRICE_CHANGE,
    }
    queryset = Rate.objects.select_related("flavor", "tenant")
    serializer_class = RateSerializer
    filterset_class = RateFilter
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "from": "valid_from"}
    ordering = ("id",)

    def list(self, request: Request) -> Response:
        return self.pages()

    def retrieve(self, request: Request, **_path: str) -> Response:
        return Response(RateSerializer(self.get_object()).data)

    @extend_schema(request=RateCreateSerializer, responses={201: RateSerializer})
    @creates()
    def create(self, request: Request) -> Response:
        made = create_rate(NewRate(**self.body(RateCreateSerializer)), by=self.user)
        return Response(RateSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=RateEndSerializer, responses=RateSerializer)
    def partial_update(self, request: Request, **_path: str) -> Response:
        """Set the end; an end at the start withdraws the rate. Anything else of a rate never changes (B39)."""
        rate = self.get_object()
        ended = end_rate(rate, by=self.user, **self.body(RateEndSerializer))
        return Response(RateSerializer(ended).data)
