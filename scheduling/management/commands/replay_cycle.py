"""`manage.py replay_cycle ID`: plans a stored cycle again and says whether the plan is the same, byte for byte (SCH-22)."""

import difflib
import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import translation

from berth.common.reasons import wait_message
from scheduling.control.planning import plan_cycle
from scheduling.engine.plan import Plan
from scheduling.engine.snapshot import Snapshot
from scheduling.engine.stored import StoredCycle, StoredCycleError, plan_digest, restore
from scheduling.models import Cycle
from scheduling.simulator.plan_json import plan_document


class Command(BaseCommand):
    help = (
        "Plan a stored cycle again. Prints the plan as `plan --json` does; says on the error output whether it is the same as recorded,"
        " else the difference, and exits 1 then."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "id", type=int, metavar="ID", help="the cycle's number; GET /cycles says which are replayable"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        stored = _stored(options["id"])
        try:
            plan = plan_cycle(stored.snapshot, stored.policy, stored.now_ms).plan
        except Exception as error:
            if stored.plan is not None:
                raise
            raise CommandError(f"planning raises again what it raised then: {type(error).__name__}: {error}") from error
        text = _json(plan, stored.snapshot)
        sys.stdout.write(text)
        digest = plan_digest(plan)
        if stored.plan is None:
            raise CommandError("planning raised then and does not now")
        recorded = plan_digest(stored.plan)
        if digest != recorded:
            for line in difflib.unified_diff(
                _lines(stored.plan, stored.snapshot), text.splitlines(), "recorded", "now", lineterm=""
            ):
                self.stderr.write(line)
            raise CommandError(f"differs from what was recorded: sha256 {digest}, recorded {recorded}")
        self.stderr.write(f"same as recorded: sha256 {digest}")


def _stored(cycle_id: int) -> StoredCycle:
    cycle = Cycle.objects.filter(pk=cycle_id).first()
    if cycle is None:
        raise CommandError(f"there is no cycle {cycle_id}")
    if cycle.snapshot is None:
        raise CommandError(f"cycle {cycle_id} was not stored; GET /cycles says which are replayable")
    try:
        return restore(bytes(cycle.snapshot))
    except StoredCycleError as error:
        raise CommandError(f"cycle {cycle_id} cannot be replayed: {error}") from error


def _json(plan: Plan, snapshot: Snapshot) -> str:
    with translation.override("en"):
        document = plan_document(plan, snapshot, wait_message)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _lines(plan: Plan, snapshot: Snapshot) -> list[str]:
    return _json(plan, snapshot).splitlines()
