"""Fixtures that every room of the suite shares."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from django.db.backends.postgresql.creation import DatabaseCreation
from django.utils import timezone, translation
from xdist.scheduler import LoadFileScheduling

from berth.common import clock
from tests.chromium import find_chromium

REAL_NODES = "tests/kubernetes/real/"
DRAWN_SCENES = "tests/properties/test_drawn_scenes.py"


def _drop_by_force(creation: Any, test_database_name: str, verbosity: int) -> None:
    creation.connection.close_pool()
    with creation._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE {creation.connection.ops.quote_name(test_database_name)} WITH (FORCE)")


def pytest_configure() -> None:
    # A live server's last connection may outlast the tests: the test database is dropped all the same.
    setattr(DatabaseCreation, "_destroy_test_db", _drop_by_force)  # noqa: B010 - the stubs do not know it
    # Served from where they are written: no test depends on what was collected for a run in the same checkout.
    settings.WHITENOISE_USE_FINDERS = True
    settings.WHITENOISE_AUTOREFRESH = True
    settings.STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        "logs": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    }


class _OneMachine(LoadFileScheduling):
    """A file's tests on one worker; all files on real nodes on the same one, so that the nodes are started once; these first.

    Parts of the ten thousand scenes share nothing, and go to whoever is free.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(DRAWN_SCENES):
            return nodeid
        return REAL_NODES if nodeid.startswith(REAL_NODES) else str(super()._split_scope(nodeid))

    def _assign_work_unit(self, node: Any) -> None:
        # They take the longest, and mostly wait: begun last, they would be waited for alone.
        if REAL_NODES in self.workqueue:
            self.workqueue.move_to_end(REAL_NODES, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return _OneMachine(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """How pytest-playwright starts the browser: the machine's Chromium, quiet on the network."""
    program = find_chromium()
    if program is None:
        pytest.fail("no Chromium on the path: `make test` installs it where it can", pytrace=False)
    quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking"]
    quiet += ["--disable-component-update", "--disable-sync"]
    # Chromium's sandbox refuses to work for root, which is what CI is.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {"executable_path": program, "args": [*quiet, *sandbox]}


@pytest.fixture(autouse=True)
def own_language_and_zone() -> Iterator[None]:
    """A page in Chinese, or in a tenant's zone, leaves them switched on in its thread: they are one test's, never the next one's."""
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture
def frozen_clock() -> Iterator[Callable[[str], None]]:
    """Call it with an ISO instant to hold business time there; call it again to move on."""
    with ExitStack() as held:
        yield lambda text: held.enter_context(clock.frozen_at(datetime.fromisoformat(text)))
