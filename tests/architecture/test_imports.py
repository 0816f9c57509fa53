"""Who may import whom: the contracts of pyproject.toml hold, and the pure rooms load no framework."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PURE = (
    "scheduling.engine",
    "scheduling.states",
    "scheduling.simulator",
    "scheduling.cluster.port",
    "scheduling.cluster.manifests",
    "scheduling.cluster.simulated",
    "billing.metering",
    "billing.rating",
)
FRAMEWORKS = ("django", "celery", "rest_framework", "redis", "psycopg", "kubernetes", "structlog")


def test_the_import_contracts_hold() -> None:
    program = Path(sys.executable).with_name("lint-imports")

    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("room", PURE)
def test_a_pure_room_loads_no_framework(room: str) -> None:
    """Every module of the room, in a fresh interpreter that has imported nothing else."""
    code = f"""
import importlib, pkgutil, sys
sys.path[:] = [{str(ROOT)!r}, *sys.path, {str(ROOT / "platform")!r}]
package = importlib.import_module({room!r})
for found in pkgutil.walk_packages(getattr(package, "__path__", []), {room!r} + "."):
    importlib.import_module(found.name)
print(*sorted(name for name in {FRAMEWORKS!r} if name in sys.modules))
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == ("", "")
