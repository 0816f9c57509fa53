"""Every string a person reads exists in zh-hans: none missing from the catalogue, none untranslated, none fuzzy."""

import os
import sys
from pathlib import Path

import messages
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
ROOMS = ("platform/berth", "tenants", "scheduling", "billing")


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    used = collect()
    if not CATALOGUE.exists():
        print(f"{CATALOGUE.relative_to(ROOT)} is missing; {len(used)} messages wait for it")
        return 1
    with CATALOGUE.open("rb") as file:
        catalogue = read_po(file, locale="zh_Hans")
    problems = [*missing(used, catalogue), *unfinished(catalogue)]
    print("\n".join(problems) or f"{len(used)} messages, all translated")
    return 1 if problems else 0


def collect() -> dict[messages.Message, Path]:
    """Each message with one place that uses it."""
    used: dict[messages.Message, Path] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                used.update(dict.fromkeys(messages.in_python(path), path))
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.suffix in (".html", ".txt"):
            used.update(dict.fromkeys(messages.in_template(path), path))
    return used


def missing(used: dict[messages.Message, Path], catalogue: Catalog) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: not in the catalogue: {text!r}"
        for (context, text), path in used.items()
        if text and catalogue.get(text, context) is None
    ]


def unfinished(catalogue: Catalog) -> list[str]:
    lines = []
    for entry in catalogue:
        if not entry.id:
            continue
        texts = entry.string if isinstance(entry.string, tuple | list) else (entry.string,)
        if entry.fuzzy:
            lines.append(f"fuzzy: {entry.id!r}")
        elif not all(texts):
            lines.append(f"not translated: {entry.id!r}")
        lines += [f"{entry.id!r}: {error}" for error in entry.check(catalogue)]
    return lines


if __name__ == "__main__":
    sys.exit(main())
