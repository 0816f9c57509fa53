"""Page tests: a real Chromium against a live server. An error in the console or a blocked resource fails the test."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import ConsoleMessage, Page

# Playwright's synchronous interface runs an event loop in the test's thread; Django would refuse its database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

ACTION_MS = 15_000


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
