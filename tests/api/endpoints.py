"""The API's addresses as they are routed, so that a test can ask for all of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from drf_spectacular.generators import EndpointEnumerator

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`path` without the prefix, with `{places}`; `handler` None for views that are no viewsets."""

    method: str
    path: str
    view: Any
    handler: str | None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def endpoints() -> Iterator[Endpoint]:
    """Everything below `/api/v1/`."""
    for path, _regex, method, callback in EndpointEnumerator().get_api_endpoints():
        if path.startswith(PREFIX):
            actions = getattr(callback, "actions", None) or {}
            yield Endpoint(method, path.removeprefix(PREFIX), callback.cls, actions.get(method.lower()))
