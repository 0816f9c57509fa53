"""Requests made from the OpenAPI document, valid and invalid ones, against a real server (W44, W33).

Nothing may end in a 5xx, answer outside of what the document says, or let data pass that the document forbids. Whether data that the
document allows is accepted is not asked: names, sums and states decide that too, and their refusals have tests of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from pytest_django.live_server_helper import LiveServer
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.api.matrix_world import build
from tests.factories import a_token
from tests.integration.committed_rows import empty_database

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
EXAMPLES = 4
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    negative_data_rejection,
    missing_required_header,
    unsupported_method,
]

# For pytest-django to make the test database; the rows are committed by the module's fixture, since a server has to see them.
pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(600)]

schema = schemathesis.openapi.from_path(DOCUMENT)


@dataclass(frozen=True)
class Served:
    url: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def served(django_db_setup: None, django_db_blocker: Any) -> Iterator[Served]:
    """A server on a port of its own over committed rows of everything; requests come from a platform admin, who may do most."""
    with django_db_blocker.unblock():
        empty_database()
        admin = build().people["platform"]
        assert admin is not None
        server = LiveServer("127.0.0.1")
        try:
            yield Served(server.url, {"Authorization": f"Bearer {a_token(admin)}"})
        finally:
            server.stop()
            empty_database()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_nothing_is_found(case: schemathesis.Case, served: Served) -> None:
    case.call_and_validate(base_url=served.url, headers=served.headers, checks=CHECKS, timeout=30)
