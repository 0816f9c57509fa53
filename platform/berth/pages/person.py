"""What a page must know of its reader before it is drawn: language, time zone, and the tenant it is about.

The API chooses its language by `Accept-Language` and has no chosen tenant; it is left alone.
"""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.functional import SimpleLazyObject

from tenants.models import Tenant
from tenants.selectors.chosen_tenant import chosen_tenant

API_PATH = "/api/"
TENANT_KEY = "tenant"
ALL_TENANTS = "*"


class PersonMiddleware:
    """Activates the signed-in person's language and zone, and puts `tenant` on the request (lazily: API calls never ask)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(API_PATH):
            return self.get_response(request)
        user: Any = request.user
        if user.is_authenticated:
            if user.language:
                translation.activate(user.language)
                request.LANGUAGE_CODE = translation.get_language()
            timezone.activate(_zone(user.time_zone))
        request.tenant = SimpleLazyObject(lambda: _tenant(request))  # type: ignore[attr-defined]
        try:
            return self.get_response(request)
        finally:
            timezone.deactivate()


def _tenant(request: HttpRequest) -> Tenant | None:
    user: Any = request.user
    if not user.is_authenticated:
        return None
    asked = request.GET.get(TENANT_KEY)
    remembered = request.session.get(TENANT_KEY)
    tenant = chosen_tenant(
        user, asked="" if asked is None and remembered == ALL_TENANTS else asked, remembered=remembered
    )
    if asked is not None:
        chosen = tenant.slug if tenant else ALL_TENANTS
        if chosen != remembered:
            request.session[TENANT_KEY] = chosen
    return tenant


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")
