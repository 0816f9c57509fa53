"""What settings name by dotted path must import as the first thing of a process: system checks run in no fixed order."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import importlib, os, sys
sys.path.append("platform")
os.environ["DJANGO_SETTINGS_MODULE"] = "berth.settings"
import django
django.setup()
importlib.import_module(sys.argv[1])
"""


@pytest.mark.parametrize(
    "module",
    [
        "berth.problem_pages",
        "berth.common.problems",
        "berth.common.parsing",
        "berth.common.paging",
        "berth.common.schema",
        "berth.urls",
    ],
)
def test_a_module_that_settings_name_imports_first(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, module], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
