"""Berth's name, mark and accent for the Django admin's theme: the same colour as `static/css/tokens.css` gives its links."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _


def mark(_request: HttpRequest) -> str:
    """Address of the mark."""
    return static("icons/berth.svg")


ADMIN_LOOK: dict[str, Any] = {
    "SITE_TITLE": _("Berth administration"),
    "SITE_HEADER": _("Berth administration"),
    "SITE_ICON": mark,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": mark}],
    "COLORS": {
        "primary": {
            "50": "#eef5fd",
            "100": "#d9e9fb",
            "200": "#b5d4f8",
            "300": "#95c3f7",
            "400": "#7ab5f7",
            "500": "#2f7fd6",
            "600": "#06479c",
            "700": "#053d87",
            "800": "#04326f",
            "900": "#042a5c",
            "950": "#021a3a",
        }
    },
}
