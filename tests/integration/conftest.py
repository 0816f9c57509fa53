"""Fixtures of tests on real PostgreSQL and Valkey."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime

import pytest

from berth.common import clock


@pytest.fixture
def frozen_clock() -> Iterator[Callable[[str], None]]:
    """Call it with an ISO instant to hold business time there; call it again to move on."""
    with ExitStack() as held:
        yield lambda text: held.enter_context(clock.frozen_at(datetime.fromisoformat(text)))
