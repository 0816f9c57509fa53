"""Repeats a transaction that the database broke off for its own reasons: deadlock, serialization, lock timeout (F16)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError

logger = logging.getLogger(__name__)
ATTEMPTS = 3
BROKEN_OFF = frozenset({"40001", "40P01", "55P03"})
Result = TypeVar("Result")


def retry_broken_off(work: Callable[[], Result]) -> Result:
    """Run `work`, a whole transaction, up to three times; the last failure is raised, never swallowed."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return work()
        except OperationalError as error:
            state = getattr(error.__cause__, "sqlstate", None)
            if state not in BROKEN_OFF or attempt == ATTEMPTS:
                raise
            logger.warning("transaction broken off sqlstate=%s attempt=%s", state, attempt)
    raise AssertionError("unreachable")
