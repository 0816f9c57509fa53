"""Writes docs/reasons.md from the reason registry: `.venv/bin/python docs/write_reasons.py`. A test fails where the two differ."""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reasons.md"
INTRODUCTION = """\
# Reasons

Every wait, preemption, end and suggestion has a stable code. The texts live in one registry, `platform/berth/common/reasons.py`,
and are translated through gettext; this page is written from it (`docs/write_reasons.py`). Each text names a resource, a number and
a step. `%(need)s`, `%(have)s` and `%(short)s` stand for amounts such as "8 cards (a100-80g), 64 CPU cores"; `%(held)s` is what a run
gives back, `%(hint)s` the number of a suggestion, `%(until)s` a time, `%(detail)s` the cluster's or planner's own words.
"""


def render() -> str:
    """The whole page."""
    from berth.common import reasons

    waits = "Why a job waits. The first that applies wins, in this order. A suggestion with its number replaces the step where one is known."
    preempts = "Why a running job is stopped. The first that applies, in this order."
    resizes = (
        "Why a running job changed its size, beside the preempt reasons, which make it smaller before anybody has to leave: `-in-cooldown`\n"
        "behind one says that its pause was overridden. A run's `size.why` may also be `did-not-fit`, since its start."
    )
    parts = [
        INTRODUCTION,
        *_table("Wait codes", waits, reasons.WAITS),
        *_table("Preempt reasons", preempts, reasons.PREEMPTS),
        f"\n## Resize reasons\n\n{resizes}\n\n| code | text |\n|---|---|\n",
        *(f"| `{code}` | {text} |\n" for code, text in reasons.RESIZES.items()),
        *_table("End reasons", "Why a run ended.", reasons.ENDS),
        "## Suggestions\n\nWhat would help, with its number.\n\n| code | text |\n|---|---|\n",
        *(f"| `{code}` | {text} |\n" for code, text in reasons.SUGGESTIONS.items()),
        "\n## Details\n\nWhat `%(detail)s` says where it is a code.\n\n| code | text |\n|---|---|\n",
        *(f"| `{code}` | {text} |\n" for code, text in reasons.DETAILS.items()),
    ]
    return "".join(parts)


def _table(title: str, note: str, rows: Mapping[str, object]) -> Iterator[str]:
    yield f"\n## {title}\n\n{note}\n\n| code | what is so | what to do |\n|---|---|---|\n"
    for code, reason in rows.items():
        yield f"| `{code}` | {reason.text} | {reason.step} |\n"  # type: ignore[attr-defined]
    yield "\n" if title == "End reasons" else ""


def main() -> None:
    sys.path.insert(0, str(ROOT))
    sys.path.append(str(ROOT / "platform"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "berth.settings")
    import django
    from django.utils import translation

    django.setup()
    with translation.override("en"):
        PAGE.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
