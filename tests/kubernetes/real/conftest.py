"""Tests on nodes that run real containers: left out where such nodes cannot be had (`make test` says so in one line)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from testplane.real import packages

from tests.kubernetes.real.cluster import stop
from tests.kubernetes.real.scene import OnNodes, tenants_on_nodes

HERE = Path(__file__).parent
TIMEOUT_S = 600
"""A deadline for what hangs and no expectation: the first test starts the nodes, and builds their programs where that was not done."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.timeout(TIMEOUT_S))
    if ours and packages.problem():
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]


@pytest.fixture(scope="package", autouse=True)
def _nodes_end_with_their_tests() -> Iterator[None]:
    """They would work on beside everything that comes later."""
    yield
    stop()


@pytest.fixture
def real(committed: None) -> Iterator[OnNodes]:
    with tenants_on_nodes() as made:
        yield made
