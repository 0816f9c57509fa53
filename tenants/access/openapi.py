"""How the OpenAPI document names the way in; registered when the base view is imported."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from tenants.access.authentication import TokenOrSession


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = TokenOrSession
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API token, as `create_token` or POST /tokens shows it once.",
        }
