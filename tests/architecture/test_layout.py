"""The shape of the tree: what must not be there, and how long a file or function may get (STYLE rules 3 and 4)."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("platform/berth", "tenants", "scheduling", "billing")
MOST_LINES = 400
MOST_FUNCTION_LINES = 40
TOP_FOLDERS = {
    ".ci",
    "benchmarks",
    "billing",
    "deploy",
    "docs",
    "extra",
    "locale",
    "platform",
    "requirements",
    "scheduling",
    "static",
    "templates",
    "tenants",
    "tests",
}
EMPTY_INITS = (
    "platform/berth/__init__.py",
    "tenants/__init__.py",
    "scheduling/__init__.py",
    "scheduling/engine/__init__.py",
    "billing/__init__.py",
)
VAGUE_NAMES = {"utils", "helpers", "misc", "base", "manager", "managers", "util", "helper"}


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def sources() -> list[Path]:
    return [path for path in tracked(*(f"{room}/**.py" for room in ROOMS)) if "migrations" not in path.parts]


def test_platform_is_a_plain_folder_that_holds_one_package() -> None:
    packages = {path.relative_to(ROOT / "platform").parts[0] for path in tracked("platform")}

    assert packages == {"berth"}
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_there_are_no_other_folders_at_the_top() -> None:
    top = {path.relative_to(ROOT).parts[0] for path in tracked(".") if len(path.relative_to(ROOT).parts) > 1}

    assert top - TOP_FOLDERS == set()


@pytest.mark.parametrize("name", EMPTY_INITS)
def test_packages_that_pure_rooms_lie_in_load_nothing(name: str) -> None:
    assert (ROOT / name).read_text() == ""


def test_no_module_is_longer_than_one_can_read() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*sources(), *tracked("tests/**.py", "deploy/**.py", "benchmarks/**.py")]
        if (lines := len(path.read_text().splitlines())) > MOST_LINES
    }

    assert long == {}


def test_no_function_is_longer_than_one_can_hold_in_mind() -> None:
    long = {}
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and (lines := _body_lines(node)) > MOST_FUNCTION_LINES:
                long[f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"] = lines

    assert long == {}


def _body_lines(node: ast.FunctionDef) -> int:
    """From the first statement after the docstring; the signature and what the contract says do not count."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (node.end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [str(path.relative_to(ROOT)) for path in sources() if path.stem in VAGUE_NAMES] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]

    assert silent == []


UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b|pass  # stub")


def test_nothing_is_left_unfinished() -> None:
    marks = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in [*sources(), *tracked("templates", "static/js", "static/css", "deploy")]
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if UNFINISHED.search(line)
    ]

    assert marks == []
