"""How the OpenAPI document is made: every operation says its problems, its limits and whether it honours `Idempotency-Key`."""

from typing import Any

from drf_canon.errors.handler import CONTENT_TYPE
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, is_list_serializer
from drf_spectacular.utils import OpenApiResponse

from berth.common.problems import ProblemSerializer

_ALWAYS = {"401": "Not signed in", "403": "A role or scope that is too low", "429": "A limit is in force"}
_LIMIT_HEADERS = {
    name: {"schema": {"type": "string"}, "description": text}
    for name, text in {
        "RateLimit": "What is left of each limit (r) and when it is full again (t, seconds).",
        "RateLimit-Policy": "The limits in force (q per w seconds) and why.",
    }.items()
}


class BerthSchema(AutoSchema):
    """Adds what the base view does for every operation, so that no view has to repeat it."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is None:
            return None
        responses = operation["responses"]
        for status, description in self._problems(operation).items():
            if status not in responses:
                answer = OpenApiResponse(response=ProblemSerializer, description=description)
                responses[status] = self._get_response_for_code(answer, status, [CONTENT_TYPE])
        for response in responses.values():
            response.setdefault("headers", {}).update(_LIMIT_HEADERS)
        if self._creates():
            operation.setdefault("parameters", []).append(
                {
                    "name": "Idempotency-Key",
                    "in": "header",
                    "required": False,
                    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
                    "description": "Same key and body: same answer, one effect. Same key, other body: 409.",
                }
            )
        return operation

    def _is_list_view(self, serializer: Any = None) -> bool:
        """`list` is also the handler of addresses that answer one object (`/me`, `/cluster`): those have no pages."""
        described = self.get_response_serializers() if serializer is None else serializer
        if getattr(self.view, "pagination_class", None) is None and not is_list_serializer(described):
            return False
        return bool(super()._is_list_view(serializer))

    def _problems(self, operation: dict[str, Any]) -> dict[str, str]:
        found = dict(_ALWAYS)
        writes = self.method in {"POST", "PATCH", "PUT", "DELETE"}
        takes_query = any(parameter["in"] == "query" for parameter in operation.get("parameters", []))
        if writes or takes_query or self.method == "GET":
            found["400"] = "Wrong input: every wrong field"
        if writes or takes_query or any(parameter["in"] == "path" for parameter in operation.get("parameters", [])):
            found["404"] = "Not found, or not visible"
        if writes:
            found |= {"409": "In conflict with the current state", "413": "Body too large", "415": "Body is not JSON"}
        return found

    def _creates(self) -> bool:
        handler = getattr(self.view, getattr(self.view, "action", None) or "", None)
        return bool(getattr(handler, "creates", False))
