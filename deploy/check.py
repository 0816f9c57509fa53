"""`make check`: every gate that needs no running service. Each one runs, also after a failure; the last line says how many failed."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".venv" / "bin"
PYTHON = str(BIN / "python")
SCHEMA_NOW = ROOT / ".local" / "openapi.yaml"
SCHEMA_KEPT = ROOT / "docs" / "openapi.yaml"


@dataclass(frozen=True, slots=True)
class Gate:
    name: str
    command: tuple[str, ...]
    cure: str


def manage(*arguments: str) -> tuple[str, ...]:
    # No database is asked: the warning that none answers is not news here.
    return (PYTHON, "-W", "ignore::RuntimeWarning", "manage.py", *arguments)


GATES = (
    Gate("format", (str(BIN / "ruff"), "format", "--check", "."), "ruff format ."),
    Gate("lint", (str(BIN / "ruff"), "check", "."), "ruff check --fix ."),
    Gate("templates", (str(BIN / "djlint"), "--quiet", "--lint", "templates"), "mend the template"),
    Gate("types", (str(BIN / "mypy"),), "mend the types"),
    Gate("import contracts", (str(BIN / "lint-imports"), "--no-cache"), "move the import, not the contract"),
    Gate("migrations", manage("makemigrations", "--check", "--dry-run"), "manage.py makemigrations"),
    Gate(
        "OpenAPI",
        manage("spectacular", "--validate", "--fail-on-warn", "--file", str(SCHEMA_NOW)),
        "mend the view or serializer that it names",
    ),
    Gate(
        "OpenAPI drift",
        ("diff", "-u", str(SCHEMA_KEPT), str(SCHEMA_NOW)),
        "manage.py spectacular --file docs/openapi.yaml",
    ),
    Gate("translations", (PYTHON, "deploy/check_translations.py"), "translate in locale/zh_Hans/LC_MESSAGES/django.po"),
    Gate("image recipe", (str(BIN / "hadolint"), "--no-color", "Dockerfile"), "mend the Dockerfile"),
    Gate(
        "Kubernetes files", (PYTHON, "deploy/check_kubernetes.py"), "mend the file in deploy/kubernetes/ that it names"
    ),
    Gate("compose file", (PYTHON, "deploy/check_compose.py"), "mend docker-compose.yml"),
)


def main() -> int:
    SCHEMA_NOW.parent.mkdir(mode=0o711, exist_ok=True)
    failed = [gate for gate in GATES if not passes(gate)]
    for gate in failed:
        print(f"failed: {gate.name}; cure: {gate.cure}")
    print(f"{len(GATES) - len(failed)} of {len(GATES)} gates passed")
    return 1 if failed else 0


def passes(gate: Gate) -> bool:
    started = time.monotonic()
    done = subprocess.run(
        gate.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    word = "ok" if done.returncode == 0 else "FAILED"
    print(f"{word:<7}{gate.name:<18}{time.monotonic() - started:5.1f} s", flush=True)
    if done.returncode != 0:
        print(done.stdout, flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
