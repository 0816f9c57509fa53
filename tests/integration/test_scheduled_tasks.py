"""What beat rings exists, and the partition task keeps months ahead."""

from datetime import UTC, datetime

import pytest
from celery import current_app
from django.db import connection

from berth.common import clock
from scheduling.tasks import maintain_partitions

FAR = datetime(2031, 5, 10, tzinfo=UTC)


def test_every_task_that_beat_rings_is_one_that_a_worker_knows() -> None:
    current_app.loader.import_default_modules()

    assert {entry["task"] for entry in current_app.conf.beat_schedule.values()} <= set(current_app.tasks)


@pytest.mark.django_db
def test_partitions_are_made_ahead_of_business_time() -> None:
    with clock.frozen_at(FAR):
        maintain_partitions()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relispartition AND relname LIKE 'scheduling_transition%2031%'"
        )
        assert cursor.fetchone()[0] >= 3
