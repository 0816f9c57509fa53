"""Page tests: a real Chromium against a live server. An error in the console or a blocked resource fails the test."""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import ConsoleMessage, Page, ViewportSize
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from pytest_django.live_server_helper import LiveServer

from tenants.models import User
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
def sign_in_by_form(page: Page, site: str) -> SignIn:
    """Signs a user of the scene in through the form and opens a path."""

    def make(username: str, path: str = "/") -> Page:
        page.goto(f"{site}/accounts/login/?next={quote(path)}")
        page.get_by_label("User name").fill(username)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        with telling_where_it_hangs(page):
            page.wait_for_url(f"{site}{path}")
        return page

    return make


@pytest.fixture
def sign_in(page: Page, site: str) -> SignIn:
    """Gives the browser the session of a user of the scene and opens a path: the form has tests of its own."""

    def make(username: str, path: str = "/") -> Page:
        client = Client()
        client.force_login(User.objects.get(username=username), settings.AUTHENTICATION_BACKENDS[0])
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": site}])
        with telling_where_it_hangs(page):
            page.goto(f"{site}{path}")
        return page

    return make


@contextmanager
def telling_where_it_hangs(page: Page) -> Iterator[None]:
    """If a page does not come, the failure says what stands in the browser and what every thread of the server does."""
    try:
        yield
    except PlaywrightTimeout as late:
        frames = sys._current_frames().items()
        threads = "\n".join(f"thread {name}\n{''.join(traceback.format_stack(frame))}" for name, frame in frames)
        late.add_note(f"at {page.url}; invalid fields: {page.locator(':invalid').count()}\n{threads}")
        raise


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
