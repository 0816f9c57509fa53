"""The OpenAPI document: without warnings, complete, and the same as the committed one."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from tests.api.endpoints import PREFIX, endpoints

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """As `manage.py spectacular --validate --fail-on-warn` writes it."""
    file = tmp_path_factory.mktemp("openapi") / "openapi.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    made: dict[str, Any] = yaml.safe_load(file.read_text())
    return made


def test_the_committed_document_is_what_is_served(document: dict[str, Any]) -> None:
    """`manage.py spectacular --file docs/openapi.yaml` writes it anew."""
    assert yaml.safe_load(COMMITTED.read_text()) == document


def test_every_endpoint_is_in_the_document(document: dict[str, Any]) -> None:
    described = {
        f"{method.upper()} {path.removeprefix(PREFIX)}"
        for path, methods in document["paths"].items()
        for method in methods
    }

    assert {endpoint.name for endpoint in endpoints()} == described


def test_every_operation_tells_its_problems_and_limits(document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path.endswith("/report"):
                continue
            responses = operation["responses"]
            assert {"401", "403", "429"} <= set(responses), f"{method} {path}"
            assert "application/problem+json" in responses["429"]["content"]
            assert all("RateLimit" in response["headers"] for response in responses.values()), f"{method} {path}"


def test_creations_that_honour_the_key_say_so(document: dict[str, Any]) -> None:
    """On every POST that creates."""
    honoured = {
        path.removeprefix(PREFIX)
        for path, methods in document["paths"].items()
        if any(parameter["name"] == "Idempotency-Key" for parameter in methods.get("post", {}).get("parameters", []))
    }

    creating = {
        path.removeprefix(PREFIX)
        for path, methods in document["paths"].items()
        if "201" in methods.get("post", {}).get("responses", {})
    }

    assert honoured == creating
