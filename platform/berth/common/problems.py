"""One handler from exceptions to RFC 9457 problem details, for the API's views and for what Django answers below `/api/`."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _
from drf_canon.errors import ProblemResponse
from drf_canon.errors.handler import CONTENT_TYPE
from rest_framework import exceptions, serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler as drf_exception_handler
from rest_framework.views import set_rollback

from berth.common.errors import BerthError, InvalidError

logger = logging.getLogger(__name__)

TYPE_PREFIX = "urn:berth:problem:"
API_PREFIX = "/api/"

CODES: Mapping[int, str] = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    409: "conflict",
    413: "too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
    500: "internal-error",
    503: "unavailable",
}


def problem(status_code: int, code: str, detail: Any, **members: Any) -> dict[str, Any]:
    """The members every problem has, and `members` beside them. `code` is stable; `title` and `detail` are for people."""
    return {
        "type": f"{TYPE_PREFIX}{code}",
        "title": _title(status_code),
        "status": status_code,
        "code": code,
        "detail": str(detail),
        **members,
    }


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's EXCEPTION_HANDLER. None for what nobody foresaw: Django then answers 500 through `server_error`."""
    if isinstance(error, BerthError):
        set_rollback()
        return _from_berth(error)
    response = drf_exception_handler(error, context)
    if response is None:
        return None
    code = CODES.get(response.status_code, "error")
    members: dict[str, Any] = {}
    detail: Any = _title(response.status_code)
    if isinstance(error, exceptions.ValidationError):
        members["errors"] = list(_violations(error.detail, getattr(error, "location", "body")))
        detail = InvalidError.message
    elif isinstance(response.data, dict) and isinstance(response.data.get("detail"), str):
        detail = response.data["detail"]
    if isinstance(error, exceptions.ParseError):
        code = "malformed"
    members |= getattr(error, "members", {})
    return _answer(problem(response.status_code, code, detail, **members), response)


def _from_berth(error: BerthError) -> ProblemResponse:
    members: dict[str, Any] = {}
    detail: Any = str(error)
    if isinstance(error, InvalidError):
        detail = error.text
        members["errors"] = [
            {
                "location": "body",
                "pointer": _pointer(found.field),
                "field": found.field,
                "code": found.code,
                "detail": str(found.message),
            }
            for found in error.problems
        ]
    elif error.params:
        members["params"] = {name: _plain(value) for name, value in error.params.items()}
    return _answer(problem(error.status, error.code, detail, **members), None)


def _answer(body: dict[str, Any], made: Response | None) -> ProblemResponse:
    answer = ProblemResponse(body, status=body["status"], content_type=CONTENT_TYPE)
    for header, value in made.headers.items() if made is not None else ():
        if header.lower() != "content-type":
            answer[header] = value
    return answer


def _violations(detail: Any, location: str, path: tuple[str | int, ...] = ()) -> Iterator[dict[str, Any]]:
    """DRF's nested error detail as one flat list, in the order of the fields."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            own = key == api_settings.NON_FIELD_ERRORS_KEY
            step: str | int = int(key) if isinstance(key, int) else str(key)
            yield from _violations(value, location, path if own else (*path, step))
    elif isinstance(detail, list | tuple):
        for index, item in enumerate(detail):
            yield from _violations(item, location, path if isinstance(item, str) else (*path, index))
    else:
        yield {
            "location": location,
            "pointer": "".join(f"/{_escaped(str(step))}" for step in path),
            "field": _dotted(path),
            "code": str(getattr(detail, "code", None) or "invalid").replace("_", "-"),
            "detail": str(detail),
        }


def _dotted(path: tuple[str | int, ...]) -> str:
    """`roles[0].replicas`, as people write it."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(parts).removeprefix(".")


def _pointer(dotted: str) -> str:
    """The JSON Pointer of `roles[0].replicas`."""
    steps = dotted.replace("]", "").replace("[", ".").split(".") if dotted else []
    return "".join(f"/{_escaped(step)}" for step in steps)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | type(None)) else str(value)


def _title(status_code: int) -> str:
    titles = {
        400: _("The request is wrong"),
        401: _("Sign in first"),
        403: _("Not allowed"),
        404: _("Not found"),
        405: _("Method not allowed"),
        406: _("Not acceptable"),
        409: _("In conflict with the current state"),
        413: _("Too large"),
        415: _("Unsupported media type"),
        429: _("Too many requests"),
        500: _("Internal error"),
        503: _("Not available now"),
    }
    return titles.get(status_code) or HTTPStatus(status_code).phrase


def plain_problem(status_code: int, detail: Any = None, code: str | None = None) -> JsonResponse:
    """A problem outside DRF: unknown addresses, CSRF, errors nobody foresaw."""
    body = problem(status_code, code or CODES[status_code], detail if detail is not None else _title(status_code))
    return JsonResponse(body, status=status_code, content_type=CONTENT_TYPE)


def invalid_query(parameters: Sequence[str], detail: str) -> JsonResponse:
    """A problem outside DRF: query parameters that are all wrong in the same way."""
    errors = list(_violations({name: [detail] for name in parameters}, "query"))
    body = problem(400, CODES[400], InvalidError.message if errors else detail, errors=errors)
    return JsonResponse(body, status=400, content_type=CONTENT_TYPE)


def is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith(API_PREFIX)


class ViolationSerializer(serializers.Serializer[Any]):
    """One wrong field."""

    location = serializers.ChoiceField(choices=["body", "query", "path", "header"])
    pointer = serializers.CharField(help_text="JSON Pointer (RFC 6901) to the wrong value.")
    field = serializers.CharField(help_text="The same place as people write it: `roles[0].replicas`.")
    code = serializers.CharField(help_text="Stable name of what is wrong.")
    detail = serializers.CharField(help_text="What is wrong and what is allowed, for people.")


class ProblemSerializer(serializers.Serializer[Any]):
    """RFC 9457 problem details. Branch on `code`; the texts follow Accept-Language."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    errors = ViolationSerializer(many=True, required=False, help_text="Every wrong field.")  # type: ignore[assignment]
    params = serializers.DictField(required=False, help_text="The numbers in `detail`.")
    reason = serializers.CharField(required=False, help_text="Why a limit is in force (429).")


__all__ = [
    "CONTENT_TYPE",
    "ErrorDetail",
    "ProblemSerializer",
    "exception_handler",
    "invalid_query",
    "is_api",
    "plain_problem",
    "problem",
]
