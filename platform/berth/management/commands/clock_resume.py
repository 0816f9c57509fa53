"""`manage.py clock_resume`: business time goes on where it stopped. The launcher calls it before anything reads the clock."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from berth.common import clock


class Command(BaseCommand):
    help = "Start business time where it stopped, at BERTH_TIME_SCALE; stopped time does not pass."

    def handle(self, *_args: Any, **_options: Any) -> None:
        anchor = clock.resume(scale=settings.BERTH_TIME_SCALE)
        self.stdout.write(f"business time {anchor.business_at.isoformat(timespec='seconds')} at ×{anchor.scale}")
