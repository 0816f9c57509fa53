"""`manage.py plan FILE [--json]`: one decision of the engine on a hand-written snapshot (docs/simulator.md). No database, no clock."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import translation

from berth.common.reasons import wait_message
from scheduling.engine.cycle import run_cycle
from scheduling.management.reading import beside, read_text, refuse
from scheduling.simulator.plan_file import parse_plan
from scheduling.simulator.plan_json import plan_document
from scheduling.simulator.plan_text import plan_text
from scheduling.simulator.problems import InvalidFileError


class Command(BaseCommand):
    help = "Run one cycle of the engine on a snapshot file and print the decision."
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="YAML snapshot, docs/simulator.md says what may stand in it")
        parser.add_argument("--json", action="store_true", help="print the decision as JSON")

    def handle(self, *_args: Any, **options: Any) -> None:
        file: str = options["file"]
        try:
            question = parse_plan(read_text(file), file, beside(file))
        except InvalidFileError as invalid:
            refuse(invalid, self.stderr)
        plan = run_cycle(question.snapshot, question.policy, question.now_ms)
        with translation.override("en"):
            document = plan_document(plan, question.snapshot, wait_message)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n" if options["json"] else plan_text(document)
        sys.stdout.write(text)
