"""The control loop on a real database beside the simulated cluster, at a business time that the test moves."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import setup_databases, teardown_databases

from tests.integration.committed_rows import empty_database
from tests.integration.loop_scene import Scene


@pytest.fixture(scope="session")
def test_database(
    django_db_setup: None, django_db_blocker: Any, django_db_keepdb: bool, django_db_createdb: bool
) -> Iterator[None]:
    """The test database, also where no selected test is marked `django_db`: pytest-django makes it only for those."""
    with django_db_blocker.unblock():
        if connection.settings_dict["NAME"].startswith("test_"):
            yield
            return
        keep = django_db_keepdb and not django_db_createdb
        made = setup_databases(
            verbosity=0, interactive=False, keepdb=keep, aliases={"default": False}, serialized_aliases=set()
        )
        yield
        connections["simulated"].close()
        if not keep:
            teardown_databases(made, verbosity=0)


@pytest.fixture
def committed(test_database: None, django_db_blocker: Any) -> Iterator[None]:
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
