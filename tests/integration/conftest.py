"""The control loop on a real database beside the simulated cluster, at a business time that the test moves."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.committed_rows import empty_database
from tests.integration.loop_scene import Scene


@pytest.fixture
def committed(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Rows are committed and seen by every connection; the database is empty before and after."""
    with django_db_blocker.unblock():
        empty_database()
        yield
        empty_database()


@pytest.fixture
def scene(committed: None) -> Iterator[Scene]:
    """A platform with its loop; committed rows, since the simulated cluster stands on a connection of its own."""
    with Scene.opened() as opened:
        yield opened
