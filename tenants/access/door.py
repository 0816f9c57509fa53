"""What holds for every address below `/api/`, also where no view answers: the limits are told, and one slash at the end changes nothing."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponseBase
from rest_framework.request import Request

from tenants.access.limits import limit_headers

API: Final = "/api/"
VERSIONED: Final = "/api/v1/"


class ApiDoorMiddleware:
    """Addresses are documented without a slash at the end; who writes one means the same object."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(VERSIONED) and request.path_info != VERSIONED:
            request.path_info = request.path_info.removesuffix("/")
            request.path = request.path.removesuffix("/")
        response = self.get_response(request)
        if request.path_info.startswith(API) and "RateLimit" not in response.headers:
            for name, value in limit_headers(Request(request)).items():
                response.headers[name] = value
        return response
