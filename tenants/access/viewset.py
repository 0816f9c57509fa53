"""The base of every API view: identity, declared actions, row scope before any handler, idempotent creation, limits on each answer."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from rest_framework.exceptions import MethodNotAllowed, NotAuthenticated
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from berth.common.errors import ForbiddenError, NotFoundError
from berth.common.parsing import storable
from berth.common.queries import PAGING, refuse_unknown_query
from tenants.access import openapi  # noqa: F401 - registers the scheme
from tenants.access.idempotent import answer_once
from tenants.access.limits import limit_headers, take
from tenants.models import User
from tenants.permissions import Action, can, scope_allows
from tenants.scoping import tenants_of_row

Handler = Callable[..., Response]


def creates(*, secret: tuple[str, ...] = ()) -> Callable[[Handler], Handler]:
    """Marks a handler whose POST makes something: it honours `Idempotency-Key`. A replay shows `secret` members as null."""

    def mark(handler: Handler) -> Handler:
        @wraps(handler)
        def once(view: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            return answer_once(request, lambda: handler(view, request, *args, **kwargs), secret=secret)

        once.creates = True  # type: ignore[attr-defined]
        return once

    return mark


class BerthViewSet(GenericViewSet[Any]):
    """Subclasses declare, and this class enforces:

    - `required`: handler name → Action. A handler without one is refused (405), so nothing is open by accident.
    - `queryset` (rows with `visible_to`), or `rows()` overridden. `get_object` answers 404 for what is not visible and only then
      403 for a role that is too low, judged in the object's own tenant.
    - `ordering_fields` / `ordering` for lists (see CursorPages), `query_fields`: query parameters beside those of paging and of
      `filterset_class`; any other is a 400 by name. `list_actions`: extra actions that answer pages.
    """

    required: ClassVar[Mapping[str, Action]] = {}
    ordering_fields: ClassVar[Mapping[str, str]] = {}
    ordering: ClassVar[tuple[str, ...]] = ()
    query_fields: ClassVar[frozenset[str]] = frozenset()
    list_actions: ClassVar[frozenset[str]] = frozenset()
    lookup_value_regex = "[^/]+"

    @property
    def user(self) -> User:
        """Who is asking; `check_permissions` has seen to it that it is someone."""
        return cast(User, self.request.user)

    # --- rows ---

    def rows(self) -> QuerySet[Any]:
        """All rows of the endpoint, before the scope. Override for select_related and for rows made by a selector."""
        return cast(Any, self).queryset.all()

    def get_queryset(self) -> QuerySet[Any]:
        return cast("QuerySet[Any]", self.rows().visible_to(self.user))  # type: ignore[attr-defined]

    def get_object(self) -> Any:
        """The row that the address names, as `found`."""
        return self.found(
            self.get_queryset(), **{self.lookup_field: self.kwargs[self.lookup_url_kwarg or self.lookup_field]}
        )

    def found(self, rows: QuerySet[Any], **lookup: Any) -> Any:
        """The one of `rows` (visible ones already): NotFoundError where there is none, and only then ForbiddenError where the
        role in its tenants is too low for this request."""
        row = rows.filter(**lookup).first()
        if row is None:
            raise NotFoundError
        if not any(can(self.user, self.declared(), tenant) for tenant in tenants_of_row(row)):
            raise ForbiddenError
        return row

    # --- bodies and answers ---

    def body(self, serializer: type[BaseSerializer[Any]], *, partial: bool = False, **context: Any) -> dict[str, Any]:
        """The checked body, amounts in the units used inside; ValidationError with every wrong field."""
        checked = serializer(data=self.request.data, partial=partial, context=context)
        checked.is_valid(raise_exception=True)
        return dict(checked.validated_data)

    def pages(
        self, rows: QuerySet[Any] | None = None, *, with_rows: Callable[[list[Any]], Sequence[Any]] = list
    ) -> Response:
        """One page of `rows` (default: the visible ones that match the filters) by `serializer_class`.

        `with_rows` turns the page's rows into what the serializer shows, with what else it needs in a constant number of queries.
        """
        queryset = self.filter_queryset(self.get_queryset()) if rows is None else rows
        page = with_rows(list(self.paginate_queryset(queryset) or []))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    # --- access ---

    def declared(self) -> Action:
        """The action of the handler that serves this request."""
        action = self.required.get(self.action or "")
        if action is None:
            raise MethodNotAllowed(self.request.method or "")
        return action

    def check_permissions(self, request: Request) -> None:
        """Signed in, the handler declared, the token's scope wide enough; for addresses without an object also the role."""
        if not request.user.is_authenticated:
            raise NotAuthenticated
        action = self.declared()
        if not scope_allows(request.user, action):
            raise ForbiddenError
        if not self.kwargs and not can(request.user, action):
            raise ForbiddenError

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not all(storable(str(value)) for value in kwargs.values()):
            raise NotFoundError
        refuse_unknown_query(request, self.known_query())

    def known_query(self) -> frozenset[str]:
        """Names that may stand behind the question mark of this request."""
        if self.request.method not in SAFE_METHODS:
            return frozenset()
        filters = getattr(getattr(self, "filterset_class", None), "base_filters", {})
        paging = PAGING if self.action == "list" or self.action in self.list_actions else frozenset()
        return self.query_fields | frozenset(filters) | paging

    def check_throttles(self, request: Request) -> None:
        """Each request takes one token of every bucket it belongs to; a refusal is a 429 that says which and why (LIM-01, LIM-03)."""
        take(request)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        for name, value in limit_headers(request).items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response
