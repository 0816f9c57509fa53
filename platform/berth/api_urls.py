"""All addresses of the API: the schema and its readable form, and what each app contributes in `<app>/api/urls.py`."""

from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

_APPS = ("tenants", "scheduling", "billing")


def routes() -> list[URLPattern | URLResolver]:
    """The url lists of the apps that have one."""
    modules = [f"{app}.api" for app in _APPS]
    return [
        path("", include(f"{module}.urls")) for module in modules if find_spec(module) and find_spec(f"{module}.urls")
    ]


urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="api-docs"),
    path("v1/", include(routes())),
]
