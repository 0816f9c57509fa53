"""`/statements`: what tenants owe, as drafts and as issued documents, in views that all add up to the same total."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from drf_canon.errors import QueryParamError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.filters import StrictBooleanFilter
from berth.common.money import money_text
from billing.api.documents import PartSerializer, StatementDetailSerializer, StatementSerializer
from billing.api.download import FORMATS, download
from billing.models import Statement
from billing.selectors.documents import VIEWS, statements, versions_of, view_of
from tenants.access.viewset import BerthViewSet
from tenants.permissions import Action
from tenants.services.audit import record_event


class StatementFilter(django_filters.FilterSet):
    """Superseded drafts are left out unless asked for."""

    tenant = django_filters.CharFilter(field_name="tenant__slug")
    period = django_filters.CharFilter(field_name="period__label")
    state = django_filters.ChoiceFilter(choices=Statement.State.choices)
    superseded = StrictBooleanFilter(method="with_superseded")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = super().filter_queryset(queryset)
        return found if self.form.cleaned_data.get("superseded") else found.filter(superseded_at__isnull=True)

    def with_superseded(self, queryset: QuerySet[Any], _name: str, _value: bool) -> QuerySet[Any]:
        """Decided for the whole list in `filter_queryset`."""
        return queryset


class StatementViewSet(BerthViewSet):
    """Statements of one's tenants; platform roles see all."""

    required = {
        "list": Action.STATEMENT_READ,
        "retrieve": Action.STATEMENT_READ,
        "breakdown": Action.STATEMENT_READ,
        "download": Action.STATEMENT_READ,
    }
    queryset = Statement.objects.none()
    serializer_class = StatementSerializer
    filterset_class = StatementFilter
    lookup_field = "number"
    ordering_fields = {"id": "id", "period": "period__starts_at", "total": "total", "number": "number"}
    ordering = ("-id",)

    def rows(self) -> QuerySet[Any]:
        return statements()

    def known_query(self) -> frozenset[str]:
        of_action = {"list": super().known_query(), "breakdown": frozenset({"by"}), "download": frozenset({"format"})}
        return of_action.get(self.action or "", frozenset())

    def list(self, request: Request) -> Response:
        return self.pages()

    @extend_schema(responses=StatementDetailSerializer)
    def retrieve(self, request: Request, **_path: str) -> Response:
        statement = self.get_object()
        statement.superseded = versions_of(statement)
        return Response(StatementDetailSerializer(statement).data)

    @extend_schema(
        parameters=[OpenApiParameter("by", enum=[*VIEWS], required=True)], responses=PartSerializer(many=True)
    )
    @action(detail=True, methods=["get"], pagination_class=None, filterset_class=None)
    def breakdown(self, request: Request, **_path: str) -> Response:
        """The document by job, project, user, queue, flavor, kind, meter or day; every view has the same total."""
        statement = self.get_object()
        by = request.query_params.get("by", "")
        if by not in VIEWS:
            raise QueryParamError({"by": _("Choose from: %s.") % ", ".join(VIEWS)})
        parts = view_of(statement, by)
        return Response(
            [
                {
                    "key": None if part.key is None else str(part.key),
                    "amount": money_text(part.amount, statement.currency),
                }
                for part in parts
            ]
        )

    @extend_schema(
        parameters=[OpenApiParameter("format", enum=[*FORMATS], default="json")],
        responses={(200, "text/csv"): OpenApiTypes.STR, (200, "application/json"): OpenApiTypes.OBJECT},
    )
    @action(detail=True, methods=["get"], pagination_class=None, filterset_class=None)
    def download(self, request: Request, **_path: str) -> HttpResponseBase:
        """The whole document as a file. Cells that a spreadsheet would run as formulas are inert (BIL-09)."""
        statement = self.get_object()
        wanted = request.query_params.get("format", "json")
        if wanted not in FORMATS:
            raise QueryParamError({"format": _("Choose from: %s.") % ", ".join(FORMATS)})
        record_event(
            by=self.user,
            action="statement.download",
            on=statement,
            tenant=statement.tenant,
            detail={"number": statement.number, "format": wanted},
        )
        return download(statement, wanted)
