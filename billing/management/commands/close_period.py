"""`manage.py close_period YYYY-MM [--tenant T]`: meters, rates, issues statements; safe to repeat."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from berth.common.errors import BerthError
from berth.common.money import money_text
from billing.metering import Month
from billing.services.closing import close_month
from tenants.models import Tenant


def _month(text: str) -> Month:
    try:
        return Month.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


class Command(BaseCommand):
    """Exit 0: every statement is issued (now or before). Exit 1: what stopped is named; the others are issued."""

    help = "Close a month: meter what is left, rate it and issue the statements. Repeating it changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """A month, and whose."""
        parser.add_argument("month", type=_month, help="YYYY-MM")
        parser.add_argument("--tenant", metavar="SLUG", help="only this tenant")

    def handle(self, *, month: Month, tenant: str | None, **_options: Any) -> None:
        """Parse, one call, print."""
        chosen = None
        if tenant is not None:
            chosen = Tenant.objects.filter(slug=tenant).first()
            if chosen is None:
                raise CommandError(_("unknown tenant: %(tenant)s") % {"tenant": tenant}, returncode=2)
        try:
            closings = close_month(month, tenant=chosen)
        except BerthError as error:
            raise CommandError(str(error)) from error
        for closing in closings:
            if closing.statement is not None:
                currency = closing.statement.currency
                total = money_text(closing.statement.total, currency)
                self.stdout.write(f"{closing.tenant}: {closing.statement.number} {total} {currency}")
        failed = [closing for closing in closings if closing.error is not None]
        if failed:
            raise CommandError("\n".join(f"{closing.tenant}: {closing.error}" for closing in failed))
