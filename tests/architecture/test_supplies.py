"""What comes from elsewhere: locked by hash, from no named place, unchanged since it was taken in."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKED = sorted((ROOT / "requirements").glob("*.txt"))
VENDOR = ROOT / "static" / "vendor"
FORBIDDEN_PACKAGES = {"django-fsm", "viewflow", "kmock"}
ADDRESS = re.compile(
    r"index-url|find-links|extra-index|GOPROXY=http|registry *= *.http|://[^ ]*(pypi|pythonhosted|simple)"
)


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_locked_requirements_have_hashes_and_no_address(path: Path) -> None:
    entries = [line for line in path.read_text().splitlines() if re.match(r"[a-z0-9]", line)]
    text = path.read_text()

    assert entries
    assert all(line.endswith("\\") for line in entries)
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


def test_no_package_with_a_licence_or_version_trap_is_locked() -> None:
    names = {line.split("==")[0] for path in LOCKED for line in path.read_text().splitlines() if "==" in line}

    assert names & FORBIDDEN_PACKAGES == set()


def test_no_tracked_file_names_a_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    own = {"tests/architecture/test_supplies.py", "requirements/install.py", "requirements/lock.py"}
    named = [
        name
        for name in listed.split("\0")
        if name
        and name not in own
        and not name.startswith("static/vendor/")
        and (ROOT / name).is_file()
        and ADDRESS.search((ROOT / name).read_text(errors="replace"))
    ]

    assert named == []


def test_vendored_files_are_the_ones_that_were_taken_in() -> None:
    entries = [line.split(maxsplit=1) for line in (VENDOR / "CHECKSUMS").read_text().splitlines() if line]
    found = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(VENDOR.rglob("*"))
        if path.is_file() and path.name != "CHECKSUMS"
    }

    assert found == {name.removeprefix("*").removeprefix("./"): digest for digest, name in entries}
