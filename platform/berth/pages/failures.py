"""Errors of our own on pages: the same exceptions that the API maps to problem details become pages with the same status."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from berth.common.errors import BerthError, ForbiddenError, NotFoundError
from berth.pages.person import API_PATH


class FailureMiddleware:
    """404 and 403 have pages of their own; anything else that a view did not handle is said in one sentence."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, BerthError) or request.path_info.startswith(API_PATH):
            return None
        template = (
            "404.html"
            if isinstance(error, NotFoundError)
            else "403.html"
            if isinstance(error, ForbiddenError)
            else "refused.html"
        )
        return render(request, template, {"error": error}, status=error.status)
