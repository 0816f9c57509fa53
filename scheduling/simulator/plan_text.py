"""A plan document as lines for people: who starts where, who is stopped for whom, who waits and why, and the shares."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

Document = dict[str, Any]


def plan_text(document: Document) -> str:
    """The decision in readable English; the same facts as the JSON."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield from _section("Starts", [_start(entry) for entry in document["starts"]])
    yield from _section("Preempts", [_preempt(entry) for entry in document["preempts"]])
    yield from _section("Resizes", [_resize(entry) for entry in document["resizes"]])
    yield from _section("Waits", [_wait(entry) for entry in document["waits"]])
    yield from _section("Shares", [_share(name, entry) for name, entry in document["shares"].items()])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    yield f"{title} ({len(lines)})"
    yield from (f"  {line}" for line in lines)


def _start(entry: Document) -> str:
    per_node = Counter(pod["node"] for pod in entry["pods"])
    nodes = ", ".join(f"{node} ({count} pods)" if count > 1 else node for node, count in sorted(per_node.items()))
    split = f"{entry['own']['gpu']} own + {entry['borrowed']['gpu']} borrowed cards"
    until = f", loan until {_instant(entry['loan_expires'])}" if entry["loan_expires"] else ""
    return f"{entry['job']}: on {nodes}; {split}{until}"


def _preempt(entry: Document) -> str:
    asker = f" for {entry['for']}" if entry["for"] else ""
    return f"{entry['job']}{asker}: {entry['reason']}, {entry['grace_s']} s notice"


def _resize(entry: Document) -> str:
    return f"{entry['job']}/{entry['role']}: {entry['from']} -> {entry['to']}, {entry['reason']}"


def _wait(entry: Document) -> str:
    place = f", position {entry['position']}, {entry['cards_ahead']} cards ahead" if entry["position"] else ""
    kept = f" Kept: {', '.join(entry['kept'])}." if entry.get("kept") else ""
    reserved = f" Reserved from {_instant(entry['reserved_start'])}." if entry["reserved_start"] else ""
    return f"{entry['job']}: {entry['code']}{place}. {entry['message']}{kept}{reserved}"


def _instant(text: str) -> str:
    """An instant of the document, in UTC, as the messages of reasons write them."""
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC"


def _share(name: str, entry: Document) -> str:
    over = f"{entry['over_quota_permille']} permille over quota ({entry['dominant'] or 'nothing'})"
    return f"{name}: share {entry['drf']}, {over}, effective weight {entry['effective_weight']}"
