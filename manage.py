#!/usr/bin/env python
"""Command-line entry point: puts `platform/` last on the path (it must never shadow Python's own) and runs Django."""

import os
import sys
from pathlib import Path


def main() -> None:
    root = Path(__file__).resolve().parent
    sys.path.append(str(root / "platform"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
