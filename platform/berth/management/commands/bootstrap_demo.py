"""`manage.py bootstrap_demo`: the demo organisation with its history, or one small scenario."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from berth.common.errors import BerthError
from berth.demo.bootstrap import bootstrap, bootstrap_supply, demo_url
from berth.demo.organisation import SCENARIOS
from berth.environment import LOCAL, sign_ins_file


class Command(BaseCommand):
    help = (
        "Fill an empty database with the demo organisation and its history, or with one small scenario. Safe to repeat."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--scenario", choices=sorted(SCENARIOS), help="a quiet cluster that shows one thing")
        parser.add_argument("--replace", action="store_true", help="delete everything in the database first")

    def handle(self, *_args: Any, scenario: str | None, replace: bool, **_options: Any) -> None:
        if not settings.BERTH_DEMO and scenario is None:
            made = bootstrap_supply()
            self.stdout.write(
                "cluster, flavors and prices loaded" if made else "nothing to do: there are tenants already"
            )
            return
        try:
            made = bootstrap(scenario, replace=replace, local=LOCAL, url=demo_url(), say=self._say)
        except BerthError as error:
            raise CommandError(str(error)) from error
        name, people = scenario or "demo", sign_ins_file(settings.BERTH_CLUSTER)
        done = "loaded" if made else "stands already"
        self.stdout.write(f"{name}: {done}; who can sign in: {people.parent.name}/{people.name}")

    def _say(self, line: str) -> None:
        self.stderr.write(line, lambda text: text)
