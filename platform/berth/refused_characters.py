"""A NUL in an address, a form or a cookie is answered here, once: PostgreSQL holds no such text, and no view should meet it."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views import defaults

from berth.common.problems import is_api, plain_problem

NUL: Final = "\x00"
FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class RefusedCharactersMiddleware:
    """400 for a NUL in path, query, cookies, or the fields of a page's form. Bodies of the API are their parser's matter."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if NUL in request.path_info or any(NUL in text for text in _texts(request)):
            return _refusal(request)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponseBase | None:
        """Only here is the form read: views that read the raw body themselves are the API's."""
        if is_api(request) or request.content_type not in FORMS:
            return None
        sent = (text for name, values in request.POST.lists() for text in (name, *values))
        return _refusal(request) if any(NUL in str(text) for text in sent) else None


def _texts(request: HttpRequest) -> Iterator[str]:
    for name, values in request.GET.lists():
        yield name
        yield from map(str, values)
    yield from request.COOKIES.values()


def _refusal(request: HttpRequest) -> HttpResponseBase:
    if is_api(request):
        return plain_problem(400, _("The address holds a NUL character (%00), which no text may hold."))
    return defaults.bad_request(request, ValueError())
