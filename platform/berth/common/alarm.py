"""Wakes tasks by name after commit. The broker is only an alarm clock: a ring that is lost is found by a sweep (DESIGN section 6)."""

import logging
from typing import Any

from django.db import transaction

logger = logging.getLogger(__name__)


def ring(task: str, **kwargs: Any) -> None:
    """Send `task` when the current transaction commits (at once outside one). Never raises: a dead broker stops nothing."""

    def send() -> None:
        # A function, not a partial: Django names it when it logs what robust callbacks raise.
        _send(task, kwargs)

    transaction.on_commit(send, robust=True)


def _send(task: str, kwargs: dict[str, Any]) -> None:
    from celery import current_app
    from kombu.exceptions import OperationalError

    try:
        current_app.send_task(task, kwargs=kwargs, ignore_result=True, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("alarm lost task=%s error=%s", task, error)
