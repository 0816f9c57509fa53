"""What Django itself answers when no view did: problem details below `/api/`, its plain pages elsewhere."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views import csrf, defaults

from berth.common.errors import NotFoundError
from berth.common.problems import is_api, plain_problem


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return plain_problem(400) if is_api(request) else defaults.bad_request(request, exception)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    return plain_problem(403) if is_api(request) else defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if is_api(request):
        return plain_problem(404, NotFoundError.message)
    return defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponseBase:
    return plain_problem(500) if is_api(request) else defaults.server_error(request)


def csrf_failure(request: HttpRequest, reason: str = "", **_options: Any) -> HttpResponseBase:
    if is_api(request):
        return plain_problem(403, _("The CSRF token is missing or wrong."), code="csrf-failed")
    return csrf.csrf_failure(request, reason)
