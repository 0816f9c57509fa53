"""`manage.py create_token`: print an API token once, for scripts and for the first sign-in by REST."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from berth.common.errors import BerthError
from tenants.models import User
from tenants.permissions import Scope
from tenants.services.tokens import issue_token

BAD_USAGE = 2


class Command(BaseCommand):
    """Exits 2 for a user or scope that does not exist; nothing is printed to standard output then."""

    help = _("Prints a new API token once; only its digest is kept.")
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True, help=_("username of the token's owner"))
        parser.add_argument("--name", required=True, help=_("what the token is for"))
        parser.add_argument(
            "--scope",
            action="append",
            choices=[scope.value for scope in Scope],
            help=_("may be given several times; left out: all that the user's roles can use"),
        )

    def handle(self, *_args: Any, user: str, name: str, scope: list[str] | None, **_options: Any) -> None:
        owner = User.objects.filter(username=user, is_active=True).first()
        if owner is None:
            raise CommandError(_("There is no active user %(name)s.") % {"name": user}, returncode=BAD_USAGE)
        try:
            _row, secret = issue_token(user=owner, name=name, scopes=scope)
        except BerthError as error:
            raise CommandError(str(error), returncode=BAD_USAGE) from error
        self.stdout.write(secret)
