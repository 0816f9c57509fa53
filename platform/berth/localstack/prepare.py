"""What stands between a database that answers and the first page; one Django process, `python -m berth.localstack.prepare`.

Its last line of output is what the launcher shows when it fails.
"""

import os
import sys


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.core.management.base import CommandError
    from django.db import Error

    try:
        print("bringing the tables up to date")
        call_command("migrate", interactive=False, verbosity=0)
        ensure_demo()
        call_command("clock_resume")
        call_command("collectstatic", interactive=False, verbosity=0)
    except (CommandError, Error, OSError) as error:
        print(" ".join(str(error).split()) or type(error).__name__, file=sys.stderr)
        return 1
    return 0


def ensure_demo() -> None:
    """Fill an empty database: the demo organisation, or with BERTH_DEMO=0 the cluster and price book alone."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from berth.demo.bootstrap import is_half_done

    if not get_user_model().objects.exists() or is_half_done():
        call_command("bootstrap_demo")


if __name__ == "__main__":
    sys.exit(main())
