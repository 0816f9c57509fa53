"""`manage.py` in processes of its own on the test database, without a broker: to be killed and stopped for real."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from scheduling.models import SchedulerEpoch

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "redis://127.0.0.1:1/0"
"""A broker that cannot be reached."""


@contextmanager
def a_process(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Gone afterwards; what it said is shown by pytest where the test fails."""
    server = os.environ["DATABASE_URL"].rpartition("/")[0]
    database = f"{server}/{connection.settings_dict['NAME']}"
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database, "REDIS_URL": NOWHERE} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        print(process.communicate()[0])


def forget_the_lease() -> None:
    """As if the lease of whoever led last had run out."""
    SchedulerEpoch.objects.update(lease_until=None)
