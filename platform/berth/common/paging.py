"""Cursor pages of the API: `{"next", "previous", "results"}`, `?limit=` up to 500, `?ordering=` from a whitelist that ends in the id."""

from functools import reduce
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_canon.errors import QueryParamError
from drf_canon.pagination import CursorPagination
from rest_framework.pagination import Cursor
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from berth.common.cursors import CursorError, read_cursor, write_cursor

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
ORDERING = "ordering"
LONGEST_CURSOR = 9


class CursorPages(CursorPagination):
    """A view names `ordering_fields` (public name → model field) and `ordering` (the default, public names).

    `limit` outside 1–500, an unknown ordering and a cursor that this list did not give are 400, never silently another page.
    """

    page_size = DEFAULT_LIMIT
    page_size_query_param = "limit"
    max_page_size = MAX_LIMIT

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self._model: type[models.Model] = queryset.model
        page: list[Any] | None = super().paginate_queryset(queryset, request, view)
        return page

    def decode_cursor(self, request: Request) -> Cursor | None:
        text = request.query_params.get(self.cursor_query_param)
        if text is None:
            return None
        try:
            return read_cursor(text, ",".join(self.ordering), field_at(self._model, self.ordering[0].removeprefix("-")))
        except CursorError:
            raise QueryParamError({self.cursor_query_param: _("Take it from `next` or `previous`.")}) from None

    def encode_cursor(self, cursor: Cursor) -> str:
        text = write_cursor(cursor, ",".join(self.ordering))
        return str(replace_query_param(str(self.base_url), self.cursor_query_param, text))

    def _get_position_from_instance(self, instance: Any, ordering: Any) -> str:
        return str(reduce(getattr, ordering[0].removeprefix("-").split("__"), instance))

    def get_page_size(self, request: Request) -> int:
        raw = request.query_params.get(self.page_size_query_param)
        if raw is None:
            return DEFAULT_LIMIT
        # `isascii` too: "٣" and "²" count as digits elsewhere.
        if not (raw.isascii() and raw.isdigit() and len(raw) <= len(str(MAX_LIMIT)) and 1 <= int(raw) <= MAX_LIMIT):
            raise QueryParamError({"limit": _("Give a whole number from 1 to %(most)s.") % {"most": MAX_LIMIT}})
        return int(raw)

    def get_ordering(self, request: Request, queryset: QuerySet[Any], view: APIView) -> tuple[str, ...]:
        fields: dict[str, str] = getattr(view, "ordering_fields", {})
        asked = request.query_params.get(ORDERING)
        terms = asked.split(",") if asked is not None else list(getattr(view, "ordering", ()))
        unknown = [term for term in terms if term.removeprefix("-") not in fields]
        if asked is not None and unknown:
            raise QueryParamError(
                {
                    ORDERING: _("Unknown: %(unknown)s. Allowed, each also with a leading minus: %(allowed)s.")
                    % {"unknown": ", ".join(unknown), "allowed": ", ".join(sorted(fields))}
                }
            )
        order = [("-" if term.startswith("-") else "") + fields[term.removeprefix("-")] for term in terms]
        if not order or order[-1].removeprefix("-") not in {"id", "pk"}:
            order.append("-id" if order and order[0].startswith("-") else "id")
        return tuple(order)

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        fields = sorted(getattr(view, "ordering_fields", {}))
        parameters = [
            _parameter("cursor", {"type": "string"}, "Taken from `next` or `previous`."),
            _parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}, ""),
        ]
        if fields:
            each = "|".join(fields)
            pattern = f"^-?({each})(,-?({each}))*$"
            parameters.append(_parameter(ORDERING, {"type": "string", "pattern": pattern}, ", ".join(fields)))
        return parameters


class WholePages(CursorPages):
    """Pages of a list that is worked out whole each time: all of it on one page, unless `limit` asks for less."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        rows = list(queryset)
        size = self.get_page_size(request) if self.page_size_query_param in request.query_params else max(1, len(rows))
        first = self._first(request)
        self._address = request.build_absolute_uri()
        self._next = first + size if first + size < len(rows) else None
        self._previous = max(0, first - size) if first else None
        return rows[first : first + size]

    def _first(self, request: Request) -> int:
        """The cursor is the number of rows before the page."""
        raw = request.query_params.get(self.cursor_query_param, "0")
        if not (raw.isascii() and raw.isdigit() and len(raw) <= LONGEST_CURSOR):
            raise QueryParamError({self.cursor_query_param: _("Take it from `next` or `previous`.")})
        return int(raw)

    def get_next_link(self) -> str | None:
        return self._link(self._next)

    def get_previous_link(self) -> str | None:
        return self._link(self._previous)

    def _link(self, first: int | None) -> str | None:
        return None if first is None else str(replace_query_param(self._address, self.cursor_query_param, first))

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        return [
            _parameter("cursor", {"type": "string", "pattern": "^[0-9]{1,9}$"}, "Taken from `next` or `previous`."),
            _parameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}, "Left out: all on one page."),
        ]


def field_at(model: type[models.Model], path: str) -> "models.Field[Any, Any] | None":
    """The field at the end of `tenant__slug`; None for an annotation."""
    *above, last = path.split("__")
    for step in above:
        related: Any = model._meta.get_field(step).related_model
        model = related
    try:
        field = model._meta.pk if last == "pk" else model._meta.get_field(last)
    except FieldDoesNotExist:
        return None
    return field if isinstance(field, models.Field) else None


def _parameter(name: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}
