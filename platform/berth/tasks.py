"""Celery entry points of the whole: the demo's load. Does nothing where there is no demo."""

from datetime import timedelta

from celery import shared_task
from django.conf import settings

from berth.common import clock
from berth.demo.driver import is_demo, submit_some

PERIOD_S = 5
"""Wall seconds between looks; the schedule in `celery_settings` rings as often."""


@shared_task(name="berth.keep_demo_busy")
def keep_demo_busy() -> None:
    """Submit what the demo's teams would have asked for since the last look."""
    if settings.BERTH_DEMO and clock.is_simulated() and is_demo():
        now = clock.now()
        submit_some(since=now - timedelta(seconds=PERIOD_S * clock.scale()), until=now)
