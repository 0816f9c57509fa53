"""Settings of the OpenAPI document; apart from its code, which needs Django to be ready."""

from typing import Any

SCHEMA_SETTINGS: dict[str, Any] = {
    "TITLE": "Berth",
    "DESCRIPTION": "A multi-tenant GPU training platform: submit, follow and pay for jobs.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    # Choices stay where they are used: hoisted ones need a unique name for every `state` of every app.
    "POSTPROCESSING_HOOKS": [],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATIONS": True,
}
