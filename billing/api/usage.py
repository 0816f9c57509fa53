"""`/usage`: card-time by day, flavor, queue, user or job."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_canon.errors import QueryParamError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from berth.common import clock
from berth.common.bodies import number
from berth.common.errors import NotFoundError
from berth.common.instants import ALLOWED, InstantRangeError, parse_instant
from berth.common.paging import WholePages
from berth.common.units import UNITS_PER_CARD
from billing.selectors.usage import DIMENSIONS, Use, use_of
from tenants.access.viewset import BerthViewSet
from tenants.models import Tenant
from tenants.permissions import Action, require

_SHARE_DIGITS = 6
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class UsageSerializer(serializers.Serializer[Any]):
    """Card-seconds that were charged (`own` + `borrowed`), and what was not. Utilisation is null where nothing was sampled."""

    to = serializers.DateTimeField()
    key = serializers.CharField()
    day = serializers.DateField(required=False)
    flavor = serializers.CharField(required=False, allow_null=True)
    queue = serializers.CharField(required=False, allow_null=True)
    user = serializers.CharField(required=False, allow_null=True)
    job = serializers.IntegerField(required=False, allow_null=True)
    card_seconds = serializers.FloatField()
    own = serializers.FloatField()
    borrowed = serializers.FloatField()
    excluded = serializers.FloatField()
    utilisation = serializers.FloatField(allow_null=True)
    coverage = serializers.FloatField(allow_null=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()
        return {**fields, "from": serializers.DateTimeField()}


class UsageViewSet(BerthViewSet):
    """Use of one's tenants; platform roles see all."""

    required = {"list": Action.USAGE_READ}
    queryset = Tenant.objects.all()
    serializer_class = UsageSerializer
    pagination_class = WholePages
    query_fields = frozenset({"tenant", "from", "to", "group_by"})

    @extend_schema(
        parameters=[
            OpenApiParameter("tenant", OpenApiTypes.STR),
            OpenApiParameter("from", OpenApiTypes.DATETIME, description="Default: the first of this month, UTC."),
            OpenApiParameter("to", OpenApiTypes.DATETIME, description="Default: now."),
            OpenApiParameter("group_by", OpenApiTypes.STR, description=f"Some of {', '.join(DIMENSIONS)}, by commas."),
        ],
        responses=UsageSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """Card-time held in a stretch of time; what goes on counts up to now."""
        now = clock.now()
        asked = _read(request.query_params, now)
        tenants = self.get_queryset()
        slug = request.query_params.get("tenant")
        if slug is not None:
            tenant = tenants.filter(slug=slug).first()
            if tenant is None:
                raise NotFoundError
            require(self.user, Action.USAGE_READ, tenant)
            tenants = tenants.filter(pk=tenant.pk)
        since, until, group_by = asked
        found = use_of(list(tenants), since=since, until=until, group_by=group_by, now=now)
        rows = [_row(use, since, until) for use in self.paginate_queryset(found) or ()]
        return self.get_paginated_response(UsageSerializer(rows, many=True).data)


def _read(query: QueryDict, now: datetime) -> tuple[datetime, datetime, tuple[str, ...]]:
    wrong: dict[str, str] = {}

    def instant(name: str, default: datetime) -> datetime:
        text = query.get(name)
        if text is None:
            return default
        try:
            return parse_instant(f"{text}T00:00:00Z" if DAY.fullmatch(text) else text.replace(" ", "+"))
        except InstantRangeError:
            wrong[name] = _("Give an instant from %(earliest)s to %(latest)s.") % ALLOWED
            return default
        except ValueError:
            wrong[name] = _("Give an instant with an offset, such as 2026-11-01T00:00:00Z, or a day (UTC).")
            return default

    since = instant("from", now.replace(day=1, hour=0, minute=0, second=0, microsecond=0))
    until = instant("to", now)
    group_by = tuple(part for part in ",".join(query.getlist("group_by")).split(",") if part)
    if not set(group_by) <= set(DIMENSIONS) or len(set(group_by)) != len(group_by):
        wrong["group_by"] = _("Choose from: %s.") % ", ".join(DIMENSIONS)
    if not wrong and until < since:
        wrong["to"] = _("Not before `from`.")
    if wrong:
        raise QueryParamError(wrong)
    return since, until, group_by


def _row(use: Use, since: datetime, until: datetime) -> dict[str, Any]:
    def seconds(units: int) -> int | float:
        return number(round(Decimal(units) / UNITS_PER_CARD, 3))

    return {
        "from": since,
        "to": until,
        "key": "/".join("" if part is None else str(part) for part in use.key),
        **use.keys,
        "card_seconds": seconds(use.own + use.borrowed),
        "own": seconds(use.own),
        "borrowed": seconds(use.borrowed),
        "excluded": seconds(use.excluded),
        "utilisation": round(use.busy / use.sampled, _SHARE_DIGITS) if use.sampled else None,
        "coverage": round(use.sampled / use.held_with_hours, _SHARE_DIGITS) if use.held_with_hours else None,
    }
