"""`manage.py reconcile_tenants [--dry-run]`: tenants' objects in real clusters as they should be."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from scheduling.control.tenant_spaces import reconcile_tenants


class Command(BaseCommand):
    help = "Apply what tenants have in their clusters and repair drift; with --dry-run only say what would change."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would change, change nothing")

    def handle(self, *_args: Any, dry_run: bool, **_options: Any) -> None:
        done = reconcile_tenants(dry_run=dry_run)
        for line in done.changed:
            self.stdout.write(line)
        word = "would change" if dry_run else "changed"
        self.stdout.write(f"{done.objects} objects, {len(done.changed)} {word}")
        for line in done.busy:
            self.stdout.write(f"left out, another process is at it: {line}")
        for line in done.unguarded:
            self.stderr.write(f"not guarded, apply deploy/kubernetes/cluster: {line}")
        problems = [
            *(f"not reached: {line}" for line in done.unreachable),
            *(f"refused: {line}" for line in done.failed),
        ]
        if problems:
            raise CommandError("; ".join(problems))
