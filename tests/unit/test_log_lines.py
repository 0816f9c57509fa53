"""What a failure leaves in the log: one line, with where it happened."""

import logging
from logging.config import dictConfig

import pytest

from berth.logs import logging_settings


def test_a_failure_that_a_library_logs_tells_where_it_happened(capfd: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers[:]
    dictConfig({**logging_settings(), "loggers": {}})
    try:
        try:
            raise LookupError("nobody is there")
        except LookupError:
            logging.getLogger("celery.worker").critical("Unrecoverable error", exc_info=True)
    finally:
        logging.getLogger().handlers[:] = before

    [line] = capfd.readouterr().err.splitlines()
    assert "event='Unrecoverable error'" in line
    assert "test_log_lines.py" in line
    assert "LookupError: nobody is there" in line
