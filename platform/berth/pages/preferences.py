"""Changing one's language and colours: for people who are signed in a stored choice, for others a cookie."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from berth.pages.frame import THEME_COOKIE, THEMES
from tenants.services.preferences import set_preferences

YEAR_S = 365 * 86_400


@require_POST
def change_preferences(request: HttpRequest) -> HttpResponse:
    """Back to the page it came from, with its filters; unknown values are ignored."""
    language = _one_of(request.POST.get("language"), tuple(dict(settings.LANGUAGES)))
    theme = _one_of(request.POST.get("theme"), THEMES)
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        target = "/"
    response = HttpResponseRedirect(target)
    if request.user.is_authenticated:
        set_preferences(request.user, language=language, theme=theme)
    if language:
        response.set_cookie(settings.LANGUAGE_COOKIE_NAME, language, max_age=YEAR_S, samesite="Lax", httponly=True)
    if theme:
        response.set_cookie(THEME_COOKIE, theme, max_age=YEAR_S, samesite="Lax", httponly=True)
    return response


def _one_of(value: str | None, allowed: tuple[str, ...]) -> str | None:
    return value if value in allowed else None
