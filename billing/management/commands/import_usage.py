"""`manage.py import_usage FILE.csv [--dry-run]`: leases of the past, from another system or a test; safe to repeat."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from billing.services.usage_import import import_usage

_BAD_INPUT = 2


class Command(BaseCommand):
    """Exit 0: stored (or nothing new). Exit 2: the file is wrong, every wrong row is listed, nothing was stored."""

    help = (
        "Import past usage from a CSV file: one row is one card, or a share of one, held by one run. "
        "A repeat changes nothing; a wrong row stores nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One file, and whether to check only."""
        parser.add_argument("file", type=Path, help="CSV as described in the contract, section 7")
        parser.add_argument("--dry-run", action="store_true", help="check the file and store nothing")

    def handle(self, *, file: Path, dry_run: bool, **_options: Any) -> None:
        """Parse, one call, print."""
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                done = import_usage(lines, dry_run=dry_run, progress=self._progress)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}", returncode=_BAD_INPUT) from error
        except UnicodeDecodeError as error:
            raise CommandError(_("%(file)s: not UTF-8") % {"file": file}, returncode=_BAD_INPUT) from error
        if done.problems:
            for problem in done.problems:
                self.stderr.write(f"{file}:{problem.line}: {problem.column}: {problem.message}")
            summary = ngettext(
                "%(count)d problem; nothing was stored", "%(count)d problems; nothing was stored", len(done.problems)
            )
            raise CommandError(summary % {"count": len(done.problems)}, returncode=_BAD_INPUT)
        sentence = (
            _("%(rows)d rows: %(new)d would be new, %(repeated)d known")
            if dry_run
            else _("%(rows)d rows: %(new)d new, %(repeated)d known")
        )
        self.stdout.write(sentence % {"rows": done.rows, "new": done.new, "repeated": done.repeated})

    def _progress(self, what: str, rows: int) -> None:
        steps = {"read": _("read"), "checked": _("checked"), "stored": _("stored"), "metered": _("metered")}
        print(f"{steps[what]}: {rows}", file=sys.stderr, flush=True)
