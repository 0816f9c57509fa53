"""The observer process: looks at the clusters, and runs the loop itself when nobody else does."""

from typing import Any

from django.core.management.base import BaseCommand

from scheduling.control.watching import watch


class Command(BaseCommand):
    help = "Observe the clusters until stopped; when no cycle finished for two periods, run one (a dead broker stops nothing)."

    def handle(self, *args: Any, **options: Any) -> None:
        watch(tell=self.stdout.write)
