"""A NUL in an address, a form or a cookie is answered here, once: PostgreSQL holds no such text, and no view should meet it."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase
from django.utils.translation import gettext as _
from django.views import defaults

from berth.common.problems import invalid_query, is_api

NUL: Final = "\x00"
FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


class RefusedCharactersMiddleware:
    """400 for a NUL in query, cookies, a page's path, or the fields of a page's form.

    Below the API nothing is at a path with a NUL (404, as for any other name that nothing has), and bodies are their parser's matter.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        wrong = [name for name, values in request.GET.lists() if any(NUL in str(text) for text in (name, *values))]
        in_cookie = any(NUL in text for text in request.COOKIES.values())
        if wrong or in_cookie or (NUL in request.path_info and not is_api(request)):
            return _refusal(request, wrong)
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponseBase | None:
        """Only here is the form read: views that read the raw body themselves are the API's."""
        if is_api(request) or request.content_type not in FORMS:
            return None
        sent = (text for name, values in request.POST.lists() for text in (name, *values))
        return _refusal(request) if any(NUL in str(text) for text in sent) else None


def _refusal(request: HttpRequest, parameters: Sequence[str] = ()) -> HttpResponseBase:
    if is_api(request):
        return invalid_query(parameters, _("This text holds a character that cannot be stored."))
    return defaults.bad_request(request, ValueError())
