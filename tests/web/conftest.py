"""Page tests: a real Chromium against a live server. An error in the console or a blocked resource fails the test."""

import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import ConsoleMessage, Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from tests.integration.committed_rows import empty_database
from tests.integration.conftest import test_database
from tests.web.scene import PASSWORD, Scene, build_scene

# Playwright's synchronous interface runs an event loop in the test's thread; Django would refuse its database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

ACTION_MS = 15_000
PHONE: ViewportSize = {"width": 390, "height": 844}

SignIn = Callable[..., Page]

__all__ = ["PHONE", "SignIn", "test_database"]


@pytest.fixture(scope="session")
def site(test_database: None, django_db_blocker: Any) -> Iterator[str]:
    """Address of a live server on the test database."""
    with django_db_blocker.unblock():
        server = LiveServer("127.0.0.1")
        yield server.url
        server.stop()


@pytest.fixture
def scene(test_database: None, django_db_blocker: Any) -> Iterator[Scene]:
    """The small organisation, committed, since the server's threads have connections of their own."""
    with django_db_blocker.unblock():
        empty_database()
        yield build_scene()
        empty_database()


@pytest.fixture
def sign_in(page: Page, site: str) -> SignIn:
    """Signs a user of the scene in through the form and opens a path."""

    def make(username: str, path: str = "/") -> Page:
        page.goto(f"{site}/accounts/login/?next={quote(path)}")
        page.get_by_label("User name").fill(username)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{site}{path}")
        return page

    return make


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """pytest-playwright's page that also collects what the browser complains about (CSP violations among it)."""
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
    page.set_default_timeout(ACTION_MS)
    yield page
    assert complaints == []
