"""All addresses: probes and metrics, the API below `/api/v1/`, sign-in, the admin, and each app's pages."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django_prometheus.exports import ExportToDjangoView

from berth import health
from berth.admin_door import admin_door

_APPS = ("tenants", "scheduling", "billing")


def _rooms(room: str) -> list[URLPattern | URLResolver]:
    """The url lists of one room (`api`, `views`) of the apps that have it."""
    modules = [f"{app}.{room}" for app in _APPS]
    return [
        path("", include(f"{module}.urls")) for module in modules if find_spec(module) and find_spec(f"{module}.urls")
    ]


urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", ExportToDjangoView, name="metrics"),
    path("api/", include("berth.api_urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    # Before the admin's own: there is one door, and it is the one that closes after a few wrong passwords.
    path("admin/login/", admin_door),
    path("admin/", admin.site.urls),
    path("", include("berth.pages.urls")),
    *_rooms("views"),
]

handler400 = "berth.problem_pages.bad_request"
handler403 = "berth.problem_pages.forbidden"
handler404 = "berth.problem_pages.not_found"
handler500 = "berth.problem_pages.server_error"
