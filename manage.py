#!/usr/bin/env python
"""Command-line entry point: puts `platform/` last on the path (it must never shadow Python's own) and runs Django."""

import os
import sys
from pathlib import Path

OFFLINE = {"plan", "simulate"}
"""Commands that use no database and no app but the pure rooms: they run on settings that load in no time."""


def main() -> None:
    root = Path(__file__).resolve().parent
    sys.path.append(str(root / "platform"))
    settings = "berth.offline" if OFFLINE.intersection(sys.argv[1:2]) else "berth.settings"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings)
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        why = " ".join(str(error).split())[:200]
        sys.exit(f"berth: no answer from the database ({why}): is `make run` running here, or DATABASE_URL right?")


if __name__ == "__main__":
    main()
