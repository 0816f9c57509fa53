"""Root of the test suite: puts `platform/` and `deploy/` last on the path and prepares Django before any other conftest is imported."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent

# Appended, never put in front: nothing below them may win over the standard library (DESIGN section 3).
sys.path += [str(ROOT / "platform"), str(ROOT / "deploy")]
os.environ["DJANGO_SETTINGS_MODULE"] = "berth.settings"

import django  # noqa: E402  (the path and the settings module have to be known first)

# Here and not in pytest-django's own hook, so that every conftest and test module may import models at its top.
django.setup()


def pytest_configure() -> None:
    missing = [name for name in ("DATABASE_URL", "REDIS_URL") if not os.environ.get(name)]
    if missing:
        raise pytest.UsageError(
            f"{' and '.join(missing)} not set: run `make test`, which starts PostgreSQL and Valkey, or set them"
        )
