"""The admin's sign-in address leads to the platform's one door: only that door counts wrong passwords and closes after a few."""

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode


def admin_door(request: HttpRequest) -> HttpResponse:
    """Never reads a password. Who is signed in already goes on, or is told that the admin is not for them."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        wanted = reverse("admin:index")
    if not request.user.is_authenticated:
        return redirect(f"{resolve_url(settings.LOGIN_URL)}?{urlencode({REDIRECT_FIELD_NAME: wanted})}")
    if not (request.user.is_active and request.user.is_staff):
        raise PermissionDenied
    return redirect(wanted)
