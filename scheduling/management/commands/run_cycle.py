"""One scheduling cycle now, printed as JSON."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scheduling.control.loop import Loop, plan_now


class Command(BaseCommand):
    help = "Run one scheduling cycle now and print it as JSON; with --dry-run print the plan and change nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="decide, print the plan, change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"]:
            planned, now = plan_now()
            document = {"at": now.isoformat(), "plan": asdict(planned.plan), "faulty": planned.faulty}
        else:
            turn = Loop().turn()
            if turn is None:
                raise CommandError("another process leads; try again")
            document = asdict(turn)
        self.stdout.write(json.dumps(document, default=str, indent=2))
