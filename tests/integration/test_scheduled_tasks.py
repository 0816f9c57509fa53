"""What beat rings exists, and the partition task keeps months ahead."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from celery import current_app
from django.conf import settings
from django.db import connection

from berth.common import clock
from scheduling.tasks import maintain_partitions

FAR = datetime(2031, 5, 10, tzinfo=UTC)


def test_every_task_that_beat_rings_is_one_that_a_worker_knows() -> None:
    current_app.loader.import_default_modules()

    assert {entry["task"] for entry in current_app.conf.beat_schedule.values()} <= set(current_app.tasks)


def test_a_worker_steps_back_behind_the_web_server() -> None:
    """Two cores serve both: a submit is answered while a plan is made."""
    code = "import os; from berth.celery import NICER, _step_back_for_the_web as s; b = os.nice(0); s(); assert os.nice(0) - b == NICER"
    folders = os.pathsep.join([str(settings.BASE_DIR), str(settings.BASE_DIR / "platform")])

    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": folders}, check=True, timeout=120)


@pytest.mark.django_db
def test_partitions_are_made_ahead_of_business_time() -> None:
    with clock.frozen_at(FAR):
        maintain_partitions()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relispartition AND relname LIKE 'scheduling_transition%2031%'"
        )
        assert cursor.fetchone()[0] >= 3
