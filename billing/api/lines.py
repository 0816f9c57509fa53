"""`/statements/{number}/lines`: the lines of one statement, and what each adds up (BIL-08)."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common.filters import StrictBooleanFilter
from billing.api.documents import LineSerializer, SourceSerializer
from billing.models import Statement, StatementLine
from billing.models.price import MeterChoices
from billing.selectors.documents import entries_of, lines_of, statements
from tenants.access.viewset import BerthViewSet
from tenants.permissions import Action


class LineFilter(django_filters.FilterSet):
    """What the lines may be narrowed by."""

    kind = django_filters.ChoiceFilter(choices=StatementLine.Kind.choices)
    meter = django_filters.ChoiceFilter(choices=MeterChoices.choices)
    flavor = django_filters.CharFilter(field_name="flavor_name")
    queue = django_filters.CharFilter(field_name="queue_name")
    borrowed = StrictBooleanFilter()
    job = django_filters.NumberFilter(field_name="job_id", min_value=1, max_value=2**63 - 1)


class LineViewSet(BerthViewSet):
    """Lines in the order they were made."""

    required = {"list": Action.STATEMENT_READ, "sources": Action.STATEMENT_READ}
    queryset = StatementLine.objects.none()
    serializer_class = LineSerializer
    filterset_class = LineFilter
    lookup_field = "pk"
    lookup_url_kwarg = "id"
    lookup_value_regex = "[0-9]{1,18}"
    ordering_fields = {"id": "id", "amount": "amount"}
    ordering = ("id",)
    list_actions = frozenset({"sources"})

    def statement(self) -> Statement:
        """The statement of the address: 404 where it is not visible."""
        found: Statement = self.found(
            statements().visible_to(self.user),  # type: ignore[attr-defined]
            number=self.kwargs["number"],
        )
        return found

    def get_queryset(self) -> QuerySet[Any]:
        return lines_of(self.statement())

    def list(self, request: Request, **_path: str) -> Response:
        return self.pages()

    def known_query(self) -> frozenset[str]:
        known = super().known_query()
        return known - frozenset(LineFilter.base_filters) if self.action == "sources" else known

    @extend_schema(responses=SourceSerializer(many=True))
    @action(detail=True, methods=["get"], serializer_class=SourceSerializer, filterset_class=None)
    def sources(self, request: Request, **_path: str) -> Response:
        """The ledger entries behind the line: run, lease, segment, pod, node, card."""
        line = self.found(lines_of(self.statement()), pk=self.kwargs["id"])
        rows = entries_of(line) if line.meter else entries_of(line).none()
        return self.pages(rows)
