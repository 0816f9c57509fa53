"""Reads a file of past usage into rows, and lists everything that is wrong with it."""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from django.utils.translation import gettext as _

from berth.common.instants import parse_instant
from berth.common.texts import is_blank, refused_character
from billing.metering import parse_card
from scheduling.states import EndReason

COLUMNS: Final = (
    *("source", "event_id", "tenant", "queue", "user", "job", "run", "flavor", "node", "card"),
    *("start", "end", "end_reason", "borrowed"),
)
AHEAD: Final = timedelta(days=731)
"""Whoever keeps the books may be ahead of this platform's clock; further on lie typing errors (two years and a leap day)."""
LAST_ALIVE: Final = "last_alive"
_LONGEST: Final = {
    "source": 64,
    "event_id": 200,
    "tenant": 40,
    "queue": 40,
    "user": 150,
    "job": 150,
    "flavor": 63,
    "node": 253,
}
_MOST_RUNS = 2**31 - 1
_MOST_CARDS = 2**15 - 1
_REASONS = frozenset(reason.value for reason in EndReason)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """What is wrong with one column of one line (the header is line 1)."""

    line: int
    column: str
    message: str


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One card, or a share of one in 1/7000, held by one run during [start, end)."""

    line: int
    source: str
    event_id: str
    tenant: str
    queue: str
    user: str
    job: str
    run: int
    flavor: str
    node: str
    card: int
    share: int
    start: datetime
    end: datetime
    end_reason: str
    borrowed: bool
    last_alive: datetime | None

    @property
    def digest(self) -> str:
        """Of the content as meant, not as written: `3:250` and `3:1/4`, or two offsets of one instant, are the same."""
        content = (
            *(self.tenant, self.queue, self.user, self.job, self.run, self.flavor, self.node, self.card, self.share),
            *(self.start.isoformat(), self.end.isoformat(), self.end_reason, self.borrowed),
            self.last_alive.isoformat() if self.last_alive else "",
        )
        return hashlib.sha256("\x1f".join(map(str, content)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NamesOfRow:
    """What a row names that is otherwise wrong, so that its names are judged all the same."""

    line: int
    tenant: str
    queue: str
    flavor: str


@dataclass(slots=True)
class UsageFile:
    """The good rows of a file, the names that the others have, and their problems."""

    rows: list[UsageRow] = field(default_factory=list)
    wrong: list[NamesOfRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_usage(lines: Iterable[str], *, now: datetime) -> UsageFile:
    """All rows that can be read, in file order, and every problem with the rest. Usage may lie `AHEAD` of `now` at most."""
    found = UsageFile()
    reader = csv.reader(lines, strict=True)
    try:
        header = tuple(next(reader, ()))
        if header not in (COLUMNS, (*COLUMNS, LAST_ALIVE)):
            expected = ",".join(COLUMNS)
            found.problems.append(Problem(1, "header", _("must be %(columns)s") % {"columns": expected}))
            return found
        for line, cells in _numbered(reader):
            if not cells:
                continue
            if len(cells) != len(header):
                wrong = _("%(found)d cells, not %(wanted)d") % {"found": len(cells), "wanted": len(header)}
                found.problems.append(Problem(line, "row", wrong))
                continue
            _read_row(found, line, dict(zip(header, cells, strict=True)), now)
    except csv.Error as error:
        found.problems.append(Problem(reader.line_num, "row", str(error)))
    return found


def _numbered(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they start on; a quoted cell may run over several."""
    line = reader.line_num + 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1


def _read_row(found: UsageFile, line: int, cells: dict[str, str], now: datetime) -> None:
    problems: list[Problem] = []

    def read(column: str, parse: Callable[[str], _Value]) -> _Value | None:
        try:
            return parse(cells[column].strip())
        except ValueError as error:
            problems.append(Problem(line, column, str(error)))
            return None

    texts = {column: read(column, _text(longest)) for column, longest in _LONGEST.items()}
    run, card = read("run", _run), read("card", _card)
    start, end = read("start", parse_instant), read("end", parse_instant)
    reason, borrowed = read("end_reason", _end_reason), read("borrowed", _flag)
    last_alive = read(LAST_ALIVE, parse_instant) if cells.get(LAST_ALIVE, "").strip() else None
    problems += _wrong_ends(line, start, end, now)
    if last_alive is not None and reason is not None and reason != EndReason.NODE_LOST:
        problems.append(Problem(line, LAST_ALIVE, _("only for node-lost")))
    if last_alive is not None and end is not None and last_alive > end:
        problems.append(Problem(line, LAST_ALIVE, _("after the end")))
    if problems or run is None or card is None or start is None or end is None or reason is None or borrowed is None:
        found.problems += problems
        _keep_names(found, line, texts)
        return
    named = {column: text for column, text in texts.items() if text is not None}
    found.rows.append(
        UsageRow(
            line=line,
            **named,
            run=run,
            card=card[0],
            share=card[1],
            start=start,
            end=end,
            end_reason=reason,
            borrowed=borrowed,
            last_alive=last_alive,
        )
    )


def _wrong_ends(line: int, start: datetime | None, end: datetime | None, now: datetime) -> Iterator[Problem]:
    latest = now + AHEAD
    if end is not None and end > latest:
        yield Problem(line, "end", _("after %(latest)s") % {"latest": f"{latest.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"})
    if start is not None and end is not None and end <= start:
        yield Problem(line, "end", _("not after the start"))


def _keep_names(found: UsageFile, line: int, texts: Mapping[str, str | None]) -> None:
    """Of a row that is wrong: its names are looked up all the same, so that unknown ones are told together with the rest."""
    tenant, queue, flavor = texts["tenant"], texts["queue"], texts["flavor"]
    if tenant and queue and flavor:
        found.wrong.append(NamesOfRow(line, tenant, queue, flavor))


def _text(longest: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not 1 <= len(text) <= longest or is_blank(text):
            raise ValueError(_("1 to %(longest)d characters") % {"longest": longest})
        refused = refused_character(text)
        if refused is not None:
            raise ValueError(_("holds a character that cannot be seen, %(character)s") % {"character": refused})
        return text

    return parse


def _run(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _MOST_RUNS:
        return int(text)
    raise ValueError(_("a number from 1"))


def _card(text: str) -> tuple[int, int]:
    index, share = parse_card(text)
    if index > _MOST_CARDS:
        raise ValueError(_("a card index from 0 to %(most)d") % {"most": _MOST_CARDS})
    return index, share


def _end_reason(text: str) -> str:
    if text in _REASONS:
        return text
    raise ValueError(_("one of %(reasons)s") % {"reasons": ", ".join(sorted(_REASONS))})


def _flag(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise ValueError(_("true or false"))
